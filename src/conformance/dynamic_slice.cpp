// DynamicSlice moves elements, and puts zeros where there are none: exact.
#include "conformance/moves.hpp"

namespace backplane::graph::conformance::dynamic_slice {

namespace {

using List = std::vector<int64_t>;

struct Window {
    Shape x;
    std::vector<double> starts, ends;  // ends empty: not given
    List sizes, axes = {}, steps = {};
    DType dtype = DType::f32, bounds = DType::i64;
    Source source = Source::input, bounds_source = Source::input;
};

void add(CaseList& list, const std::string& name, const Window& w) {
    list.add(name, [w](CaseBuilder& b) {
        const Shape k{static_cast<int64_t>(w.starts.size())};
        std::vector<TensorId> operands{b.operand(w.source, w.dtype, w.x, moved_values(w.dtype)),
                                       b.operand(w.bounds_source, w.bounds, k, {0, 0, w.starts})};
        if (!w.ends.empty()) operands.push_back(b.operand(w.bounds_source, w.bounds, k, {0, 0, w.ends}));
        std::vector<Attribute> attributes{{Attr::sizes, w.sizes}};
        if (!w.axes.empty()) attributes.push_back({Attr::axes, w.axes});
        if (!w.steps.empty()) attributes.push_back({Attr::steps, w.steps});
        b.result(b.add(Op::dynamic_slice, operands, attributes));
    });
}

void cases(CaseList& list) {
    add(list, "one", {{1}, {0}, {}, {1}});
    add(list, "nothing-of-one", {{1}, {0}, {}, {0}});
    add(list, "of-nothing", {{0, 3}, {0}, {}, {2}});
    add(list, "no-axes", {{2, 3}, {}, {}, {}});
    add(list, "beyond-all", {{5}, {9}, {}, {3}});
    add(list, "before-all", {{5}, {-9}, {-7}, {3}});
    add(list, "longer-than-the-axis", {{5}, {2}, {}, {9}});
    add(list, "ends-first", {{7, 3}, {4}, {2}, {3}});
    add(list, "ends-far-away", {{7, 3}, {-3}, {0x1p62}, {5}});
    add(list, "starts-far-away", {{7, 3}, {-0x1p62}, {0x1p31}, {5}});
    add(list, "cut-by-sizes", {{7, 3}, {1}, {6}, {2}});
    add(list, "cut-by-ends", {{7, 3}, {1}, {3}, {5}});
    add(list, "far-steps", {{9}, {1}, {}, {3}, {}, {1LL << 40}});
    for (const DType dtype : kPlain)
        for (const DType bounds : {DType::i32, DType::i64}) {
            Window w{{3, 17, 5}, {2, -4}, {-2, 9}, {7, 6}, {1, 2}, {3, 1}, dtype, bounds};
            add(list, std::string(name_of(dtype)) + "-by-" + name_of(bounds), w);
        }
    for (const Source source : {Source::weight, Source::constant, Source::transposed, Source::strided}) {
        Window w{{11, 13}, {3, 2}, {9, -1}, {5, 20}, {0, 1}, {2, 1}};
        w.source = source;
        add(list, graph::name_of(source), w);
        w.source = Source::input;
        w.bounds_source = source;
        add(list, std::string("bounds-") + graph::name_of(source), w);
    }
    add(list, "channels", {{2, 17, 5, 7}, {3}, {}, {13}, {1}});
    add(list, "rank-8", {{2, 3, 2, 3, 2, 3, 1, 2}, {1, 1, 0}, {}, {2, 2, 1}, {1, 3, 7}, {2, 1, 1}});
    add(list, "rows-of-a-table", {{501, 67}, {333}, {}, {100}});
}

}  // namespace

constinit const OpConformance conformance_dynamic_slice{cases, bounds::moves, true};

}  // namespace backplane::graph::conformance::dynamic_slice
