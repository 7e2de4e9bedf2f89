// What the examples of the public headers take as given: names that their readers know from the sentence around them. GIVEN_HEADER declares
// those that the example of that header uses; an example without any has an empty one.
#pragma once

#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/ops.hpp"
#include "backplane/runtime.hpp"
#include "backplane/verify.hpp"

using namespace backplane;

struct Given {
    const Context& context;
    const Device& device;
    const Graph& graph;
    WeightSource weights;
    std::span<const std::byte> x;
    std::span<std::byte> y;
};
inline void log(const std::string& note) { std::puts(note.c_str()); }
inline void print(double start, const std::string& text) { std::printf("%.2f %s\n", start, text.c_str()); }
inline void report(const std::string& name, const std::string& text) { std::printf("%s: %s\n", name.c_str(), text.c_str()); }

#define GIVEN_context
#define GIVEN_graph
#define GIVEN_einsum                                           \
    Graph g;                                                   \
    const TensorId q = g.input("q", DType::f32, {1, 5, 2, 4}); \
    const TensorId k = g.input("k", DType::f32, {1, 7, 2, 4}); \
    const TensorId x = g.input("x", DType::f32, {1, 3, 8, 8});
#define GIVEN_ops                                                                                                   \
    Graph graph;                                                                                                    \
    const TensorId x = graph.input("x", DType::f32, {1, 3, 8, 8}), w = graph.weight("w", DType::f32, {4, 3, 3, 3}), \
                   b = graph.weight("b", DType::f32, {4}), a = graph.input("a", DType::f32, {2, 32}),               \
                   q = graph.weight("q", DType::q8_0, {4, 32});
#define GIVEN_esrgan const Context& context = given.context;
#define GIVEN_flags const Device& device = given.device;
#define GIVEN_verify const Device& device = given.device;
#define GIVEN_weight_file const Device& device = given.device;
#define GIVEN_quantize
#define GIVEN_tune                          \
    const Context& context = given.context; \
    const Graph& graph = given.graph;       \
    const WeightSource& weights = given.weights;
#define GIVEN_fit GIVEN_tune
#define GIVEN_spread                         \
    GIVEN_tune const auto x_bytes = given.x; \
    const auto y_bytes = given.y;
#define GIVEN_runtime GIVEN_spread const Device& device = given.device;
#define GIVEN_cost GIVEN_runtime const double taken = 0.01;
#define GIVEN_tensor                                                                                              \
    Session encoder(given.device, given.graph, given.weights), decoder(given.device, given.graph, given.weights); \
    const auto pixels = given.x;                                                                                  \
    const auto room = given.y;
#define GIVEN_model                         \
    const Context& context = given.context; \
    const std::vector<float> pixels;
#define GIVEN_transcriber                   \
    const Context& context = given.context; \
    const std::vector<float> samples;
#define GIVEN_pipeline                                          \
    const Device &first = given.device, &second = given.device; \
    const Graph& graph = given.graph;                           \
    const Weights weights(given.weights);                       \
    const auto x_bytes = given.x, more_bytes = given.x;         \
    const auto y_bytes = given.y;
