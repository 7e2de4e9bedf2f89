// Programs that are kept for later sessions give way: to a device that is short of memory, and with a device that is lost.
#include <gtest/gtest.h>

#include "runtime/kept_programs.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane::runtime {
namespace {

Graph of_size(int64_t n) {
    Graph g;
    g.output(g.add(Op::relu, {g.input("x", DType::f32, {n})}), "y");
    return g;
}

TEST(KeptPrograms, WhatNoSessionRunsGoesWhenMemoryIsShort) {
    const Context context(test::modules_of_the_build());
    for (const std::string& id : test::devices_of_the_build()) {
        plan::Port::Shape shape;
        shape.budget = 4096;
        const auto port = std::make_shared<plan::Port>(context.choose(id), shape);
        KeptPrograms kept;
        const Graph used = of_size(3), idle = of_size(4);
        const auto held = kept.get(port, used, used, {}, 8);
        static_cast<void>(kept.get(port, idle, idle, {}, 8));
        EXPECT_EQ(kept.counts().kept, 2U) << id;
        EXPECT_EQ(kept.get(port, used, used, {}, 8), held) << id << ": the same program, not another";
        const plan::Bytes most = port->allocate(4000, "test");
        EXPECT_EQ(kept.counts().kept, 2U) << id << ": there was room";
        EXPECT_THROW(static_cast<void>(port->allocate(4000, "test")), Error) << id;
        EXPECT_EQ(kept.counts().kept, 1U) << id << ": the one that a session runs stays";
        static_cast<void>(kept.get(port, idle, idle, {}, 8));
        EXPECT_EQ(kept.counts().compiled, 3U) << id;
    }
}

TEST(KeptPrograms, APartIsFoundUnderTheSizeOfItsWholeGraph) {
    const Context context(test::modules_of_the_build());
    const auto port = plan::Port::of(context.choose(test::devices_of_the_build().front()));
    KeptPrograms kept;
    const Graph first = of_size(3), second = of_size(5), part = of_size(2), other = of_size(1);
    for (const Graph* whole : {&first, &second})
        for (const Graph* piece : {&part, &other}) static_cast<void>(kept.get(port, *whole, *piece, {}, 1));
    EXPECT_EQ(kept.counts().kept, 1U) << "all parts of one size count as one";
    EXPECT_EQ(kept.counts().compiled, 4U);
    for (const Graph* piece : {&part, &other}) static_cast<void>(kept.get(port, second, *piece, {}, 1));
    EXPECT_EQ(kept.counts().reused, 2U);
}

}  // namespace
}  // namespace backplane::runtime
