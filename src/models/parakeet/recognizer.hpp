// Clips to tokens on a device: the sessions of a Parakeet network, made for each size of a batch and kept.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backplane/fit.hpp"
#include "backplane/pipeline.hpp"
#include "backplane/transcriber.hpp"
#include "base/hands.hpp"
#include "models/parakeet/decoders.hpp"

namespace backplane::parakeet {

struct Token {
    int32_t id = 0;
    int64_t frame = 0;     // encoded
    int64_t duration = 1;  // frames
    float confidence = 0;
};

enum class Head { ctc, transducer };

// Whether batches of nearby lengths share a session. A length of its own costs a plan, a shared one the work on what is padded.
enum class Lengths {
    by_device,  // finely on processors, where padding costs more, coarsely elsewhere
    exact,
    finely,    // rounded_frames(), of 32 and 32
    coarsely,  // of 64 and 16
};

// The least number of features' frames, `frames` or more, that rounded batches have: a multiple of `least` and, of `least` x `parts` frames or more, of
// the power of two below over `parts`. Of those less than one in `parts` is padding.
[[nodiscard]] int64_t rounded_frames(int64_t frames, int64_t least, int64_t parts) noexcept;

// Throws Error(invalid) for a sample that is no finite number; `first`: the number of the first.
void check_finite(std::span<const float> samples, uint64_t first = 0);

// What stages have run, added to what ran of that part of the network on their devices.
void add_runs(std::vector<NetworkRuns>& into, const char* part, std::span<const StageRuns> stages);

// Which of the devices do what; without more all is on the first.
struct Places {
    size_t layers =
        1;  // the first so many take a part of the encoder's layers each; what follows it is on the last of these
    std::vector<double> shares;     // of its work (SessionOptions::shares)
    uint32_t rows = 1;              // or the first so many have a part of its products' rows each (SessionOptions::rows)
    uint32_t frames = 1;            // or the first so many make a part of its frames each
    std::optional<size_t> decoder;  // what follows the encoder is on that one
};

class Recognizer {
public:
    static constexpr size_t kLeastSessions = 4;  // that are kept, however large

    // `exact`: Math::standard also where matrices are in blocks, of which activations may otherwise be rounded to bytes.
    // Throws Error: invalid (no device, fewer than `places` names), unsupported (a head that the file has not).
    Recognizer(std::vector<Device> devices, ModelFile file, DType compute, Head head, Lengths lengths = Lengths::by_device,
               bool exact = false, const Places& places = {});

    [[nodiscard]] const Config& config() const noexcept { return weights_->config(); }
    [[nodiscard]] const ModelFile& file() const noexcept { return weights_->file(); }
    [[nodiscard]] const Device& device() const noexcept { return devices_.front(); }
    [[nodiscard]] const std::vector<Device>& devices() const noexcept { return devices_; }
    [[nodiscard]] Head head() const noexcept { return head_; }
    [[nodiscard]] double seconds_per_frame() const noexcept;  // encoded

    // Ways to run batches of so many clips of at most so many samples, encoder and decoder beside each other, as fits() has them. Reads no weight.
    [[nodiscard]] std::vector<Fit> ways(int64_t clips, size_t samples, const FitOptions& options) const;
    // The encoder of such batches.
    [[nodiscard]] Graph encoder(int64_t clips, size_t samples) const;
    // How batches of so many clips of at most so many samples would run on the devices that take parts of the encoder: lines, as describe() has them, and
    // {"components": [...]}: the plan of each session with its "name", of layers on several devices also "part", from 1, and "parts". Reads no weight.
    struct Shown {
        std::string text, json;
    };
    [[nodiscard]] Shown plan(int64_t clips, size_t samples) const;
    // From now on it is run that way: with the same weights on the device for batches of all sizes, those up to that one taking no more than it says.
    // Of each of encoder and decoder one session is kept. Before the first batch.
    void keep_to(const Fit& way, int64_t clips, size_t samples);

    // Tokens of each clip, in order of time; of a clip shorter than a frame none. Throws Error: invalid for samples that are no finite numbers, what
    // Session::run throws, and corrupt where the network's numbers are none.
    std::vector<std::vector<Token>> run(std::span<const std::span<const float>> clips, const std::atomic<uint32_t>* cancel);

    // The encoder's part alone, for measurements: as run() without what follows it on the host. `result`: of a transducer, what the decoder gets.
    void encode(std::span<const std::span<const float>> clips, const std::atomic<uint32_t>* cancel,
                std::vector<std::byte>* result = nullptr);
    // A batch under way: what run() does, in two halves. With at_a_time() batches started before the first is finished, all devices work.
    // The clips may go after start(); a batch goes before its Recognizer. Of weights that are streamed over a bus two are started: the second begins
    // when the first ends.
    class Batch;
    [[nodiscard]] Batch start(std::span<const std::span<const float>> clips, const std::atomic<uint32_t>* cancel);
    std::vector<std::vector<Token>> finish(Batch& batch);
    [[nodiscard]] size_t at_a_time() const noexcept { return layers_ > 1 ? layers_ + 1 : ahead_ ? 2 : 1; }

    // As finish(), without what follows the encoder on the host.
    void finish_encoder(Batch& batch);

