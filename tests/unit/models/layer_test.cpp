#include "models/esrgan/layer.hpp"

#include <cmath>

#include "support.hpp"

namespace backplane {
namespace {

using esrgan::Layer;
using esrgan::LayerKind;
using esrgan::parse_layer;

TEST(EsrganLayer, LinesThatAreNotExactlyRightAreCorrupt) {
    const std::string long_name(256, 'x');
    for (const std::string& line : std::vector<std::string>{"",
                                                            " ",
                                                            "input",
                                                            "input a b",
                                                            "input  a",
                                                            " input a",
                                                            "input a ",
                                                            "input\ta",
                                                            "Input a",
                                                            "inputa",
                                                            "conv a",
                                                            "conv a b c",
                                                            "conv a b by=1",
                                                            "relu a",
                                                            "relu a b c",
                                                            "concat a",
                                                            "add a b",
                                                            "add a",
                                                            "output",
                                                            "output a b",
                                                            "output=",
                                                            "upsample a b",
                                                            "upsample a by=2",
                                                            "upsample a b by=",
                                                            "upsample a b by=0",
                                                            "upsample a b by=-2",
                                                            "upsample a b by=65",
                                                            "upsample a b by=2.0",
                                                            "upsample a b by=2x",
                                                            "upsample a b by= 2",
                                                            "upsample a b by=+2",
                                                            "upsample a b by=2 by=2",
                                                            "upsample a b by=99999999999999999999",
                                                            "upsample a b BY=2",
                                                            "upsample by=2",
                                                            "shuffle a b by=two",
                                                            "unshuffle a b",
                                                            "leaky a b by=x",
                                                            "multiply a b by=nan",
                                                            "multiply a b by=inf",
                                                            "multiply a b by=1e99",
                                                            "multiply a b by=0x1p3",
                                                            "multiply a b by=0,2",
                                                            "multiply a by=1 b",
                                                            "relu a\n b",
                                                            "relu a\x80 b",
                                                            "relu a=b b",
                                                            "dense a b",
                                                            "relu " + long_name + " b",
                                                            std::string("relu a\0 b", 9)})
        expect_error([&] { parse_layer(line); }, Code::corrupt, "cannot be read");
}

TEST(EsrganLayer, EveryKindIsReadAndWrittenBack) {
    for (const char* line :
         {"input LR", "conv F_1_1 LR", "relu a b", "concat a b", "concat a b c d", "add a b c", "multiply a b by=0.2",
          "multiply a b by=-1e-30", "multiply a b by=0.003921569", "upsample a b by=2", "shuffle a b by=8",
          "unshuffle a b by=2", "leaky a b by=0.2", "output SR", "relu a/b:0 ~!x"})
        EXPECT_EQ(esrgan::to_text(parse_layer(line)), line);
    const Layer concat = parse_layer("concat name one two");
    EXPECT_EQ(concat.kind, LayerKind::concatenate);
    EXPECT_EQ(concat.name, "name");
    EXPECT_EQ(concat.inputs, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(parse_layer("shuffle a b by=3").by, 3);
}

TEST(EsrganLayer, FactorsKeepEveryBit) {
    for (const float factor : {1.0F / 255.0F, 0.2F, 1e-45F, 3.4e38F, -0.0F}) {
        const Layer layer{LayerKind::multiply, "a", {"b"}, 1, factor};
        EXPECT_EQ(std::signbit(parse_layer(esrgan::to_text(layer)).factor), std::signbit(factor));
        EXPECT_EQ(parse_layer(esrgan::to_text(layer)).factor, factor);
    }
}

}  // namespace
}  // namespace backplane
