// cost_program STATE MODULES NUMBER TIMES: a process that says of a network that all such processes know, and of one of its own, what a run took, again and
// again: 1.5 and 1 more for each number times what had been predicted. Exit code 0: each time what was learnt could be predicted by.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "backplane/cost.hpp"

using namespace backplane;

namespace {

Graph product_of(int64_t columns) {
    Graph graph;
    graph.output(
        graph.add(Op::matmul, {graph.input("x", DType::f32, {64, 256}), graph.weight("w", DType::f32, {256, columns})}),
        "y");
    return graph;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const int number = std::atoi(argv[3]), times = std::atoi(argv[4]);
    try {
        ContextOptions options;
        options.state_folder = argv[1];
        options.module_paths = {argv[2]};
        options.search_defaults = options.use_environment = false;
        for (int i = 0; i < times; ++i) {
            const Context context(options);
            const Device cpu = context.choose("cpu");
            CostModel costs(context);
            if (costs.of(cpu) == nullptr) return 3;
            for (const int64_t columns : {int64_t{100}, int64_t{200 + number}})
                for (int k = 0; k < 20; ++k) {
                    const Graph graph = product_of(columns);
                    const Fit way = fits({cpu}, graph).front();
                    costs.learn(cpu, graph, way, (1.5 + number) * predict(*costs.of(cpu), graph, way).seconds);
                    const Prediction now = costs.predict(cpu, graph, way);
                    if (!now.known || now.runs == 0 || !(now.learnt >= 1.4 && now.learnt <= 3.6)) {
                        std::printf("of %d columns %zu runs, by which it takes %g times\n", static_cast<int>(columns),
                                    now.runs, now.learnt);
                        return 4;
                    }
                }
        }
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return 0;
}
