// Greedy decoders as graphs: of CTC (Graves et al., 2006) the best piece of every frame; of RNN-T (arXiv:1211.3711) and TDT (arXiv:2304.06795) steps
// that take a token each, with all that they remember on the device.
#pragma once

#include "models/parakeet/encoder.hpp"

namespace backplane::parakeet {

// Outputs "ids" i32 and "confidence" f32, [clips, encoded frames]: the likeliest of pieces and blank, and its probability.
void add_ctc(Graph& graph, NetworkWeights& weights, const BatchShape& shape, const Encoded& encoded);

// Frames that a clip of so many is given room for in the graph of steps: few sizes serve all.
[[nodiscard]] int64_t step_frames(int64_t encoded) noexcept;
// Output "joint" f32 [clips, step_frames, joint_hidden]: the joint network's part that is the frames' alone.
void add_joint_frames(Graph& graph, NetworkWeights& weights, const Encoded& encoded);

// How a batch is decoded by steps.
struct StepShape {
    int64_t clips = 1;
    int64_t frames = 0;  // step_frames
    int64_t steps = 16;  // of one run

    friend auto operator<=>(const StepShape&, const StepShape&) = default;
};

// Inputs: "joint" as above, "lengths" i32 [clips], encoded frames of each. Output "left" i32 []: frames that the clip farthest back has before it;
// another run goes on while it is over 0. Outputs [steps, clips], of each step: "emits" bool, whether a token came, and of
// it "tokens", "frames", "durations" i32 and "confidence" f32: which, on which frame, how many frames further the next one is looked for. States are zero
// before the first run.
//
// A step looks at a few frames at once with what the prediction network has made of the last token: up to the first that is no blank all
// steps of one frame would compute the same. So the prediction network runs once a token, and not once a frame.
[[nodiscard]] Graph steps_graph(NetworkWeights& weights, const StepShape& shape);

}  // namespace backplane::parakeet
