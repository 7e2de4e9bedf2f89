// zoo_host FOLDER START PROBE LIMIT: an application that does what applications do with the modules of FOLDER/modules: lists devices, opens the
// best ten times, computes on it ten times, falls back to another when that fails, computes there, closes. What it saw is in FOLDER/result.START,
// one line each, the last of them "end". The driver (main.cpp) judges it.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/error.hpp"
#include "backplane/runtime.hpp"

namespace {

using namespace backplane;

constexpr int kRounds = 10;
constexpr int64_t kSize = 4;
int result = -1;

// One write a line: what was said before a crash is there.
void say(const std::string& what, std::string text = {}) {
    for (char& c : text)
        if (c == '\n') c = ' ';
    const std::string line = text.empty() ? what + "\n" : what + " " + text + "\n";
    if (::write(result, line.data(), line.size()) < 0) std::_Exit(99);
}

// ---- the process: what a library has to put back ------------------------------------------------------------------------------------

uint32_t floating_point_control() {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & 0xffc0;  // but the flags of what happened
#else
    return static_cast<uint32_t>(std::fegetround());
#endif
}

std::map<std::string, std::string> process_state() {
    std::map<std::string, std::string> state;
    state["floating_point"] = std::to_string(floating_point_control());
    const mode_t mask = ::umask(0);
    ::umask(mask);
    state["umask"] = std::to_string(mask);
    itimerval timer{};
    ::getitimer(ITIMER_REAL, &timer);
    state["timer"] = timer.it_value.tv_sec + timer.it_value.tv_usec == 0 ? "none" : "armed";
    for (const auto& [name, what] : {std::pair{"file_size", RLIMIT_FSIZE}, std::pair{"descriptors", RLIMIT_NOFILE}}) {
        rlimit limit{};
        ::getrlimit(what, &limit);
        state[std::string("limit_") + name] = std::to_string(limit.rlim_cur);
    }
    cpu_set_t processors;
    ::sched_getaffinity(0, sizeof processors, &processors);
    state["affinity"] = std::to_string(CPU_COUNT(&processors));
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (int i = 1; i < SIGRTMIN; ++i) state["blocked"] += sigismember(&blocked, i) == 1 ? '1' : '0';
    for (int i = 0; i < 3; ++i) {
        struct stat status {};
        state["descriptor_" + std::to_string(i)] = ::fstat(i, &status) == 0 ? std::to_string(status.st_ino) : "closed";
    }
    return state;
}

// ---- the work --------------------------------------------------------------------------------------------------------------------------

// y = relu(x * w + b). What each costs in rounding is in the input: a sum that rounds to nearest even, and numbers that are denormal.
struct Sum {
    std::vector<float> x{1.0F, 1.0F, 3e-39F, -2.0F}, w{1.0F, 1.0F, 1.0F, 3.0F};
    std::vector<float> b{0x1.8p-24F, -0x1p-26F, 2e-39F, 1.0F};
    std::vector<float> y{0x1.000002p0F, 1.0F, 5e-39F, 0.0F};
};

Graph graph_of_sum() {
    Graph graph;
    const TensorId x = graph.input("x", DType::f32, {kSize});
    const TensorId product = graph.add(Op::mul, {x, graph.weight("w", DType::f32, {kSize})});
    graph.output(graph.add(Op::relu, {graph.add(Op::add, {product, graph.weight("b", DType::f32, {kSize})})}), "y");
    return graph;
}

bool close_enough(float a, float b) { return a == b || (a - b < 1e-44F && b - a < 1e-44F && std::abs(b) < 1e-38F); }

void compute(const Device& device) {
    const Sum sum;
    const Graph graph = graph_of_sum();
    for (const NodeSupport& node : query(device, graph))
        if (!node.supported) throw Error(Code::unsupported, "the device does not do Mul, Add and Relu");
    Session session(device, graph,
                    [&sum](std::string_view name) { return std::as_bytes(std::span(name == "w" ? sum.w : sum.b)); });
    std::vector<float> y(kSize, 9);
    session.run({{{"x", std::as_bytes(std::span(sum.x))}}}, {{{"y", std::as_writable_bytes(std::span(y))}}});
    for (size_t i = 0; i < y.size(); ++i) {
        if (close_enough(y[i], sum.y[i])) continue;
        char text[128];
        std::snprintf(text, sizeof text, "%s: value %zu is %a, not %a", device.info().id.c_str(), i,
                      static_cast<double>(y[i]), static_cast<double>(sum.y[i]));
        say("wrong", text);
    }
}

// Tells an error of the library, which is an answer, from what came through it.
bool succeeds(const std::function<void()>& work) {
    try {
        work();
        return true;
    } catch (const Error& error) {
        say("error", error.what());
    } catch (const std::exception& error) {
        say("foreign", error.what());
    }
    return false;
}

std::string file_of(const Device& device) { return device.info().module.filename().string(); }

void use(const Context& context) {
    for (int i = 0; i < kRounds; ++i) succeeds([&] { (void)context.devices(); });
    const bool good = succeeds([&] {
        for (int i = 0; i < kRounds; ++i) (void)context.choose().heaps();
        const Device device = context.choose();
        say("chosen", file_of(device));
        for (int i = 0; i < kRounds; ++i) compute(device);
        say("computed", file_of(device));
    });
    if (!good)
        succeeds([&] {
            const Device device = context.choose("!minimal");
            for (int i = 0; i < kRounds; ++i) compute(device);
            say("computed", file_of(device));
        });
    succeeds([&] {
        compute(context.choose("steady"));
        say("steady");
    });
}

void tell(const Context& context) {
    const Report report = context.report();
    for (const Candidate& c : report.candidates)
        say("candidate", c.path.filename().string() + " " + name_of(c.verdict) + " " + name_of(c.code) + " " + c.reason);
    for (const std::string& note : report.notes) say("note", note);
    for (const DeviceInfo& d : report.devices)
        if (!d.warning.empty()) say("warning", d.id + " " + d.warning);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // what hangs does not outlive the driver
    const std::string folder = argv[1];
    const int file =
        ::open((folder + "/result." + argv[2]).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    result = ::fcntl(file, F_DUPFD_CLOEXEC, 50);  // out of the way of what closes and reopens low numbers
    if (result < 0) return 2;
    ::close(file);
    ContextOptions options;
    options.search_defaults = options.use_linked_in = options.use_environment = false;
    options.module_paths = {folder + "/modules"};
    options.state_folder = folder + "/state";
    options.probe_program = argv[3];
    options.probe_limit = std::chrono::milliseconds(std::atoi(argv[4]));
    const std::map<std::string, std::string> before = process_state();
    succeeds([&] {
        const Context context(options);
        use(context);
        succeeds([&] { tell(context); });
    });
    for (const auto& [name, value] : process_state())
        if (value != before.at(name)) say("leak", name + " " + before.at(name) + " -> " + value);
    say("end");
    return 0;
}
