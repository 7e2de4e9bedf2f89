#include "models/parakeet/recognizer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <functional>
#include <sstream>
#include <thread>
#include <utility>

#include "base/elapsed.hpp"
#include "runtime/device_order.hpp"

namespace backplane::parakeet {

namespace {

constexpr uint64_t kKeptBytes = uint64_t{64} << 20;  // of sessions beyond the least
constexpr uint64_t kNodeBytes = 2400;                // of a session, measured of networks of 110M parameters on a CPU

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}
template <typename T>
std::span<std::byte> room_of(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
}

// However large, so many are kept. `one_at_a_time`: what there is goes before another is made.
struct Keep {
    size_t least = 1;
    bool one_at_a_time = false;
};

// The entry that `is` holds for, or what `make` makes; the first then. What was not used for longest goes where there is no room, and `leave` is told.
template <typename Entry, typename Is, typename Make, typename Leave>
Entry& recent(std::list<Entry>& kept, Keep keep, const Is& is, const Make& make, const Leave& leave) {
    if (const auto found = std::find_if(kept.begin(), kept.end(), is); found != kept.end()) {
        kept.splice(kept.begin(), kept, found);
        return kept.front();
    }
    while (keep.one_at_a_time && !kept.empty()) {
        leave(kept.back());
        kept.pop_back();
    }
    kept.push_front(make());
    uint64_t bytes = 0;
    for (const Entry& entry : kept) bytes += entry.bytes;
    while (kept.size() > keep.least && bytes > kKeptBytes) {
        bytes -= kept.back().bytes;
        leave(kept.back());
        kept.pop_back();
    }
    return kept.front();
}

Lengths lengths_on(const Device& device, Lengths lengths) {
    if (lengths != Lengths::by_device) return lengths;
    const DeviceKind kind = device.info().kind;
    return kind == DeviceKind::cpu || kind == DeviceKind::software ? Lengths::finely : Lengths::coarsely;
}

// A stretch of a clip, and zeros where it has ended.
struct SoundCopy {
    std::span<const float> clip;
    size_t begin = 0;
    std::span<float> to;

    // Looked at as it is copied: memory is read once.
    void operator()() const {
        constexpr size_t kNear = 8192;  // samples that stay in the nearest cache
        const size_t first = std::min(begin, clip.size()), count = std::min(to.size(), clip.size() - first);
        for (size_t at = 0; at < count; at += kNear) {
            const auto some = clip.subspan(first + at, std::min(kNear, count - at));
            check_finite(some, first + at);
            std::copy(some.begin(), some.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
        }
        std::fill(to.begin() + static_cast<std::ptrdiff_t>(count), to.end(), 0.0F);
    }
};

}  // namespace

int64_t rounded_frames(int64_t frames, int64_t least, int64_t parts) noexcept {
    const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(frames, 1))));
    const int64_t step = std::max(least, below / parts);
    return (std::max<int64_t>(frames, 1) + step - 1) / step * step;
}

void check_finite(std::span<const float> samples, uint64_t first) {
    // Stretches of magnitudes none of which carries into the sign when one is added to its power: as vectors of any processor.
    constexpr size_t kTogether = 64;
    constexpr uint32_t kMagnitude = 0x7fffffff, kOne = 0x00800000, kSign = 0x80000000;
    size_t finite = 0;
    for (; finite + kTogether <= samples.size(); finite += kTogether) {
        uint32_t all = 0;
        for (size_t i = 0; i < kTogether; ++i) all |= (std::bit_cast<uint32_t>(samples[finite + i]) & kMagnitude) + kOne;
        if ((all & kSign) != 0) break;
    }
    for (size_t i = finite; i < samples.size(); ++i)
        if (!std::isfinite(samples[i]))
            throw Error(Code::invalid, "cannot transcribe: sample " + std::to_string(first + i) + " is no finite number");
}

