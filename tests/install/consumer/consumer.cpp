// consumer MODULE_FOLDER: lists the devices and runs y = relu(x) on the best one.
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

int main(int argc, char** argv) {
    try {
        backplane::ContextOptions options;
        if (argc > 1) options.module_paths = {argv[1]};
        options.search_defaults = false;
        const backplane::Context context(options);
        for (const backplane::DeviceInfo& d : context.devices()) std::printf("%s\t%s\n", d.id.c_str(), d.name.c_str());

        backplane::Graph graph;
        const backplane::TensorId x = graph.input("x", backplane::DType::f32, {4});
        graph.output(graph.add(backplane::Op::relu, {x}), "y");
        backplane::Session session(context.choose(), graph, backplane::WeightSource{});
        const std::vector<float> in{1, -2, 3, -4};
        std::vector<float> out(4, 9);
        session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
        std::printf("relu: %g %g %g %g\n", out[0], out[1], out[2], out[3]);
        return out == std::vector<float>{1, 0, 3, 0} ? 0 : 1;
    } catch (const backplane::Error& error) {
        std::fprintf(stderr, "consumer: %s\n", error.what());
        return 1;
    }
}
