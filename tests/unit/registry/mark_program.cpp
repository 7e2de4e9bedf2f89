// mark_program STATE MODULES PROBE [never|quiet|twice|fork|outside]: a host that finds, chooses, runs ten times and ends, and says each step
// on its standard output. What the faulty module does to it is in BACKPLANE_TEST_FAULT.
#include <cstdio>
#include <cstring>
#include <string>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "mark_ways.hpp"

using namespace backplane;

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const std::string way = argc > 4 ? argv[4] : "";
    ContextOptions options;
    options.state_folder = argv[1];
    options.module_paths = {std::string(argv[2]) + "/faulty", std::string(argv[2]) + "/minimal"};
    options.probe_program = argv[3];
    options.search_defaults = options.use_linked_in = options.use_environment = false;
    if (way == "never") options.probe = ProbePolicy::never;
    if (way == "quiet") options.note_faults = false;
    try {
        const Context context(options);
        const Report report = context.report();
        for (const Candidate& c : report.candidates)
            if (c.code != ReasonCode::outranked && !c.reason.empty())
                std::printf("candidate %s: %s [%s]\n", name_of(c.verdict), c.reason.c_str(), c.remedy.c_str());
        for (const std::string& note : report.notes) std::printf("note %s\n", note.c_str());
        std::fflush(stdout);
        const Device device = context.choose("minimal");
        std::printf("chosen %s\n", device.info().module_version.c_str());
        std::fflush(stdout);
        Graph graph;
        graph.output(graph.add(Op::relu, {graph.input("x", DType::f32, {4})}), "y");
        Session session(device, graph, WeightSource{});
        const std::array<float, 4> in{1, -2, 3, -4};
        std::array<float, 4> out{9, 9, 9, 9};
        for (int i = 0; i < 10; ++i)
            session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
        std::printf("computed %s\n", out == std::array<float, 4>{1, 0, 3, 0} ? "right" : "wrong");
        std::fflush(stdout);
        if (!way.empty()) test::end_otherwise(way);
    } catch (const std::exception& error) {
        std::printf("error %s\n", error.what());
        return 1;
    }
    std::printf("ended\n");
    return 0;
}