void add_runs(std::vector<NetworkRuns>& into, const char* part, std::span<const StageRuns> stages) {
    for (const StageRuns& stage : stages) {
        const auto same = [&](const NetworkRuns& n) { return n.part == part && n.device == stage.device; };
        auto at = std::find_if(into.begin(), into.end(), same);
        if (at == into.end()) at = into.insert(at, {part, stage.device, 0, 0});
        at->runs += stage.runs;
        at->nodes += stage.runs * stage.nodes;
    }
}

Recognizer::Recognizer(std::vector<Device> devices, ModelFile file, DType compute, Head head, Lengths lengths, bool exact,
                       const Places& places)
    : devices_(std::move(devices)),
      layers_(places.layers),
      head_(head),
      lengths_(!devices_.empty() && devices_.front() ? lengths_on(devices_.front(), lengths) : lengths),
      weights_(std::make_shared<NetworkWeights>(std::move(file), compute)),
      packed_([weights = weights_](std::string_view name) { return weights->bytes(name); }, config().name),
      frames_(places.frames) {
    if (devices_.empty() || !devices_.front())
        throw Error(Code::invalid, "cannot transcribe: no device given; use Context::choose");
    const size_t layers = places.layers;
    const uint32_t rows = places.rows;
    if (layers == 0 || devices_.size() < layers)
        throw Error(Code::invalid, "cannot put the encoder's layers on " + std::to_string(layers) +
                                       " devices: " + std::to_string(devices_.size()) + " are given");
    if (rows > 1 && (layers > 1 || devices_.size() < rows))
        throw Error(Code::invalid,
                    "cannot put rows of the encoder's products on " + std::to_string(rows) + " devices: " +
                        (layers > 1 ? "its layers are placed" : std::to_string(devices_.size()) + " are given"));
    if (frames_ > 1 && (layers > 1 || rows > 1 || devices_.size() < frames_))
        throw Error(Code::invalid, "cannot put parts of the encoder's frames on " + std::to_string(frames_) + " devices: " +
                                       (devices_.size() < frames_ ? std::to_string(devices_.size()) + " are given"
                                                                  : "its layers or rows are placed"));
    if (places.decoder && *places.decoder >= devices_.size())
        throw Error(Code::invalid, "cannot put the decoder on device " + std::to_string(*places.decoder + 1) + " of " +
                                       std::to_string(devices_.size()) + " that are given");
    last_devices_ = runtime::with_first(devices_, places.decoder.value_or(layers - 1));
    if (head == Head::ctc ? !config().ctc : !config().transducer)
        throw Error(Code::unsupported, "'" + this->file().file() + "' has no " + (head == Head::ctc ? "CTC" : "transducer") +
                                           " decoder; leave the choice to the network");
    const auto in_blocks = [](const Tensor& tensor) { return is_block(tensor.dtype); };
    if (!exact && std::ranges::any_of(this->file().tensors(), in_blocks)) options_.compile.math = Math::relaxed;
    decoder_options_ = options_;
    options_.rows = rows;
    options_.shares = places.shares;
    for (int64_t layer = 0; layer < config().encoder.layers; ++layer) position_names_.push_back(positions_name(layer));
    const uint32_t parts = std::max(rows, frames_);
    for (uint32_t k = 0; k < parts && parts > 1; ++k)
        for (std::vector<std::string>& names = part_names_.emplace_back(); const std::string& name : position_names_)
            names.push_back(row_input(name, k, parts));
    for (uint32_t k = 0; k < frames_; ++k) audio_names_.push_back(row_input("audio", k, frames_));
}

double Recognizer::seconds_per_frame() const noexcept {
    const PreprocessorConfig& p = config().preprocessor;
    return static_cast<double>(p.hop_length * config().encoder.subsampling_factor) / static_cast<double>(p.sample_rate);
}

// One with a batch under way stays until that is finished. Where memory is counted the next finds there what it takes beside results.
void Recognizer::leave(const Sized& sized) {
    if (kept_ == 1) sized.encoder->settle();
    add_runs(ran_, "encoder", sized.encoder->runs());
}

