// Pad moves elements and adds a value of the same type: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::pad {

namespace {

std::vector<Attribute> pads(std::vector<int64_t> numbers, int mode, double value = 0) {
    return {{Attr::pads, std::move(numbers)}, {Attr::mode, mode}, {Attr::value, value}};
}

void cases(CaseList& list) {
    std::vector<MoveCase> all = {{"constant-3x5x7", {3, 5, 7}, pads({1, 0, 2, 0, 3, 1}, BP_PAD_CONSTANT, 1)}};
    for (const auto& [mode, name] :
         {Named{BP_PAD_CONSTANT, "constant"}, Named{BP_PAD_EDGE, "edge"}, Named{BP_PAD_REFLECT, "reflect"}}) {
        const std::string what = name;
        all.push_back({what + "-nothing", {3, 5}, pads({0, 0, 0, 0}, mode)});
        all.push_back({what + "-scalar", {}, pads({}, mode)});
        all.push_back({what + "-17", {17}, pads({3, 16}, mode)});
        all.push_back({what + "-image", {1, 3, 9, 11}, pads({0, 0, 4, 5, 0, 0, 8, 10}, mode)});
        all.push_back({what + "-channels", {2, 16, 5, 3}, pads({0, 1, 1, 1, 0, 15, 1, 1}, mode)});
        all.push_back({what + "-batch", {3, 2, 2}, pads({2, 0, 0, 1, 0, 1}, mode)});
        all.push_back({what + "-one-side", {7, 5}, pads({0, 4, 0, 0}, mode)});
        all.push_back(
            {what + "-rank-8", {2, 3, 1, 2, 3, 2, 1, 2}, pads({1, 0, 0, 1, 0, 1, 0, 1, 0, 2, 0, 0, 1, 0, 0, 1}, mode)});
    }
    all.push_back({"constant-infinity", {3, 5}, pads({1, 1, 1, 1}, BP_PAD_CONSTANT, -kInfinity)});
    all.push_back({"constant-half", {3, 5}, pads({0, 1, 2, 0}, BP_PAD_CONSTANT, 0.5)});
    all.push_back({"around-nothing", {0, 3}, pads({2, 1, 1, 1}, BP_PAD_CONSTANT, -2)});
    all.push_back({"edge-more-than-there-is", {2, 3}, pads({5, 7, 4, 9}, BP_PAD_EDGE)});
    move_cases(list, all);
    for (const DType dtype : {DType::f16, DType::bf16, DType::u8, DType::i64}) {
        add_move(list, std::string("edge-3x5x7-") + name_of(dtype), {"", {3, 5, 7}, pads({1, 0, 2, 0, 3, 1}, BP_PAD_EDGE)},
                 Source::input, dtype);
        add_move(list, std::string("reflect-3x5x7-") + name_of(dtype),
                 {"", {3, 5, 7}, pads({1, 0, 2, 0, 3, 1}, BP_PAD_REFLECT)}, Source::input, dtype);
    }
}

}  // namespace

constinit const OpConformance conformance_pad{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::pad