    [[nodiscard]] std::string describe() const;
    [[nodiscard]] std::vector<std::string> notes() const;
    [[nodiscard]] std::vector<NetworkRuns> runs() const;    // as Transcriber has it
    [[nodiscard]] std::vector<NetworkTimes> times() const;  // likewise
    // Of batches of so many clips; 0: of those of which there were most.
    [[nodiscard]] std::vector<PartTime> part_times(int64_t clips = 0) const;
    // Of encoder and decoder: made so far, and kept now. Those used last are kept, four at least, more of them within 64 MiB each for encoder and
    // decoder, as estimated from their nodes and from what goes in and out.
    [[nodiscard]] uint64_t sessions_made() const noexcept { return made_; }
    [[nodiscard]] size_t sessions_kept() const noexcept { return sessions_.size() + stepped_.size(); }

private:
    struct Timed {
        uint64_t runs = 0;
        double seconds = 0;  // from start to end, the shortest of these
        void add(double took) noexcept { seconds = runs++ == 0 ? took : std::min(seconds, took); }
    };
    struct Sized {
        BatchShape shape;
        Graph graph;
        std::shared_ptr<Pipeline> encoder;
        uint64_t bytes = 0;
        Timed timed{};
    };
    struct Stepped {
        StepShape shape;
        Session session;
        uint64_t bytes = 0;
        Timed timed{};
    };
    struct Positions {
        int64_t reach = 0;
        int64_t apart = 0;  // encoded frames whose parts these are for; 0: for whole batches
        std::vector<std::vector<backplane::Tensor>> tables;  // by device, of each layer
        uint64_t bytes = 0;
    };
    struct Prepared {  // a batch as the graph takes it
        BatchShape shape;
        std::vector<float> audio;               // of each part that is given apart, one behind the other
        std::vector<int32_t> samples, encoded;  // of each clip
    };

    [[nodiscard]] int64_t rounded(int64_t frames) const noexcept;
    void share(BatchShape& shape) const noexcept;  // among devices that work on each batch together
    [[nodiscard]] Graph encoder_graph(const BatchShape& shape, int64_t reach) const;
    [[nodiscard]] Graph encoder_graph(const BatchShape& shape, int64_t reach, NodeParts& nodes) const;
    [[nodiscard]] std::unique_ptr<Pipeline> encoder_on(const BatchShape& shape, const Graph& graph, const NodeParts& nodes,
                                                       const SessionOptions& options) const;
    [[nodiscard]] BatchShape longest(int64_t clips, size_t samples) const;
    [[nodiscard]] bool ahead_on(const Device& device) const;
    [[nodiscard]] StepShape steps_of(const BatchShape& shape) const;
    [[nodiscard]] std::vector<Fit> ways_on(const Device& device, const BatchShape& shape, const FitOptions& options) const;
    [[nodiscard]] Prepared prepare(std::span<const std::span<const float>> clips);
    void copy_sound(std::span<const std::span<const float>> clips, Prepared& batch);
    void finish_pass(Batch& batch, std::span<const Output> outputs);
    [[nodiscard]] Error no_numbers_of(std::span<const float> sound) const;
    void leave(const Sized& sized);
    Sized& session_for(const BatchShape& shape);
    Stepped& steps_for(const StepShape& shape);
    [[nodiscard]] uint64_t session_bytes(const Graph& graph) const;
    [[nodiscard]] int64_t reach_for(const BatchShape& shape);
    const Positions& positions_for(const BatchShape& shape);
    [[nodiscard]] Positions made_positions(int64_t reach, int64_t apart);
    [[nodiscard]] std::vector<Input> inputs_of(const Prepared& batch, const Positions& positions,
                                               const Pipeline& encoder) const;
    std::vector<std::vector<Token>> finish_ctc(Batch& batch);
    std::vector<std::vector<Token>> finish_steps(Batch& batch);
    [[nodiscard]] backplane::Tensor finish_joint(Batch& batch);

    std::vector<Device> devices_;
    size_t layers_;
    std::vector<Device> last_devices_;  // the one with the encoder's last layers first
    Head head_;
    Lengths lengths_;
    SessionOptions options_, decoder_options_;
    size_t kept_ = kLeastSessions;   // of encoder and decoder each, at least
    bool ahead_ = false;             // the encoder's next batch is handed over while it is at work on one
    uint64_t positions_budget_ = 0;  // bytes while tables of positions are made; 0: what there is
    uint64_t made_ = 0;
    std::shared_ptr<NetworkWeights> weights_;
    Weights packed_;
    int64_t reach_ = 0;  // of the tables for whole batches
    uint32_t frames_;    // so many devices make a part of the frames each
    std::vector<std::string> position_names_;
    std::vector<std::string> audio_names_;              // of parts of the frames
    std::vector<std::vector<std::string>> part_names_;  // the same by device, where these have rows, or frames
    std::list<Positions> positions_;                    // the one used last comes first
    std::list<Sized> sessions_;                         // likewise
    std::list<Stepped> stepped_;
    std::vector<NetworkRuns> ran_;        // by sessions that are gone
    std::unique_ptr<base::Hands> hands_;  // once much sound was copied
    // The sound of batches that are done, the last one last, as room for others: new memory costs more than filling it.
    std::vector<std::vector<float>> spares_;
};

class Recognizer::Batch {
public:
    [[nodiscard]] const std::atomic<uint32_t>* cancel() const noexcept { return cancel_; }

private:
    friend class Recognizer;
    size_t clips_ = 0;
    std::vector<size_t> place_;  // of clips that have a frame
    std::unique_ptr<Prepared> prepared_;
    std::shared_ptr<Pipeline> encoder_;
    const std::atomic<uint32_t>* cancel_ = nullptr;
    std::chrono::steady_clock::time_point started_;
    Pipeline::Pass pass_;  // the last member: it reads what is prepared, by the encoder
};

}  // namespace backplane::parakeet
