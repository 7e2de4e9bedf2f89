// DepthToSpace moves elements: exact, and the same bytes.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::depth_to_space {

namespace {

std::vector<Attribute> block(int size, int mode) { return {{Attr::blocksize, size}, {Attr::mode, mode}}; }

void cases(CaseList& list) {
    std::vector<MoveCase> all;
    for (const auto& [mode, name] : {Named{BP_DTS_CRD, "crd"}, Named{BP_DTS_DCR, "dcr"}}) {
        const std::string what = name;
        all.push_back({what + "-2", {2, 12, 5, 7}, block(2, mode)});
        all.push_back({what + "-1", {1, 3, 5, 7}, block(1, mode)});
        all.push_back({what + "-3", {1, 9, 3, 5}, block(3, mode)});
        all.push_back({what + "-4", {1, 48, 3, 2}, block(4, mode)});
        all.push_back({what + "-2-many-channels", {1, 68, 3, 5}, block(2, mode)});
        all.push_back({what + "-one-pixel", {1, 4, 1, 1}, block(2, mode)});
        all.push_back({what + "-none", {0, 4, 3, 3}, block(2, mode)});
        all.push_back({what + "-no-rows", {1, 4, 0, 3}, block(2, mode)});
    }
    move_cases(list, all);
    for (const DType dtype : {DType::f16, DType::bf16, DType::u8})
        add_move(list, std::string("dcr-2-") + name_of(dtype), {"", {2, 12, 5, 7}, block(2, BP_DTS_DCR)}, Source::input,
                 dtype);
}

}  // namespace

constinit const OpConformance conformance_depth_to_space{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::depth_to_space