// Of whole batches all sessions have the tables of the longest: those for a smaller reach go when it grows.
int64_t Recognizer::reach_for(const BatchShape& shape) {
    const int64_t encoded = encoded_frames(config().encoder, shape.frames);
    if (shape.apart || encoded <= reach_) return shape.apart ? reach_of(encoded) : reach_;
    reach_ = reach_of(encoded);
    std::erase_if(sessions_, [&](const Sized& sized) {
        if (!sized.shape.apart) leave(sized);
        return !sized.shape.apart;
    });
    std::erase_if(positions_, [](const Positions& positions) { return positions.apart == 0; });
    return reach_;
}

const Recognizer::Positions& Recognizer::positions_for(const BatchShape& shape) {
    const int64_t reach = reach_for(shape);
    const int64_t apart = shape.apart ? encoded_frames(config().encoder, shape.frames) : 0;
    const auto is = [&](const Positions& positions) { return positions.reach == reach && positions.apart == apart; };
    const bool counted = positions_budget_ != 0;  // there is room for those of one
    return recent(
        positions_, {1, counted}, is, [&] { return made_positions(reach, apart); }, [](const Positions&) {});
}

Recognizer::Positions Recognizer::made_positions(int64_t reach, int64_t apart) {
    // Their weights are wanted once: they are the session's own where memory is counted, and go with it.
    const Weights own([weights = weights_](std::string_view name) { return weights->bytes(name); }, config().name);
    SessionOptions once;
    once.plans_kept = 0;
    once.budget = positions_budget_;
    Positions made{reach, apart, {}};
    const size_t parts = std::max<size_t>(layers_, apart != 0 ? frames_ : options_.rows);
    for (uint32_t part = 0; part < parts; ++part) {
        const Graph graph = positions_graph(*weights_, reach, apart != 0 ? positions_shift(apart, part, frames_) : 0);
        Session session(runtime::with_first(devices_, part), graph, positions_budget_ != 0 ? own : packed_, once);
        std::vector<backplane::Tensor>& tables = made.tables.emplace_back(position_names_.size());
        std::vector<Output> outputs;
        for (size_t i = 0; i < tables.size(); ++i) outputs.emplace_back(position_names_[i], &tables[i]);
        session.run({}, outputs);
        add_runs(ran_, "positions", session.runs());
        for (const backplane::Tensor& table : tables) made.bytes += table.size();
    }
    return made;
}

// Weights and the tables of positions are all sessions'.
uint64_t Recognizer::session_bytes(const Graph& graph) const {
    uint64_t all = kNodeBytes * graph.nodes().size();
    for (const TensorInfo& tensor : graph.tensors()) {
        const bool table = std::find(position_names_.begin(), position_names_.end(), tensor.name) != position_names_.end();
        if (tensor.role != Role::temporary && tensor.role != Role::weight && !table)
            all += bytes(tensor.dtype, tensor.shape);
    }
    return all;
}

Graph Recognizer::encoder_graph(const BatchShape& shape, int64_t reach) const {
    NodeParts nobody;
    return encoder_graph(shape, reach, nobody);
}

Graph Recognizer::encoder_graph(const BatchShape& shape, int64_t reach, NodeParts& nodes) const {
    Graph graph;
    const std::vector<Features> features = add_front_end(graph, *weights_, shape, nodes);
    const Encoded encoded = add_encoder(graph, *weights_, shape, features, reach, nodes);
    if (head_ == Head::ctc)
        add_ctc(graph, *weights_, shape, encoded);
    else
        add_joint_frames(graph, *weights_, encoded);
    nodes.made(graph, 0);
    return graph;
}

std::unique_ptr<Pipeline> Recognizer::encoder_on(const BatchShape& shape, const Graph& graph, const NodeParts& nodes,
                                                 const SessionOptions& options) const {
    SessionOptions how = options;
    if (shape.apart) how.device_of = nodes.of;
    how.rounds = 0;
    auto encoder = std::make_unique<Pipeline>(devices_, layers_, graph, packed_, how);
    if (ahead_) encoder->hand_over_early();
    return encoder;
}

