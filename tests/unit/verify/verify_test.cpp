// verify() on devices that lie, break and refuse: the reference behind a table with single functions replaced.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>

#include "backplane/runtime.hpp"
#include "backplane/sdk.hpp"
#include "backplane/verify.hpp"
#include "registry/device_state.hpp"
#include "support/modules_of_the_build.hpp"

namespace backplane {
namespace {

const bp_module_api* honest = nullptr;  // what replaced functions call on

class VerifyOf : public testing::Test {
protected:
    // The reference, with its table changed.
    Device device(const std::function<void(bp_module_api&)>& change) {
        honest = DeviceAccess::state(reference)->api;
        table = *honest;
        table.device_close = [](bp_device*) {};  // the reference itself closes it
        change(table);
        auto state = std::make_shared<Device::State>();
        state->info = reference.info();
        state->api = &table;
        state->in_its_place = &changed;
        state->handle = DeviceAccess::state(reference)->handle;
        state->module = DeviceAccess::state(reference)->module;
        return DeviceAccess::handle(state);
    }
    static std::vector<VerifyResult> results(const Device& device, Op op) {
        VerifyOptions options;
        options.op = op;
        return verify(device, options);
    }

    Context context{test::modules_of_the_build()};
    Device reference = context.choose("reference");
    bp_module_api table{};
    registry::Guarded changed{"changed", table, std::make_shared<registry::HostServices>()};
};

TEST_F(VerifyOf, AnHonestDevicePassesAndSaysHowNear) {
    for (const VerifyResult& r : results(device([](bp_module_api&) {}), Op::softmax)) {
        EXPECT_EQ(r.status, VerifyResult::passed) << r.name << ": " << r.text;
        EXPECT_TRUE(r.text.empty());
        EXPECT_LT(r.worst, 1);
    }
}

TEST_F(VerifyOf, ADeviceThatWritesNothingFails) {
    const Device idle =
        device([](bp_module_api& t) { t.run = [](bp_program*, const bp_run*, bp_error*) -> bp_code { return BP_OK; }; });
    size_t failed = 0;
    for (const VerifyResult& r : results(idle, Op::add)) {
        // Nothing to write is all that may pass.
        if (r.status == VerifyResult::failed) {
            ++failed;
            EXPECT_GT(r.worst, 1) << r.name;
            EXPECT_NE(r.text.find("y0["), std::string::npos) << r.text;
        } else {
            EXPECT_NE(r.name.find("/0"), std::string::npos) << r.name;
        }
    }
    EXPECT_GT(failed, 50U);
}

TEST_F(VerifyOf, ADeviceWithOneBitWrongInEachResultFails) {
    const Device liar = device([](bp_module_api& t) {
        t.run = [](bp_program* program, const bp_run* run, bp_error* error) -> bp_code {
            const bp_code code = honest->run(program, run, error);
            if (code != BP_OK || run->bindings.count == 0) return code;
            // The reference binds inputs first: the last binding is the output.
            const bp_binding b = sdk::read(BP_AT(bp_binding, &run->bindings, run->bindings.count - 1));
            void* memory = nullptr;
            if (b.bytes == 0 || honest->buffer_map(b.buffer, b.offset, b.bytes, &memory, error) != BP_OK) return code;
            static_cast<unsigned char*>(memory)[b.bytes - 1] ^= 0x10;
            honest->buffer_unmap(b.buffer, error);
            return code;
        };
    });
    for (const VerifyResult& r : results(liar, Op::transpose))
        EXPECT_EQ(r.status, r.name == "Transpose/none-f32" ? VerifyResult::passed : VerifyResult::failed) << r.name;
}

TEST_F(VerifyOf, AnErrorOfOneCaseIsAFailureThatCarriesItsText) {
    const Device broken = device([](bp_module_api& t) {
        t.run = [](bp_program*, const bp_run*, bp_error* error) -> bp_code {
            return sdk::fail(error, BP_INTERNAL, "the kernel fell over");
        };
    });
    for (const VerifyResult& r : results(broken, Op::relu)) {
        EXPECT_EQ(r.status, VerifyResult::failed) << r.name;
        EXPECT_NE(r.text.find("the kernel fell over"), std::string::npos) << r.text;
    }
}

TEST_F(VerifyOf, ALostDeviceEndsIt) {
    const Device lost = device([](bp_module_api& t) {
        t.run = [](bp_program*, const bp_run*, bp_error* error) -> bp_code {
            return sdk::fail(error, BP_DEVICE_LOST, "gone");
        };
    });
    try {
        results(lost, Op::relu);
        FAIL() << "it went on";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::device_lost) << e.what();
    }
}

TEST_F(VerifyOf, WhatIsNotSupportedIsReportedWithItsReason) {
    const Device picky = device([](bp_module_api& t) {
        t.query = [](bp_device* d, const bp_graph* graph, const bp_array* answers, bp_error* error) -> bp_code {
            const bp_code code = honest->query(d, graph, answers, error);
            bp_answer refusal{};
            refusal.code = BP_UNSUPPORTED;
            refusal.reason = BP_WHY_DTYPE;
            const sdk::GraphView view(graph);
            for (uint32_t i = 0; i < view.nodes(); ++i)
                if (view.tensor(view.output(view.node(i), 0)).dtype == BP_F16)
                    sdk::write(BP_AT_OUT(bp_answer, answers, i), refusal);
            return code;
        };
    });
    size_t refused = 0;
    for (const VerifyResult& r : results(picky, Op::relu)) {
        EXPECT_NE(r.status, VerifyResult::failed) << r.text;
        if (r.status != VerifyResult::unsupported) continue;
        ++refused;
        EXPECT_NE(r.text.find("does not support node 0 ("), std::string::npos) << r.text;
        EXPECT_NE(r.text.find("f16"), std::string::npos) << r.text;
        EXPECT_NE(r.text.find("the element type"), std::string::npos) << r.text;
    }
    EXPECT_GE(refused, 8U);
}

TEST_F(VerifyOf, AGraphIsAskedAboutOnceWhateverIsRefused) {
    static std::atomic<int> asked{0};
    asked = 0;
    const Device picky = device([](bp_module_api& t) {
        t.query = [](bp_device* d, const bp_graph* graph, const bp_array* answers, bp_error* error) -> bp_code {
            ++asked;
            const bp_code code = honest->query(d, graph, answers, error);
            bp_answer refusal{};
            refusal.code = BP_UNSUPPORTED;
            refusal.reason = BP_WHY_SHAPE;
            sdk::write(BP_AT_OUT(bp_answer, answers, 1), refusal, "seven is too many");
            return code;
        };
    });
    Graph g;
    g.output(g.add(Op::relu, {g.add(Op::neg, {g.add(Op::relu, {g.input("x", DType::f32, {7})})})}), "y");
    const std::vector<NodeSupport> support = query(picky, g);
    EXPECT_EQ(asked, 1);
    ASSERT_EQ(support.size(), 3U);
    EXPECT_TRUE(support[0].supported && support[0].text.empty() && support[2].supported && support[2].text.empty());
    EXPECT_FALSE(support[1].supported);
    EXPECT_EQ(support[1].reason, Why::shape);
    EXPECT_EQ(support[1].text, "seven is too many");
}

TEST_F(VerifyOf, TheReferenceSupportsAndPassesTheWholeTable) {
    for (const VerifyResult& r : verify(reference)) EXPECT_EQ(r.status, VerifyResult::passed) << r.name << ": " << r.text;
}

}  // namespace
}  // namespace backplane
