#include "cli/live_speech.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>

#include "backplane/error.hpp"
#include "base/terminal.hpp"
#include "cli/output.hpp"
#include "cli/transcript_text.hpp"

namespace backplane::cli {

namespace {

constexpr size_t kChunkHeader = 8, kFormat = 16;

// Of a file whose first bytes these are; of fewer than asked for there is none.
std::string_view text_at(std::span<const std::byte> bytes, size_t at, size_t count) {
    if (bytes.size() < count || at > bytes.size() - count) return {};
    return {reinterpret_cast<const char*>(bytes.data()) + at, count};
}

uint32_t number_at(std::span<const std::byte> bytes, size_t at, size_t count) {
    uint32_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
    return value;
}

[[noreturn]] void refuse(const std::string& what, int64_t rate) {
    throw Error(Code::invalid, "the input stream is " + what + ", and --live takes samples of 16 bit, one channel, " +
                                   std::to_string(rate) + " Hz: leave --live out");
}

// Where in the first bytes of a WAV file its samples begin.
size_t samples_of_wav(std::span<const std::byte> bytes, int64_t rate) {
    constexpr size_t kStart = 12;
    for (size_t at = kStart; bytes.size() - at >= kChunkHeader;) {
        const std::string_view name = text_at(bytes, at, 4);
        const size_t size = number_at(bytes, at + 4, 4);
        at += kChunkHeader;
        if (name == "data") return at;
        if (size > bytes.size() - at) break;
        if (name == "fmt " && size >= kFormat) {
            const uint32_t kind = number_at(bytes, at, 2), channels = number_at(bytes, at + 2, 2);
            const uint32_t hertz = number_at(bytes, at + 4, 4), bits = number_at(bytes, at + 14, 2);
            constexpr uint32_t kPcm = 1, kExtensible = 0xFFFE;
            if ((kind != kPcm && kind != kExtensible) || channels != 1 || bits != 16 || hertz != rate)
                refuse("a WAV file of kind " + std::to_string(kind) + " with " + std::to_string(bits) + " bit, " +
                           std::to_string(channels) + (channels == 1 ? " channel, " : " channels, ") +
                           std::to_string(hertz) + " Hz",
                       rate);
        }
        at += std::min(bytes.size() - at, size + size % 2);
    }
    refuse("a WAV file whose samples are not found", rate);
}

// How many of the first bytes are no samples.
size_t before_samples(std::span<const std::byte> bytes, int64_t rate) {
    if (text_at(bytes, 0, 4) == "RIFF" && text_at(bytes, 8, 4) == "WAVE") return samples_of_wav(bytes, rate);
    constexpr std::array<std::array<std::string_view, 2>, 6> kKinds{{{"fLaC", "a FLAC file"},
                                                                     {"OggS", "an Ogg file"},
                                                                     {"FORM", "an AIFF file"},
                                                                     {"RF64", "an RF64 file"},
                                                                     {"ID3\3", "an MP3 file"},
                                                                     {"ID3\4", "an MP3 file"}}};
    for (const auto& [start, kind] : kKinds)
        if (text_at(bytes, 0, start.size()) == start) refuse(std::string(kind), rate);
    return 0;
}

void show(const StreamedLine& line, bool json) {
    if (json) {
        Json report = transcript_json(line.said);
        report["final"] = line.final;
        print(report);
    } else {
        out("{} {}{}\n", Safe{"[" + fixed(line.said.words.front().start, 2).text + "]"}, line.said.text,
            line.final ? "" : " ...");
    }
    static_cast<void>(base::flush_output());
}

}  // namespace

void transcribe_live(Run& run, Transcriber& transcriber) {
    TranscriptStream lines = transcriber.stream();
    std::vector<std::byte> bytes(static_cast<size_t>(transcriber.sample_rate()) / 10 * 2);
    std::vector<float> samples;
    size_t odd = 0;  // bytes of a sample that is not whole yet
    bool first = true, heard = false;
    const auto show_all = [&](const std::vector<StreamedLine>& said) {
        for (const StreamedLine& line : said) show(line, run.json);
        heard = heard || !said.empty();
    };
    for (; run.interrupted.load() == 0; first = false) {
        const size_t got = std::fread(bytes.data() + odd, 1, bytes.size() - odd, stdin);
        if (got == 0) break;
        std::span<const std::byte> held(bytes.data(), odd + got);
        if (first) held = held.subspan(before_samples(held, transcriber.sample_rate()));
        samples.resize(held.size() / 2);
        for (size_t i = 0; i < samples.size(); ++i)
            samples[i] = static_cast<float>(static_cast<int16_t>(number_at(held, 2 * i, 2))) / 32768.0F;
        odd = held.size() % 2;
        if (odd != 0) bytes[0] = held.back();
        show_all(lines.feed(samples));
    }
    show_all(lines.finish());
    if (run.interrupted.load() != 0) throw Error(Code::cancelled, "cancelled");
    if (first) throw Error(Code::invalid, "cannot transcribe the input stream: it is empty");
    if (!heard) err("note: no word was heard in the input stream\n");
}

}  // namespace backplane::cli
