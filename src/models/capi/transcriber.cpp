#include "backplane/transcriber.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "backplane/audio.hpp"
#include "backplane/transcriber.hpp"
#include "base/file.hpp"
#include "capi/handles.hpp"

using backplane::AudioReader;
using backplane::Code;
using backplane::Device;
using backplane::DType;
using backplane::Error;
using backplane::SpeechDecoder;
using backplane::StreamedLine;
using backplane::TranscribeHooks;
using backplane::Transcriber;
using backplane::TranscriberOptions;
using backplane::Transcript;
using backplane::TranscriptStream;
using backplane::Word;
using backplane::capi::cancel_of;
using backplane::capi::give_text;
using backplane::capi::guarded;
using backplane::capi::put;
using backplane::capi::read_record;
using backplane::capi::record_at;
using backplane::capi::require;
using backplane::capi::write_record;

struct backplane_transcriber {
    std::shared_ptr<Transcriber> transcriber;  // streams keep it, too
    std::string why;
};
struct backplane_transcript {
    Transcript said;
};
struct backplane_transcript_stream {
    std::shared_ptr<Transcriber> transcriber;
    TranscriptStream stream;
    std::deque<StreamedLine> lines;
};

namespace {

TranscriberOptions options_from(const backplane_transcriber_options* given) {
    TranscriberOptions options;
    if (given == nullptr) return options;
    const backplane_transcriber_options o = read_record(given);
    if (o.decoder > BACKPLANE_DECODER_TDT)
        throw Error(Code::invalid, "decoder is " + std::to_string(o.decoder) +
                                       ": it takes 0 (the network's), 1 (ctc), 2 (rnnt) or 3 (tdt)");
    constexpr SpeechDecoder kDecoders[] = {SpeechDecoder::automatic, SpeechDecoder::ctc, SpeechDecoder::rnnt,
                                           SpeechDecoder::tdt};
    options.decoder = kDecoders[o.decoder];
    if (o.dtype != 0) options.dtype = static_cast<DType>(o.dtype);
    if (o.window != 0) options.window = o.window;
    options.batch = o.batch;
    options.exact = o.exact != 0;
    if (o.vad != nullptr) options.vad = o.vad;
    options.memory = o.memory;
    if (o.streaming > BACKPLANE_STREAMING_ALWAYS)
        throw Error(Code::invalid, "streaming is " + std::to_string(o.streaming) +
                                       ": it takes 0 (where there is no room), 1 (never) or 2 (always)");
    constexpr backplane::Streaming kStreaming[] = {backplane::Streaming::automatic, backplane::Streaming::never,
                                                   backplane::Streaming::always};
    options.streaming = kStreaming[o.streaming];
    return options;
}

uint32_t number_of(SpeechDecoder decoder) {
    if (decoder == SpeechDecoder::ctc) return BACKPLANE_DECODER_CTC;
    return decoder == SpeechDecoder::rnnt ? BACKPLANE_DECODER_RNNT : BACKPLANE_DECODER_TDT;
}

backplane_transcriber* made(std::vector<Device> devices, const char* model, const backplane_transcriber_options* options,
                            std::string why) {
    return new backplane_transcriber{
        std::make_shared<Transcriber>(std::move(devices), backplane::base::path_of(model), options_from(options)),
        std::move(why)};
}

std::span<const float> samples_at(const float* samples, uint64_t count) {
    if (count > 0) require(samples, "samples");
    return {samples, static_cast<size_t>(count)};
}

TranscribeHooks hooks_of(const volatile uint32_t* cancel) {
    TranscribeHooks hooks;
    hooks.cancel = cancel_of(cancel);
    return hooks;
}

void take(backplane_transcript_stream& stream, std::vector<StreamedLine> lines) {
    std::move(lines.begin(), lines.end(), std::back_inserter(stream.lines));
}

}  // namespace

extern "C" {

bp_code backplane_transcriber_create(backplane_context* context, const char* filter, const char* model,
                                     const backplane_transcriber_options* options, backplane_transcriber** out,
                                     bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(model, "model");
        require(out, "out");
        *out = nullptr;
        std::vector<Device> devices = context->context.choose_with_fallback(filter != nullptr ? filter : "");
        *out = made(std::move(devices), model, options, context->context.why());
    });
}

bp_code backplane_transcriber_create_on(backplane_device* const* devices, uint32_t device_count, const char* model,
                                        const backplane_transcriber_options* options, backplane_transcriber** out,
                                        bp_error* error) {
    return guarded(error, [&] {
        require(model, "model");
        require(out, "out");
        *out = nullptr;
        *out = made(backplane::capi::devices_from(devices, device_count), model, options, "");
    });
}

void backplane_transcriber_destroy(backplane_transcriber* transcriber) { delete transcriber; }

bp_code backplane_transcriber_get_info(backplane_transcriber* transcriber, backplane_transcriber_info* info,
                                       bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        require(info, "info");
        const Transcriber& t = *transcriber->transcriber;
        backplane_transcriber_info mine{};
        mine.decoder = number_of(t.decoder());
        mine.sample_rate = t.sample_rate();
        put(mine.name, t.name());
        put(mine.device, t.device().info().id);
        put(mine.device_name, t.device().info().name);
        put(mine.why, transcriber->why);
        put(mine.pauses_by, t.pauses_by());
        write_record(mine, info, BP_SIZE(backplane_transcriber_info, sample_rate), "backplane_transcriber_info");
    });
}

bp_code backplane_transcriber_plan(backplane_transcriber* transcriber, char* text, size_t capacity, size_t* size,
                                   bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        give_text(transcriber->transcriber->describe(), text, capacity, size, "text");
    });
}

