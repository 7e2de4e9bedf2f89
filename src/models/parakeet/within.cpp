// Recognizer: how batches are run within the memory of a device.
#include <algorithm>

#include "base/json.hpp"
#include "base/visible_text.hpp"
#include "models/parakeet/recognizer.hpp"
#include "runtime/room.hpp"

namespace backplane::parakeet {

namespace {

std::string sized(const char* part, int64_t clips, int64_t frames, const char* of) {
    return std::string(part) + ", " + std::to_string(clips) + " x " + std::to_string(frames) + " " + of + ":\n";
}

// Of the tokens of a batch that come of the encoder alone.
uint64_t ctc_bytes(const EncoderConfig& encoder, const BatchShape& shape) {
    const Shape tokens{shape.clips, encoded_frames(encoder, shape.frames)};
    return bytes(DType::i32, tokens) + bytes(DType::f32, tokens);
}

// The plan of the way is the encoder's. `decoder`: without a plan where there is none of its own.
void name_parts(Fit& way, const Fit& decoder, const BatchShape& shape, const StepShape& steps) {
    base::Json encoder = base::Json::parse(way.plan_json);
    encoder["name"] = "encoder";
    base::Json all{{"components", base::Json::array()}};
    all["components"].push_back(std::move(encoder));
    way.plan_text = sized("encoder", shape.clips, shape.frames, "frames") + way.plan_text;
    if (!decoder.plan_json.empty()) {
        base::Json one = base::Json::parse(decoder.plan_json);
        one["name"] = "decoder";
        all["components"].push_back(std::move(one));
        way.plan_text += sized("decoder", steps.clips, steps.frames, "encoded frames") + decoder.plan_text;
    }
    base::carry_bytes(all);
    way.plan_json = all.dump(-1, base::BadText::replace);
}

}  // namespace

// The largest batch that `clips` clips of at most `samples` samples make.
BatchShape Recognizer::longest(int64_t clips, size_t samples) const {
    const int64_t frames = std::max<int64_t>(static_cast<int64_t>(samples) / config().preprocessor.hop_length, 1);
    return {std::max<int64_t>(clips, 1), rounded(frames), lengths_ != Lengths::exact};
}

StepShape Recognizer::steps_of(const BatchShape& shape) const {
    StepShape steps;
    steps.clips = shape.clips;
    steps.frames = step_frames(encoded_frames(config().encoder, shape.frames));
    return steps;
}

std::vector<Fit> Recognizer::ways_on(const Device& device, const BatchShape& shape, const FitOptions& options) const {
    FitOptions whole = options;
    whole.streaming = Streaming::never;
    // The decoder is small and runs many times for each run of the encoder: its weights stay.
    Fit decoder;
    if (head_ != Head::ctc) {
        decoder = fits({device}, steps_graph(*weights_, steps_of(shape)), whole).front();
        if (!decoder.possible) return {decoder};
        // What the encoder gives it is the encoder's, unless that gives the next batch's meanwhile.
        if (!ahead_on(device))
            decoder.needs -= std::min(
                decoder.needs, bytes(DType::f32, {shape.clips, steps_of(shape).frames, config().transducer->joint_hidden}));
    } else if (ahead_on(device)) {
        decoder.needs = ctc_bytes(config().encoder, shape);
    }
    const int64_t reach = reach_of(encoded_frames(config().encoder, shape.frames));
    FitOptions beside = options;
    const Graph encoder = encoder_graph(shape, reach);
    uint64_t available = decoder.available;
    if (head_ == Head::ctc) available = fits({device}, encoder, whole).front().available;
    if (available != 0)
        beside.memory[device.info().id] = std::max<uint64_t>(available - std::min(available, decoder.needs), 1);
    std::vector<Fit> all = fits({device}, encoder, beside);
    // Tables of positions are made before anything else is there.
    FitOptions first = options;
    if (available != 0) first.memory[device.info().id] = available;
    first.streaming = Streaming::automatic;
    const std::vector<Fit> positions = fits({device}, positions_graph(*weights_, reach), first);
    const bool begins = best_fit(positions) != nullptr;
    for (Fit& way : all) {
        way.available = available;
        if (!way.possible) continue;
        way.needs += decoder.needs;
        way.weights += decoder.weights;
        way.state += decoder.state;
        way.values += decoder.needs - std::min(decoder.needs, decoder.weights + decoder.state + decoder.workspace);
        way.workspace += decoder.workspace;
        name_parts(way, decoder, shape, steps_of(shape));
        if (begins) continue;
        way.fits = false;
        way.needs = std::max(way.needs, positions.back().needs);
    }
    return all;
}

// Whether batches of streamed weights are handed over to it before it has done the one before.
bool Recognizer::ahead_on(const Device& device) const {
    return layers_ == 1 && options_.rows == 1 && frames_ == 1 && runtime::keeps_order(device);
}

Graph Recognizer::encoder(int64_t clips, size_t samples) const {
    const BatchShape shape = longest(clips, samples);
    return encoder_graph(shape, reach_of(encoded_frames(config().encoder, shape.frames)));
}

std::vector<Fit> Recognizer::ways(int64_t clips, size_t samples, const FitOptions& options) const {
    FitOptions how = options;
    how.compile.math = options_.compile.math;
    std::vector<Fit> all;
    for (const Device& device : devices_)
        for (Fit& way : ways_on(device, longest(clips, samples), how)) all.push_back(std::move(way));
    return all;
}

Recognizer::Shown Recognizer::plan(int64_t clips, size_t samples) const {
    BatchShape shape = longest(clips, samples);
    share(shape);
    SessionOptions how = options_;
    how.compile.plan_only = true;
    how.plans_kept = 0;
    NodeParts nodes;
    const Graph graph = encoder_graph(shape, reach_of(encoded_frames(config().encoder, shape.frames)), nodes);
    const std::unique_ptr<Pipeline> encoder = encoder_on(shape, graph, nodes, how);
    Shown shown{sized("encoder", shape.clips, shape.frames, "frames") + encoder->describe(), {}};
    base::Json all{{"components", base::Json::array()}};
    const std::vector<std::string> parts = encoder->plans_json();
    for (size_t p = 0; p < parts.size(); ++p) {
        base::Json one = base::Json::parse(parts[p]);
        one["name"] = "encoder";
        if (parts.size() > 1) one["part"] = p + 1, one["parts"] = parts.size();
        all["components"].push_back(std::move(one));
    }
    if (head_ != Head::ctc) {
        SessionOptions last = decoder_options_;
        last.compile.plan_only = true;
        last.plans_kept = 0;
        const StepShape steps = steps_of(shape);
        const Session decoder(last_devices_, steps_graph(*weights_, steps), packed_, last);
        shown.text += sized("decoder", steps.clips, steps.frames, "encoded frames") + decoder.describe();
        base::Json one = base::Json::parse(decoder.plan_json());
        one["name"] = "decoder";
        all["components"].push_back(std::move(one));
    }
    base::carry_bytes(all);
    shown.json = all.dump(-1, base::BadText::replace);
    return shown;
}

void Recognizer::keep_to(const Fit& way, int64_t clips, size_t samples) {
    options_.weight_budget = way.streamed ? way.weight_budget : kAllWeights;
    decoder_options_.weight_budget = kAllWeights;
    ahead_ = way.streamed && ahead_on(devices_.front());
    kept_ = 1;
    positions_budget_ = way.available;
    static_cast<void>(positions_for(longest(clips, samples)));
}

}  // namespace backplane::parakeet
