// Speech to text with Parakeet networks (FastConformer with CTC, RNN-T or TDT), from the files that NVIDIA's networks are published in.
//
//   Transcriber transcriber(context.choose_with_fallback(), "parakeet.gguf");
//   const Transcript said = transcriber.transcribe(samples);              // mono, 16 kHz, -1 to 1
//   for (const Word& word : said.words) print(word.start, word.text);
//
// Papers: FastConformer (arXiv:2305.05084), RNN-T (arXiv:1211.3711), TDT (arXiv:2304.06795). Files: docs/formats.md; use: docs/transcribe.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/error.hpp"
#include "backplane/pipeline.hpp"
#include "backplane/runtime.hpp"

namespace backplane {

// Times are in seconds from the first sample.
struct Word {
    std::string text;
    double start = 0, end = 0;
    double confidence = 0;  // 0 to 1: the mean probability of its pieces
};
struct Transcript {
    std::string text;  // words with a space between
    std::vector<Word> words;
    double seconds = 0;  // of audio
};

enum class SpeechDecoder { automatic, ctc, rnnt, tdt };  // automatic: tdt or rnnt where the network has it, else ctc

struct TranscriberOptions {
    SpeechDecoder decoder = SpeechDecoder::automatic;
    // Of what is said: "auto", or a code of BCP 47 ("de", "en-GB") for a network that takes one. No Parakeet does: those of one language know it,
    // those of several hear it. Error(unsupported) then, invalid for what is no code.
    std::string language = "auto";
    // Of feature maps: f32, with matrices in the type that the file has them in, or f16 for both.
    DType dtype = DType::f32;
    // Seconds of audio that the network sees at once; longer audio is cut where it is quiet. 5 to 1200.
    double window = 30;
    int64_t batch = 0;  // windows at once; 0: one on a CPU, eight elsewhere
    // The first so many devices take a part of the encoder's layers each and work on different batches at a time (pipeline.hpp); the decoder is on
    // the last of them. For networks that one device has no room for: batches shared out among devices that hold all of it need no cut.
    size_t layers = 1;
    // Or the first so many devices have a part of the rows of the encoder's products each and work on each batch together (SessionOptions::rows); the
    // decoder is on the first. Likewise without a budget.
    uint32_t rows = 1;
    // Or the first so many have all of its weights and make a part of each batch's frames each (SessionOptions::device_of): what crosses is keys and values
    // of each layer. For long windows on devices of like speed whose links are fast; a batch too short for that is the first one's.
    uint32_t frames = 1;
    // Of `layers` devices, how much of the encoder's work each has (SessionOptions::shares); empty: as much as the others.
    std::vector<double> shares = {};
    // The decoder is on the device of this number among those given, from 0; none: where the encoder ends.
    std::optional<size_t> decoder_device = {};
    // Beside matrices in blocks (q8_0 ...) activations may be rounded to bytes (Math::relaxed), which on CPUs makes the encoder twice as fast;
    // true: they are not.
    bool exact = false;
    // What finds the pauses that long audio is cut in and that end the lines of streams: "auto": Silero VAD, where its silero-vad.onnx lies beside
    // the network's file or in its folder, else the energy of samples; "never": energy; or the path, UTF-8, of silero_vad_v5.onnx or v6. With Silero
    // VAD, what has no speech for three seconds is left out of audio that is longer than a window. Runs on a CPU among the devices, else on the first.
    std::string vad = "auto";
    // Bytes of the first device that all of it may take; 0: what there is, where that is the device's own and not the host's. Where it is too little
    // for all weights beside `batch` windows of `window` seconds there are fewer at once, then windows of 20, 15 and 10 seconds, then weights are
    // streamed: decided when this is made, before a weight is read, and kept for all windows and clips (fit.hpp). notes() says so.
    // Error(no_device_memory): not even that fits into `memory`; it says what would.
    uint64_t memory = 0;
    // f16 may be taken in place of f32: where all weights have room in it and in f32 have not, and where that does streamed and f32 does not. notes() says so.
    bool may_halve = false;
    Streaming streaming = Streaming::automatic;  // always: weights are streamed, also where they have room
};

// Gives the next samples: as many as it wrote; 0: that was all.
using SampleSource = std::function<size_t(std::span<float>)>;

struct TranscribeHooks {
    std::function<void(double seconds)> progress;   // of audio that is done
    const std::atomic<uint32_t>* cancel = nullptr;  // not 0: the call throws Error(cancelled)
};

// Many clips, as they are asked for, and what becomes of each. Clips are numbered from 0 in the order in which `next` gave them.
struct ClipQueue {
    // The samples of the next clip; nothing: that was the last. This and the sources it gives are called one at a time, ahead of what the device
    // does and on another thread than the other functions. An Error that either throws is that clip's, and others go on; but one that says cancelled
    // ends the call, and so does what is no Error.
    std::function<std::optional<SampleSource>()> next;
    // A clip as soon as it is done, which need not be in order; on the thread that called.
    std::function<void(size_t clip, Transcript said)> done;
    std::function<void(size_t clip, const Error& error)> failed;  // likewise
};

// What a device has run of a part of the network: counted by what hands the work over, when the device has taken it.
struct NetworkRuns {
    std::string
        part;  // "encoder" (with what makes features of audio), "decoder", "positions" (their tables, once for a length), "pauses"
    std::string device;  // id, "cpu:0"
    uint64_t runs = 0;   // of stages of a plan
    uint64_t nodes = 0;  // of graphs, in these runs
};

// A size of a part of the network that ran, for CostModel::learn().
struct NetworkTimes {
    std::string part;    // "encoder"
    std::string device;  // id
    Graph graph;
    uint64_t runs = 0;
    double seconds = 0;  // of a batch from its start to its end, the shortest of these runs
};

class TranscriptStream;

// One network on one device, with what stands in for it. Different objects may be used from different threads; of one object one thread
// at a time.
class Transcriber {
public:
    // Devices best first: those behind the first do what it does not support, and what remains when it is lost. Reads a GGUF file, a
    // folder of transformers, or such a folder by its model.safetensors.
    // Throws Error: not_found, denied, corrupt, unsupported (the file; a decoder that the network has not), invalid (no device, an
    // option out of range).
    Transcriber(std::vector<Device> devices, const std::filesystem::path& model, const TranscriberOptions& options = {});
    ~Transcriber();
    Transcriber(Transcriber&&) noexcept;
    Transcriber& operator=(Transcriber&&) noexcept;