bp_code backplane_transcriber_notes(backplane_transcriber* transcriber, char* text, size_t capacity, size_t* size,
                                    bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        std::string lines;
        for (const std::string& note : transcriber->transcriber->notes()) lines += note + "\n";
        give_text(lines, text, capacity, size, "text");
    });
}

bp_code backplane_transcriber_run(backplane_transcriber* transcriber, const float* samples, uint64_t count,
                                  const volatile uint32_t* cancel, backplane_transcript** out, bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_transcript{transcriber->transcriber->transcribe(samples_at(samples, count), hooks_of(cancel))};
    });
}

bp_code backplane_transcriber_run_file(backplane_transcriber* transcriber, const char* path, const volatile uint32_t* cancel,
                                       backplane_transcript** out, bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        require(path, "path");
        require(out, "out");
        *out = nullptr;
        Transcriber& t = *transcriber->transcriber;
        const auto audio = AudioReader::open(backplane::base::path_of(path), t.sample_rate());
        *out = new backplane_transcript{
            t.transcribe([&audio](std::span<float> into) { return audio->read(into); }, hooks_of(cancel))};
    });
}

bp_code backplane_transcriber_run_source(backplane_transcriber* transcriber, backplane_sample_source source, void* arg,
                                         const volatile uint32_t* cancel, backplane_transcript** out, bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        require(reinterpret_cast<const void*>(source), "source");
        require(out, "out");
        *out = nullptr;
        const backplane::SampleSource samples = [source, arg](std::span<float> into) {
            const uint64_t n = source(arg, into.data(), into.size());
            if (n > into.size())
                throw Error(Code::invalid, "the source of samples says that it wrote " + std::to_string(n) +
                                               " where there was room for " + std::to_string(into.size()));
            return static_cast<size_t>(n);
        };
        *out = new backplane_transcript{transcriber->transcriber->transcribe(samples, hooks_of(cancel))};
    });
}

bp_code backplane_transcriber_run_clips(backplane_transcriber* transcriber, const backplane_clip* clips, uint32_t clip_count,
                                        const volatile uint32_t* cancel, backplane_transcript** out, bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        if (clip_count == 0) return;
        require(clips, "clips");
        require(out, "out");
        std::fill_n(out, clip_count, nullptr);
        std::vector<std::span<const float>> spans;
        for (const backplane_clip& clip : std::span(clips, clip_count))
            spans.push_back(samples_at(clip.samples, clip.count));
        std::vector<Transcript> said = transcriber->transcriber->transcribe(spans, hooks_of(cancel));
        std::vector<std::unique_ptr<backplane_transcript>> all;
        for (Transcript& one : said)
            all.push_back(std::make_unique<backplane_transcript>(backplane_transcript{std::move(one)}));
        for (size_t i = 0; i < all.size(); ++i) out[i] = all[i].release();
    });
}

const char* backplane_transcript_text(const backplane_transcript* transcript) {
    return transcript != nullptr ? transcript->said.text.c_str() : "";
}

double backplane_transcript_seconds(const backplane_transcript* transcript) {
    return transcript != nullptr ? transcript->said.seconds : 0;
}

bp_code backplane_transcript_words(const backplane_transcript* transcript, backplane_word* words, uint32_t capacity,
                                   uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(transcript, "transcript");
        require(count, "count");
        if (capacity > 0) require(words, "words");
        const std::vector<Word>& all = transcript->said.words;
        *count = static_cast<uint32_t>(all.size());
        for (size_t i = 0; i < std::min<size_t>(capacity, all.size()); ++i) {
            backplane_word word{};
            word.text = all[i].text.c_str();
            word.start = all[i].start;
            word.end = all[i].end;
            word.confidence = all[i].confidence;
            write_record(word, record_at(words, i), BP_SIZE(backplane_word, text), "backplane_word");
        }
    });
}

void backplane_transcript_destroy(backplane_transcript* transcript) { delete transcript; }

bp_code backplane_transcript_stream_create(backplane_transcriber* transcriber, backplane_transcript_stream** out,
                                           bp_error* error) {
    return guarded(error, [&] {
        require(transcriber, "transcriber");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_transcript_stream{transcriber->transcriber, transcriber->transcriber->stream(), {}};
    });
}

void backplane_transcript_stream_destroy(backplane_transcript_stream* stream) { delete stream; }

bp_code backplane_transcript_stream_feed(backplane_transcript_stream* stream, const float* samples, uint64_t count,
                                         const volatile uint32_t* cancel, bp_error* error) {
    return guarded(error, [&] {
        require(stream, "stream");
        take(*stream, stream->stream.feed(samples_at(samples, count), cancel_of(cancel)));
    });
}

bp_code backplane_transcript_stream_finish(backplane_transcript_stream* stream, const volatile uint32_t* cancel,
                                           bp_error* error) {
    return guarded(error, [&] {
        require(stream, "stream");
        take(*stream, stream->stream.finish(cancel_of(cancel)));
    });
}

bp_code backplane_transcript_stream_next(backplane_transcript_stream* stream, backplane_transcript** out, uint32_t* is_final,
                                         bp_error* error) {
    return guarded(error, [&] {
        require(stream, "stream");
        require(out, "out");
        *out = nullptr;
        if (is_final != nullptr) *is_final = 0;
        if (stream->lines.empty()) return;
        StreamedLine& line = stream->lines.front();
        if (is_final != nullptr) *is_final = line.final ? 1 : 0;
        *out = new backplane_transcript{std::move(line.said)};
        stream->lines.pop_front();
    });
}

}  // extern "C"
