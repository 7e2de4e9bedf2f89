// The clauses of docs/module-contract.md that are of queues, points and peers, held by the cuda backend on two cards of a scripted libcuda, whose streams are
// at work on threads of their own: on every machine, where a card or two of them are what these clauses else want.
#include <algorithm>
#include <vector>

#include "backplane/ops.h"
#include "common/gpu/kernel_words.hpp"
#include "contract/module_under_test.hpp"
#include "scripted_cuda.hpp"

extern "C" const bp_module_api* backplane_cuda(uint32_t host_abi);

namespace contract {

namespace {

using backplane::cuda::scripted::world;

float applied(uint32_t op, float a, float b) {
    switch (op) {
        case BP_OP_add: return a + b;
        case BP_OP_sub: return a - b;
        case BP_OP_relu: return std::max(a, 0.0F);
        default: ADD_FAILURE() << "op " << op; return 0;
    }
}

// Where an element of the operand lies that the result's element i meets.
uint32_t place_of(uint32_t i, uint32_t inner, uint32_t count) { return count == 0 ? i : i / inner % count; }

// The kernels of Add, Sub and Relu on operands of one shape, alone and as a chain.
std::function<void()> computes(const std::string& kernel, const backplane::cuda::scripted::Constants& constants,
                               void** arguments) {
    const std::vector<uint32_t> words(
        static_cast<const uint32_t*>(arguments[0]),
        static_cast<const uint32_t*>(arguments[0]) + CHAIN_LIST + CHAIN_STEP_WORDS * CHAIN_STEPS);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the card's memory is the host's
    const auto place = [&](int i) { return reinterpret_cast<float*>(*static_cast<const uint64_t*>(arguments[i])); };
    if (kernel.find("unary") != std::string::npos)
        return [n = words[0], op = constants[0], x = place(1), y = place(2)] {
            for (uint32_t i = 0; i < n; ++i) y[i] = applied(op, x[i], 0);
        };
    if (kernel.find("binary") != std::string::npos)
        return
            [n = constants[1] != 0 ? 4 * words[0] : words[0], op = constants[0], x = place(1), y = place(2), z = place(3)] {
                for (uint32_t i = 0; i < n; ++i) z[i] = applied(op, x[i], y[i]);
            };
    if (kernel.find("chain") == std::string::npos) return {};
    std::vector<float*> operands;
    for (int i = 1; i <= 9; ++i) operands.push_back(place(i));
    return [words, operands] {
        for (uint32_t i = 0; i < words[0]; ++i) {
            float v = operands[0][place_of(i, words[2], words[3])];
            for (uint32_t step = 0; step < words[1]; ++step) {
                const uint32_t* at = words.data() + CHAIN_LIST + step * CHAIN_STEP_WORDS;
                const uint32_t other = *at >> CHAIN_OTHER_SHIFT & 0xff;
                const float w = other == 0 ? 0 : operands[other][place_of(i, at[1], at[2])];
                v = (*at & CHAIN_FIRST) != 0 ? applied(*at & 0xffff, w, v) : applied(*at & 0xffff, v, w);
            }
            operands[8][i] = v;
        }
    };
}

const bp_module_api* on_two_cards(uint32_t host_abi) {
    EXPECT_EQ(world().alive, std::set<void*>()) << "of the test before";
    backplane::cuda::scripted::start_anew();
    world().cards = {{.name = "First Card", .pci_bus = 7, .uuid = 1}, {.name = "Second Card", .pci_bus = 8, .uuid = 2}};
    world().concurrent = true;
    world().computes = computes;
    return backplane_cuda(host_abi);
}

}  // namespace

const std::vector<Entry>& modules() {
    static const std::vector<Entry> one{{"cuda_on_two_scripted_cards", on_two_cards}};
    return one;
}

}  // namespace contract