    [[nodiscard]] const std::string& name() const noexcept;  // of the network
    [[nodiscard]] int64_t sample_rate() const noexcept;      // that it takes; 16000
    [[nodiscard]] SpeechDecoder decoder() const noexcept;    // ctc, rnnt or tdt
    [[nodiscard]] const Device& device() const noexcept;
    [[nodiscard]] std::string pauses_by() const;  // "silero-vad" or "energy"
    [[nodiscard]] std::string describe()
        const;  // what finds pauses, and the plans of the sizes met last: stages, devices, bytes; lines
    // What is not where it was wanted, and why: a sentence each.
    [[nodiscard]] std::vector<std::string> notes() const;
    [[nodiscard]] std::vector<NetworkRuns> runs() const;  // what ran where so far
    // Of the sizes of encoder and decoder that are kept; none of an encoder of which several devices have a part: that says nothing of one of them.
    [[nodiscard]] std::vector<NetworkTimes> times() const;
    // Of an encoder of whose layers several devices have a part, those parts, of the size that ran most often.
    [[nodiscard]] std::vector<PartTime> part_times() const;

    // Mono samples of sample_rate(), -1 to 1, any number. Throws Error: invalid (a sample that is no finite number), cancelled, what Session::run
    // throws.
    [[nodiscard]] Transcript transcribe(std::span<const float> samples, const TranscribeHooks& hooks = {});
    // Of any length in bounded memory: a few windows of samples are there at a time.
    [[nodiscard]] Transcript transcribe(const SampleSource& samples, const TranscribeHooks& hooks = {});
    // Several clips, as many at once as `batch` says, of like length together; their transcripts are in this order.
    [[nodiscard]] std::vector<Transcript> transcribe(std::span<const std::span<const float>> clips,
                                                     const TranscribeHooks& hooks = {});
    // Any number of clips, in the memory of some windows: those of like length, of whichever clips, go to the device together. What cannot run in a
    // batch is tried alone before its clip has failed. Throws what the functions of `clips` throw, and cancelled; clips that are done remain done.
    void transcribe(const ClipQueue& clips, const TranscribeHooks& hooks = {});
    // Speech as it comes. The stream uses this object, which outlives it.
    [[nodiscard]] TranscriptStream stream();

private:
    friend class TranscriptStream;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// A line of a stream: partial until there is a pause, or no more room in the window.
struct StreamedLine {
    Transcript said;  // times from the first sample of the stream
    bool final = false;
};

class TranscriptStream {
public:
    ~TranscriptStream();
    TranscriptStream(TranscriptStream&&) noexcept;
    TranscriptStream& operator=(TranscriptStream&&) noexcept;
    // Takes samples of any number. Gives the lines that became final, and the partial one where there is news of it. Throws as transcribe():
    // where a sample is no finite number none is taken; else all are, and what they say, and lines that were done by then, come with the next call.
    std::vector<StreamedLine> feed(std::span<const float> samples, const std::atomic<uint32_t>* cancel = nullptr);
    // What is left is final; the stream begins anew, unless it throws.
    std::vector<StreamedLine> finish(const std::atomic<uint32_t>* cancel = nullptr);

private:
    friend class Transcriber;
    struct Impl;
    explicit TranscriptStream(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
