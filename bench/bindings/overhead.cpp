// What the C API adds to a run: the smallest graph, run by Session::run and by backplane_session_run in turns. Prints the medians, in nanoseconds a run.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <span>
#include <stdexcept>
#include <vector>

#include "backplane/backplane.h"
#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

namespace {

constexpr int kRuns = 2000, kTurns = 101;

// Of this thread, which does all of it: what else the machine does is no part of that.
double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <class Run>
double nanoseconds(const Run& run) {
    const double start = now();
    for (int i = 0; i < kRuns; ++i) run();
    return (now() - start) / kRuns;
}

double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

// The same graph by the C API, on a device of its own.
struct InC {
    explicit InC(const char* filter) {
        uint32_t x = 0, y = 0;
        const int64_t one = 1;
        check(backplane_context_create(nullptr, &context, &error));
        check(backplane_device_open(context, filter, &device, &error));
        check(backplane_device_set_option(device, "threads", "1", &error));
        check(backplane_graph_create(&graph, &error));
        check(backplane_graph_tensor(graph, BP_ROLE_INPUT, "x", BP_F32, &one, 1, &x, &error));
        check(backplane_graph_add(graph, BP_OP_relu, &x, 1, nullptr, 0, &y, &error));
        check(backplane_graph_output(graph, y, "y", &error));
        check(backplane_session_create(device, graph, nullptr, nullptr, BP_MATH_DEFAULT, &session, &error));
    }
    InC(const InC&) = delete;
    InC& operator=(const InC&) = delete;
    ~InC() {
        backplane_session_destroy(session);
        backplane_graph_destroy(graph);
        backplane_device_close(device);
        backplane_context_destroy(context);
    }
    void check(bp_code code) const {
        if (code != BP_OK) throw std::runtime_error(text);
    }

    char text[512] = "";
    bp_error error{sizeof error, BP_OK, 0, text, sizeof text};
    backplane_context* context = nullptr;
    backplane_device* device = nullptr;
    backplane_graph* graph = nullptr;
    backplane_session* session = nullptr;
};

void measure(const char* filter) {
    const backplane::Context context;
    backplane::Device device = context.choose(filter);
    device.set_option("threads", int64_t{1});
    backplane::Graph graph;
    graph.output(graph.add(backplane::Op::relu, {graph.input("x", backplane::DType::f32, {1})}), "y");
    backplane::Session session(device, graph, backplane::WeightSource{});
    InC in_c(filter);
    float x = 1, y = 0;
    const backplane::Input in("x", std::as_bytes(std::span(&x, 1)));
    const backplane::Output out("y", std::as_writable_bytes(std::span(&y, 1)));
    const backplane_bytes from{"x", &x, sizeof x}, to{"y", &y, sizeof y};
    std::vector<double> cpp, c;
    for (int i = 0; i < kTurns; ++i) {
        cpp.push_back(nanoseconds([&] { session.run(std::span(&in, 1), std::span(&out, 1)); }));
        c.push_back(
            nanoseconds([&] { in_c.check(backplane_session_run(in_c.session, &from, 1, &to, 1, nullptr, &in_c.error)); }));
    }
    std::printf("C++ %.0f ns, C API %.0f ns a run\n", median(cpp), median(c));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        measure(argc > 1 ? argv[1] : "cpu");
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "overhead: %s\n", error.what());
        return 1;
    }
}