Recognizer::Sized& Recognizer::session_for(const BatchShape& shape) {
    const int64_t reach = reach_for(shape);
    const auto is = [&](const Sized& s) { return s.shape == shape; };
    const auto make = [&] {
        ++made_;
        NodeParts nodes;
        Graph graph = encoder_graph(shape, reach, nodes);
        std::shared_ptr<Pipeline> encoder = encoder_on(shape, graph, nodes, options_);
        weights_->let_go();
        const uint64_t bytes = session_bytes(graph);
        return Sized{shape, std::move(graph), std::move(encoder), bytes};
    };
    return recent(sessions_, {kept_, kept_ == 1}, is, make, [&](const Sized& s) { leave(s); });
}

Recognizer::Stepped& Recognizer::steps_for(const StepShape& shape) {
    const auto is = [&](const Stepped& s) { return s.shape == shape; };
    const auto make = [&] {
        ++made_;
        const Graph graph = steps_graph(*weights_, shape);
        Session session(last_devices_, graph, packed_, decoder_options_);
        weights_->let_go();
        return Stepped{shape, std::move(session), session_bytes(graph)};
    };
    return recent(stepped_, {kept_, kept_ == 1}, is, make,
                  [&](const Stepped& s) { add_runs(ran_, "decoder", s.session.runs()); });
}

void Recognizer::share(BatchShape& shape) const noexcept {
    shape.apart = frames_ > 1 && goes_in_parts(config().encoder, shape.frames, frames_);
    if (shape.apart) shape.parts = frames_;
    if (options_.rows > 1 && shape.frames % options_.rows == 0) shape.parts = options_.rows;
}

int64_t Recognizer::rounded(int64_t frames) const noexcept {
    if (lengths_ == Lengths::exact) return frames;
    return lengths_ == Lengths::finely ? rounded_frames(frames, 32, 32) : rounded_frames(frames, 64, 16);
}

Recognizer::Prepared Recognizer::prepare(std::span<const std::span<const float>> clips) {
    const PreprocessorConfig& p = config().preprocessor;
    Prepared batch;
    batch.shape.clips = static_cast<int64_t>(clips.size());
    for (const auto clip : clips) {
        const int64_t frames = static_cast<int64_t>(clip.size()) / p.hop_length;
        batch.shape.padded = batch.shape.padded || (batch.shape.frames != 0 && frames != batch.shape.frames);
        batch.shape.frames = std::max(batch.shape.frames, frames);
        batch.samples.push_back(static_cast<int32_t>(clip.size()));
        batch.encoded.push_back(static_cast<int32_t>(encoded_frames(config().encoder, frames)));
    }
    if (lengths_ != Lengths::exact) {
        batch.shape.frames = rounded(batch.shape.frames);
        batch.shape.padded = true;  // where nothing is, too: one session for all of these lengths
    }
    share(batch.shape);
    copy_sound(clips, batch);
    return batch;
}

