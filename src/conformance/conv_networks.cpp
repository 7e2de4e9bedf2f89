#include "conformance/conv_networks.hpp"

#include <tuple>

#include "conformance/support.hpp"

namespace backplane::graph {

namespace {

// A 3x3 (or 1x1) convolution with bias that keeps the size of the map.
TensorId conv(CaseBuilder& b, TensorId x, int64_t in, int64_t out, int64_t kernel = 3, DType w_type = DType::f32,
              DType dtype = DType::f32) {
    const TensorId w = b.operand(Source::weight, w_type, {out, in, kernel, kernel}, {-0.2, 0.2});
    const TensorId bias = b.weight(dtype, {out});
    return b.add(Op::conv, {x, w, bias}, {{Attr::pads, std::vector<int64_t>(4, kernel / 2)}});
}

TensorId leaky(CaseBuilder& b, TensorId x) { return b.add(Op::leaky_relu, {x}, {{Attr::alpha, 0.2}}); }

TensorId times(CaseBuilder& b, TensorId x, float factor) {
    return b.add(Op::mul, {x, b.operand(Source::constant, DType::f32, {}, {factor, factor})});
}

void activations(CaseList& list) {
    for (const Op op :
         {Op::relu, Op::leaky_relu, Op::sigmoid, Op::tanh, Op::silu, Op::gelu, Op::clip, Op::abs, Op::exp, Op::erf})
        for (const int64_t in : {3, 16})
            list.add("then-" + std::string(backplane::name_of(op)) + "-" + std::to_string(in), [=](CaseBuilder& b) {
                const TensorId y = conv(b, b.input({1, in, 9, 11}), in, 16);
                std::vector<Attribute> attributes;
                if (op == Op::clip) attributes = {{Attr::least, -0.5}, {Attr::most, 0.5}};
                b.result(b.add(op, {y}, attributes));
            });
    list.add("then-prelu-by-max-and-min", [](CaseBuilder& b) {
        const TensorId y = conv(b, b.input({1, 3, 9, 11}), 3, 16);
        const TensorId zero = b.operand(Source::constant, DType::f32, {}, {0, 0});
        const TensorId slope = b.weight(DType::f32, {1, 16, 1, 1});
        const TensorId below = b.add(Op::mul, {b.add(Op::min, {y, zero}), slope});
        b.result(b.add(Op::add, {b.add(Op::max, {y, zero}), below}));
    });
    list.add("then-scale-and-shift-of-channels", [](CaseBuilder& b) {
        const TensorId y = conv(b, b.input({2, 3, 7, 9}), 3, 17);
        const TensorId scaled = b.add(Op::mul, {y, b.weight(DType::f32, {17, 1, 1})});
        b.result(b.add(Op::add, {scaled, b.weight(DType::f32, {1, 17, 1, 1})}));
    });
}

void residuals(CaseList& list) {
    for (const int64_t n : {8, 16, 17}) {
        const std::string channels = std::to_string(n);
        list.add("residual-" + channels, [n](CaseBuilder& b) {
            const TensorId x = b.input({1, n, 7, 9});
            b.result(b.add(Op::add, {conv(b, x, n, n), x}));
        });
        list.add("residual-then-relu-" + channels, [n](CaseBuilder& b) {
            const TensorId x = b.input({2, n, 7, 9});
            b.result(b.add(Op::relu, {b.add(Op::add, {x, conv(b, x, n, n)})}));
        });
        list.add("block-with-scaled-residual-" + channels, [n](CaseBuilder& b) {
            const TensorId x = b.input({1, n, 7, 9});
            const TensorId y = conv(b, leaky(b, conv(b, x, n, n)), n, n);
            b.result(b.add(Op::add, {times(b, y, 0.25F), x}));
        });
        list.add("relu-of-conv-is-also-a-result-" + channels, [n](CaseBuilder& b) {
            const TensorId y = conv(b, b.input({1, n, 7, 9}), n, n);
            b.result(b.add(Op::relu, {y}));
            b.result(y);
        });
        list.add("two-convolutions-added-" + channels, [n](CaseBuilder& b) {
            const TensorId x = b.input({1, n, 7, 9});
            b.result(b.add(Op::add, {conv(b, x, n, 16), conv(b, x, n, 16, 1)}));
        });
    }
    list.add("residual-of-one-channel", [](CaseBuilder& b) {
        const TensorId y = conv(b, b.input({1, 3, 7, 9}), 3, 16);
        b.result(b.add(Op::add, {y, b.input({1, 1, 7, 9})}));
    });
}

// conv + bias + leaky + concat + conv ..., each convolution reading all maps before it; scaled and added at the end.
TensorId dense_block(CaseBuilder& b, TensorId x, int64_t maps, int64_t growth, int convolutions) {
    TensorId all = x;
    int64_t channels = maps;
    std::vector<TensorId> parts = {x};
    for (int i = 0; i + 1 < convolutions; ++i) {
        parts.push_back(leaky(b, conv(b, all, channels, growth)));
        all = b.add(Op::concat, parts, {{Attr::axis, 1}});
        channels += growth;
    }
    return b.add(Op::add, {times(b, conv(b, all, channels, maps), 0.2F), x});
}

void dense(CaseList& list) {
    for (const auto& size : {std::pair<int64_t, int64_t>{16, 8}, {32, 16}, {17, 5}, {8, 3}})
        list.add("dense-block-" + std::to_string(size.first) + "-" + std::to_string(size.second), [size](CaseBuilder& b) {
            const auto& [maps, growth] = size;
            b.result(dense_block(b, b.input({1, maps, 5, 6}), maps, growth, 3));
        });
    list.add("dense-block-of-5", [](CaseBuilder& b) { b.result(dense_block(b, b.input({1, 16, 4, 5}), 16, 8, 5)); });
    list.add("two-dense-blocks-batch-2", [](CaseBuilder& b) {
        const TensorId x = b.input({2, 8, 4, 5});
        const TensorId y = dense_block(b, dense_block(b, x, 8, 4, 3), 8, 4, 3);
        b.result(b.add(Op::add, {times(b, y, 0.2F), x}));
    });
    list.add("dense-block-by-concat-of-concats", [](CaseBuilder& b) {
        const TensorId x = b.input({1, 16, 5, 6});
        const TensorId first = b.add(Op::concat, {x, leaky(b, conv(b, x, 16, 8))}, {{Attr::axis, 1}});
        const TensorId second = b.add(Op::concat, {first, leaky(b, conv(b, first, 24, 8))}, {{Attr::axis, 1}});
        b.result(conv(b, second, 32, 16));
    });
}

void resampling(CaseList& list) {
    for (const int64_t n : {3, 16})
        list.add("resize-then-conv-" + std::to_string(n), [n](CaseBuilder& b) {
            const TensorId x = conv(b, b.input({1, n, 5, 6}), n, 16);
            const TensorId twice = b.add(Op::resize, {x}, {{Attr::sizes, {10, 12}}});
            b.result(leaky(b, conv(b, twice, 16, 3)));
        });
    list.add("linear-resize-then-conv", [](CaseBuilder& b) {
        const TensorId twice =
            b.add(Op::resize, {b.input({1, 8, 5, 6})},
                  {{Attr::sizes, {9, 13}}, {Attr::mode, BP_RESIZE_LINEAR}, {Attr::coordinates, BP_COORDINATES_HALF_PIXEL}});
        b.result(conv(b, twice, 8, 16));
    });
    list.add("conv-then-pixel-shuffle", [](CaseBuilder& b) {
        const TensorId y = conv(b, b.input({1, 16, 5, 6}), 16, 12);
        b.result(b.add(Op::depth_to_space, {y}, {{Attr::blocksize, 2}, {Attr::mode, BP_DTS_CRD}}));
    });
    list.add("reflect-pad-then-conv-then-crop", [](CaseBuilder& b) {
        const TensorId x =
            b.add(Op::pad, {b.input({1, 3, 7, 9})}, {{Attr::pads, {0, 0, 2, 2, 0, 0, 2, 2}}, {Attr::mode, BP_PAD_REFLECT}});
        const TensorId y = conv(b, x, 3, 16);
        b.result(b.add(Op::slice, {y}, {{Attr::starts, {0, 0, 2, 2}}, {Attr::ends, {1, 16, 9, 11}}}));
    });
    list.add("half-of-the-channels", [](CaseBuilder& b) {
        const TensorId x = conv(b, b.input({1, 3, 7, 9}), 3, 32);
        const TensorId half = b.add(Op::slice, {x}, {{Attr::starts, {0, 16, 0, 0}}, {Attr::ends, {1, 32, 7, 9}}});
        b.result(conv(b, half, 16, 8));
    });
    list.add("mean-of-the-map-gates-it", [](CaseBuilder& b) {
        const TensorId x = conv(b, b.input({2, 3, 7, 9}), 3, 16);
        const TensorId mean = b.add(Op::reduce_mean, {x}, {{Attr::axes, {2, 3}}});
        const TensorId gate = b.add(Op::sigmoid, {conv(b, mean, 16, 16, 1)});
        b.result(b.add(Op::mul, {x, gate}));
    });
    list.add("reshape-between", [](CaseBuilder& b) {
        const TensorId x = conv(b, b.input({1, 3, 6, 8}), 3, 16);
        const TensorId y = b.add(Op::reshape, {x}, {{Attr::shape, {1, 16, 8, 6}}});
        b.result(conv(b, y, 16, 4));
    });
    list.add("transpose-between", [](CaseBuilder& b) {
        const TensorId x = conv(b, b.input({1, 3, 6, 8}), 3, 16);
        b.result(conv(b, b.add(Op::transpose, {x}, {{Attr::perm, {0, 1, 3, 2}}}), 16, 4));
    });
}

// Depthwise, of maps whose channels come last before and behind it: a backend may leave them there.
void channels_last(CaseList& list) {
    const std::vector<int64_t> to_front{0, 3, 1, 2}, to_back{0, 2, 3, 1};
    const auto depthwise = [](CaseBuilder& b, TensorId x, DType dtype, int64_t channels, int64_t down, int64_t across,
                              int64_t stride) {
        const TensorId w = b.weight(dtype, {channels, 1, down, across});
        return b.add(Op::conv, {x, w, b.weight(dtype, {channels})},
                     {{Attr::pads, {down / 2, across / 2, down / 2, across / 2}},
                      {Attr::strides, {stride, stride}},
                      {Attr::group, channels}});
    };
    for (const DType dtype : {DType::f32, DType::f16})
        for (const auto& [down, across, stride] : {std::tuple(9, 1, 1), std::tuple(3, 5, 2), std::tuple(1, 3, 1)})
            list.add("depthwise-channels-last-" + std::to_string(down) + "x" + std::to_string(across) + "-" +
                         backplane::name_of(dtype),
                     [=, down = down, across = across, stride = stride](CaseBuilder& b) {
                         const TensorId x = b.input(dtype, {2, 19, 6, 17});
                         const TensorId front = b.add(Op::transpose, {x}, {{Attr::perm, to_front}});
                         const TensorId y = b.add(Op::silu, {depthwise(b, front, dtype, 17, down, across, stride)});
                         b.result(b.add(Op::transpose, {y}, {{Attr::perm, to_back}}));
                     });
    list.add("depthwise-channels-last-of-one-axis", [](CaseBuilder& b) {
        const TensorId x = b.add(Op::transpose, {b.input({2, 29, 18})}, {{Attr::perm, {0, 2, 1}}});
        const TensorId y = b.add(Op::conv, {x, b.weight(DType::f32, {18, 1, 4})},
                                 {{Attr::pads, {3, 0}}, {Attr::strides, {2}}, {Attr::dilations, {2}}, {Attr::group, 18}});
        b.result(b.add(Op::transpose, {y}, {{Attr::perm, {0, 2, 1}}}));
    });
    list.add("depthwise-channels-last-and-first", [=](CaseBuilder& b) {
        const TensorId front = b.add(Op::transpose, {b.input({1, 7, 5, 8})}, {{Attr::perm, to_front}});
        const TensorId y = b.add(Op::add, {depthwise(b, front, DType::f32, 8, 3, 3, 1), front});
        b.result(b.add(Op::transpose, {y}, {{Attr::perm, to_back}}));
        const TensorId z = depthwise(b, front, DType::f32, 8, 3, 3, 1);
        b.result(b.add(Op::transpose, {z}, {{Attr::perm, to_back}}));
        b.result(z);
    });
}

// As speech networks begin: maps of one channel a group that are halved, whose rows behind a clip's end count for nothing.
void halved(CaseList& list) {
    const auto map = [&](const std::string& name, const Shape& x, int64_t group, int64_t outputs, bool masked, bool apart) {
        list.add("halved-" + name, [=](CaseBuilder& b) {
            TensorId y = b.input(DType::f16, x);
            if (apart) {  // it begins at no multiple of 16 bytes
                const TensorId flat = b.add(Op::reshape, {b.add(Op::relu, {y})}, {{Attr::shape, {elements(x)}}});
                b.result(b.add(Op::concat, {b.input(DType::f16, {3}), flat}, {{Attr::axis, 0}}));
                y = b.add(Op::reshape, {flat}, {{Attr::shape, x}});
            }
            if (masked) y = b.add(Op::mul, {y, b.input(DType::f16, {x[0], 1, x[2], 1}, {0, 1})});
            const TensorId w = b.operand(Source::weight, DType::f16, {outputs, x[1] / group, 3, 3}, {-0.5, 0.5});
            y = b.add(Op::conv, {y, w, b.weight(DType::f16, {outputs})},
                      {{Attr::pads, {1, 1, 1, 1}}, {Attr::strides, {2, 2}}, {Attr::group, group}});
            b.result(b.add(Op::relu, {y}));
        });
    };
    map("one-channel", {2, 1, 13, 48}, 1, 37, false, false);
    map("one-channel-masked", {2, 1, 12, 32}, 1, 16, true, false);
    map("depthwise", {1, 18, 7, 16}, 18, 18, false, false);
    map("depthwise-masked", {2, 18, 13, 32}, 18, 18, true, false);
    map("groups-of-2-apart", {1, 5, 1, 16}, 5, 10, false, true);
}

// As speech networks go on: a gate, what is valid of it, and a convolution along frames whose channels come last.
void frames(CaseList& list) {
    const auto along = [&](const std::string& name, int64_t count, int64_t size, bool gated, bool masked,
                           int64_t kernel = 9) {
        list.add("frames-" + name, [=](CaseBuilder& b) {
            TensorId y = b.input(DType::f16, {2, count, gated ? 2 * size : size});
            if (gated) {
                const auto half = [&](int64_t first) {
                    return b.add(Op::slice, {y}, {{Attr::starts, {0, 0, first}}, {Attr::ends, {2, count, first + size}}});
                };
                const TensorId own = half(0);
                y = b.add(Op::mul, {own, b.add(Op::sigmoid, {half(size)})});
            }
            if (masked) y = b.add(Op::mul, {y, b.input(DType::f16, {2, count, 1}, {0, 1})});
            y = b.add(Op::reshape, {y}, {{Attr::shape, {2, count, 1, size}}});
            y = b.add(Op::transpose, {y}, {{Attr::perm, {0, 3, 1, 2}}});
            y = b.add(Op::conv, {y, b.weight(DType::f16, {size, 1, kernel, 1}), b.weight(DType::f16, {size})},
                      {{Attr::pads, {kernel / 2, 0, kernel / 2, 0}}, {Attr::group, size}});
            b.result(b.add(Op::transpose, {b.add(Op::silu, {y})}, {{Attr::perm, {0, 2, 3, 1}}}));
        });
    };
    along("plain", 29, 18, false, false);
    along("masked", 8, 34, false, true);
    along("gated", 3, 16, true, false);
    along("gated-and-masked", 41, 130, true, true);
    along("gated-and-masked-of-7", 19, 12, true, true, 7);
    along("of-odd-channels", 19, 13, true, true);
}

void half(CaseList& list) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
        list.add(std::string("network-with-weights-of-") + backplane::name_of(dtype), [dtype](CaseBuilder& b) {
            const TensorId x = b.input({1, 16, 7, 9});
            const TensorId y = leaky(b, conv(b, x, 16, 16, 3, dtype));
            b.result(b.add(Op::add, {conv(b, y, 16, 16, 3, dtype), x}));
        });
        list.add(std::string("network-in-") + backplane::name_of(dtype), [dtype](CaseBuilder& b) {
            const TensorId x = b.input(dtype, {1, 16, 7, 9});
            const TensorId y = leaky(b, conv(b, x, 16, 16, 3, dtype, dtype));
            b.result(b.add(Op::add, {conv(b, y, 16, 16, 3, dtype, dtype), x}));
        });
        list.add(std::string("between-casts-of-") + backplane::name_of(dtype), [dtype](CaseBuilder& b) {
            const TensorId x = b.add(Op::cast, {b.input(dtype, {1, 3, 7, 9})}, {{Attr::to, BP_F32}});
            b.result(b.add(Op::cast, {conv(b, x, 3, 16)}, {{Attr::to, static_cast<int64_t>(dtype)}}));
        });
    }
    list.add("of-an-image-of-bytes", [](CaseBuilder& b) {
        const TensorId image = b.input(DType::u8, {1, 9, 11, 3}, {0, 255});
        const TensorId x =
            b.add(Op::transpose, {b.add(Op::cast, {image}, {{Attr::to, BP_F32}})}, {{Attr::perm, {0, 3, 1, 2}}});
        b.result(conv(b, times(b, x, 0.00390625F), 3, 16));
    });
    list.add("one-weight-for-two", [](CaseBuilder& b) {
        const TensorId w = b.weight(DType::f32, {16, 16, 3, 3});
        const std::vector<Attribute> same = {{Attr::pads, {1, 1, 1, 1}}};
        const TensorId x = b.input({1, 16, 7, 9});
        b.result(b.add(Op::conv, {b.add(Op::conv, {x, w}, same), w}, same));
    });
}

}  // namespace

void conv_networks(CaseList& list) {
    activations(list);
    residuals(list);
    dense(list);
    resampling(list);
    channels_last(list);
    halved(list);
    frames(list);
    half(list);
}

}  // namespace backplane::graph