// One thread moves a few GB a second, and a device waits meanwhile.
void Recognizer::copy_sound(std::span<const std::span<const float>> clips, Prepared& batch) {
    constexpr size_t kPiece = size_t{1} << 18, kMostThreads = 4;  // samples of a piece
    const std::vector<Stretch> stretches = sound_inputs(config().preprocessor, batch.shape);
    size_t all = 0;
    for (const Stretch& stretch : stretches) all += clips.size() * static_cast<size_t>(stretch.length);
    if (!spares_.empty()) {
        batch.audio = std::move(spares_.back());
        spares_.pop_back();
    }
    batch.audio.resize(all);
    std::vector<SoundCopy> copies;
    std::span<float> room(batch.audio);
    for (const Stretch& stretch : stretches)
        for (const auto clip : clips)
            for (size_t at = 0, length = static_cast<size_t>(stretch.length); at < length; at += kPiece) {
                const size_t count = std::min(kPiece, length - at);
                copies.push_back({clip, static_cast<size_t>(stretch.begin) + at, room.first(count)});
                room = room.subspan(count);
            }
    const size_t threads = std::min({kMostThreads, copies.size() / 2, size_t{std::thread::hardware_concurrency()}});
    if (threads < 2) {
        for (const SoundCopy& copy : copies) copy();
        return;
    }
    std::atomic<size_t> next{0};
    std::vector<std::exception_ptr> errors(copies.size());
    const auto body = [&] {
        for (size_t i = next++; i < copies.size(); i = next++) try {
                copies[i]();
            } catch (...) {
                errors[i] = std::current_exception();
            }
    };
    if (!hands_) hands_ = std::make_unique<base::Hands>();
    hands_->call(std::vector<std::function<void()>>(threads, body));
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

std::vector<Input> Recognizer::inputs_of(const Prepared& batch, const Positions& positions, const Pipeline& encoder) const {
    std::vector<Input> inputs{{"samples", bytes_of(batch.samples)}};
    size_t at = 0, part = 0;
    for (const Stretch& stretch : sound_inputs(config().preprocessor, batch.shape)) {
        const size_t size = batch.samples.size() * static_cast<size_t>(stretch.length) * sizeof(float);
        const std::string_view name = batch.shape.apart ? std::string_view(audio_names_[part]) : "audio";
        inputs.emplace_back(name, bytes_of(batch.audio).subspan(at, size));
        at += size;
        ++part;
    }
    const int64_t heads = config().encoder.heads / options_.rows;  // of a device
    for (size_t i = 0; i < position_names_.size(); ++i) {
        for (uint32_t k = 0; k < frames_ && batch.shape.apart; ++k)
            inputs.emplace_back(part_names_[k][i], positions.tables[k][i]);
        if (batch.shape.apart) continue;
        // Of rows, too, where the heads could not be shared out: blocks of weights that would be cut, as many heads as are no multiple of the devices.
        const bool whole = options_.rows == 1 || encoder.reads(position_names_[i]);
        if (whole)
            inputs.emplace_back(position_names_[i],
                                positions.tables[encoder.part_of(position_names_[i]) % positions.tables.size()][i]);
        for (uint32_t k = 0; k < options_.rows && !whole; ++k)
            inputs.emplace_back(part_names_[k][i], positions.tables[k][i].rows(k * heads, heads));
    }
    return inputs;
}

Recognizer::Batch Recognizer::start(std::span<const std::span<const float>> clips, const std::atomic<uint32_t>* cancel) {
    Batch batch;
    batch.clips_ = clips.size();
    batch.cancel_ = cancel;
    std::vector<std::span<const float>> heard;  // those that have a frame
    for (size_t i = 0; i < clips.size(); ++i) {
        if (static_cast<int64_t>(clips[i].size()) < config().preprocessor.hop_length) {
            check_finite(clips[i]);
            continue;
        }
        heard.push_back(clips[i]);
        batch.place_.push_back(i);
    }
    if (heard.empty()) return batch;
    batch.prepared_ = std::make_unique<Prepared>(prepare(heard));
    const Positions& positions = positions_for(batch.prepared_->shape);
    batch.encoder_ = session_for(batch.prepared_->shape).encoder;
    batch.started_ = std::chrono::steady_clock::now();
    batch.pass_ = batch.encoder_->start(inputs_of(*batch.prepared_, positions, *batch.encoder_), cancel);
    return batch;
}

// Whose fault it is that a network gives no numbers: that of the sound, or its own.
Error Recognizer::no_numbers_of(std::span<const float> sound) const {
    constexpr float kLoud = 1e6F;  // squares of what is as much louder again are no numbers of 32 bits
    float loudest = 0;
    for (const float sample : sound) loudest = std::max(loudest, std::abs(sample));
    if (loudest > kLoud) {
        std::ostringstream why;
        why << "cannot transcribe: the sound has samples of up to " << loudest << ", far beyond -1 to 1";
        return {Code::invalid, why.str()};
    }
    return {Code::corrupt, "'" + file().file() + "' gives numbers that are not finite: fetch or convert the network again"};
}

std::vector<std::vector<Token>> Recognizer::finish(Batch& batch) {
    std::vector<std::vector<Token>> all(batch.clips_);
    if (batch.place_.empty()) return all;
    std::vector<std::vector<Token>> tokens = head_ == Head::ctc ? finish_ctc(batch) : finish_steps(batch);
    for (size_t i = 0; i < batch.place_.size(); ++i) {
        if (!std::ranges::all_of(tokens[i], [](const Token& token) { return std::isfinite(token.confidence); }))
            throw no_numbers_of(spares_.back());
        all[batch.place_[i]] = std::move(tokens[i]);
    }
    return all;
}

std::vector<std::vector<Token>> Recognizer::run(std::span<const std::span<const float>> clips,
                                                const std::atomic<uint32_t>* cancel) {
    Batch batch = start(clips, cancel);
    return finish(batch);
}

void Recognizer::finish_pass(Batch& batch, std::span<const Output> outputs) {
    batch.encoder_->finish(batch.pass_, outputs);
    const double took = base::seconds_since(batch.started_);
    for (Sized& sized : sessions_)
        // Where others were under way beside it, or several devices worked on it, that says nothing of one.
        if (sized.encoder == batch.encoder_ && at_a_time() == 1 && options_.rows == 1 && frames_ == 1) sized.timed.add(took);
    if (spares_.size() >= at_a_time()) spares_.erase(spares_.begin());
    spares_.push_back(std::move(batch.prepared_->audio));
}

std::vector<std::vector<Token>> Recognizer::finish_ctc(Batch& under_way) {
    const Prepared& batch = *under_way.prepared_;
    const auto row = static_cast<size_t>(encoded_frames(config().encoder, batch.shape.frames));
    std::vector<int32_t> ids(row * batch.encoded.size());
    std::vector<float> confidence(ids.size());
    const std::vector<Output> outputs{{"ids", room_of(ids)}, {"confidence", room_of(confidence)}};
    finish_pass(under_way, outputs);
    std::vector<std::vector<Token>> all(batch.encoded.size());
    for (size_t clip = 0; clip < all.size(); ++clip)
        for (size_t t = 0; t < static_cast<size_t>(batch.encoded[clip]); ++t) {
            const size_t at = clip * row + t;
            const bool repeats = t > 0 && ids[at] == ids[at - 1];
            if (ids[at] == config().blank_id) {
                // Nothing, unless all of it is: what a network without finite numbers says.
                if (!std::isfinite(confidence[at])) all[clip].push_back({ids[at], 0, 1, confidence[at]});
                continue;
            }
            if (!repeats) {
                all[clip].push_back({ids[at], static_cast<int64_t>(t), 1, confidence[at]});
                continue;
            }
            Token& token = all[clip].back();
            ++token.duration;
            token.confidence = std::max(token.confidence, confidence[at]);
        }
    return all;
}

backplane::Tensor Recognizer::finish_joint(Batch& batch) {
    backplane::Tensor joint;
    const Output output("joint", &joint);
    finish_pass(batch, std::span(&output, 1));
    return joint;
}

std::vector<std::vector<Token>> Recognizer::finish_steps(Batch& under_way) {
    const Prepared& batch = *under_way.prepared_;
    const backplane::Tensor joint = finish_joint(under_way);
    const StepShape shape = steps_of(batch.shape);
    Stepped& steps = steps_for(shape);
    steps.session.reset_state();
    const std::vector<Input> inputs{{"joint", joint}, {"lengths", bytes_of(batch.encoded)}};
    const size_t clips = batch.encoded.size();
    // What came of each step, [steps, clips].
    std::vector<uint8_t> emits(static_cast<size_t>(shape.steps) * clips);
    std::vector<int32_t> ids(emits.size());
    std::vector<int32_t> frames(emits.size());
    std::vector<int32_t> durations(emits.size());
    std::vector<float> confidence(emits.size());
    int32_t left = 1;
    const std::vector<Output> outputs{
        {"emits", room_of(emits)},           {"tokens", room_of(ids)},
        {"frames", room_of(frames)},         {"durations", room_of(durations)},
        {"confidence", room_of(confidence)}, {"left", std::as_writable_bytes(std::span(&left, 1))}};
    std::vector<std::vector<Token>> all(clips);
    while (left > 0) {
        const auto start = std::chrono::steady_clock::now();
        steps.session.run(inputs, outputs, under_way.cancel_);
        steps.timed.add(base::seconds_since(start));
        for (size_t at = 0; at < emits.size(); ++at)
            if (emits[at] != 0) all[at % clips].push_back({ids[at], frames[at], durations[at], confidence[at]});
    }
    return all;
}

void Recognizer::encode(std::span<const std::span<const float>> clips, const std::atomic<uint32_t>* cancel,
                        std::vector<std::byte>* result) {
    Batch batch = start(clips, cancel);
    if (batch.place_.empty() || head_ == Head::ctc || result == nullptr) return finish_encoder(batch);
    const backplane::Tensor joint = finish_joint(batch);
    result->resize(joint.size());
    joint.read(*result);
}

void Recognizer::finish_encoder(Batch& batch) {
    if (batch.place_.empty()) return;
    if (head_ == Head::ctc) {
        static_cast<void>(finish_ctc(batch));
    } else {
        static_cast<void>(finish_joint(batch));
    }
}

std::vector<NetworkTimes> Recognizer::times() const {
    std::vector<NetworkTimes> all;
    for (const Sized& sized : sessions_)
        if (const Timed& t = sized.timed; t.runs != 0)
            all.push_back({"encoder", devices_.front().info().id, sized.graph, t.runs, t.seconds});
    for (const Stepped& stepped : stepped_)
        if (const Timed& t = stepped.timed; t.runs != 0)
            all.push_back({"decoder", last_devices_.front().info().id, stepped.session.graph(), t.runs, t.seconds});
    return all;
}

std::vector<PartTime> Recognizer::part_times(int64_t clips) const {
    std::vector<PartTime> most;
    for (const Sized& sized : sessions_)
        if (std::vector<PartTime> times = sized.encoder->times();
            !times.empty() && (clips == 0 || sized.shape.clips == clips) &&
            (most.empty() || times.front().passes > most.front().passes))
            most = std::move(times);
    return most;
}

std::vector<NetworkRuns> Recognizer::runs() const {
    std::vector<NetworkRuns> all = ran_;
    for (const Sized& sized : sessions_) add_runs(all, "encoder", sized.encoder->runs());
    for (const Stepped& stepped : stepped_) add_runs(all, "decoder", stepped.session.runs());
    return all;
}

std::string Recognizer::describe() const {
    std::string all;
    for (const Sized& sized : sessions_) {
        all += "encoder, " + std::to_string(sized.shape.clips) + " x " + std::to_string(sized.shape.frames) + " frames:\n" +
               sized.encoder->describe();
    }
    for (const Stepped& stepped : stepped_) {
        all += "decoder, " + std::to_string(stepped.shape.clips) + " x " + std::to_string(stepped.shape.frames) +
               " encoded frames:\n" + stepped.session.describe();
    }
    return all;
}

std::vector<std::string> Recognizer::notes() const {
    std::vector<std::string> all;
    const auto take = [&](const auto& session) {
        for (std::string& note : session.notes())
            if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(std::move(note));
    };
    for (const Sized& sized : sessions_) take(*sized.encoder);
    for (const Stepped& stepped : stepped_) take(stepped.session);
    return all;
}

}  // namespace backplane::parakeet
