#include "backplane/audio.hpp"

#include <samplerate.h>
#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/peeked_input.hpp"
#include "formats/audio/lengths.hpp"
#include "formats/audio/sound_source.hpp"
#include "gguf/mapped_file.hpp"

namespace backplane {

namespace {

constexpr int64_t kLeastRate = 1000;
constexpr int64_t kMostRate = 768000;
constexpr int64_t kMostChannels = 256;
constexpr size_t kFrames = 16384;  // read at once

// What a header says of more samples than there are: libsndfile reads those that are there, and writes "data : 1920000 (should be 19956)" into its log.
// A program that wrote to a pipe knew no length: what such headers have stands for none.
std::string how_cut_off(SNDFILE* file) {
    constexpr unsigned long long kNoLength = 0x7FFFFF00;
    std::array<char, 4096> log{};
    sf_command(file, SFC_GET_LOG_INFO, log.data(), static_cast<int>(log.size()) - 1);
    std::istringstream lines(log.data());
    for (std::string line; std::getline(lines, line);) {
        unsigned long long said = 0;
        unsigned long long there = 0;
        const bool samples = std::sscanf(line.c_str(), " data : %llu (should be %llu)", &said, &there) == 2 ||
                             std::sscanf(line.c_str(), " SSND : %llu (should be %llu)", &said, &there) == 2;
        if (samples && said > there && said < kNoLength)
            return "it is cut off: its header says " + std::to_string(said) + " bytes of samples, there are " +
                   std::to_string(there);
    }
    return {};
}

// What libsndfile says is wrong, without its full stop; where it has no words for it, or takes a file that is damaged for one that is not there, ours.
std::string words_of(const char* of_library) {
    constexpr std::array kNone{"nternal error", "nknown error", "does not exist"};
    constexpr std::string_view kAlways = "Error : ";
    std::string words = of_library;
    if (std::ranges::any_of(kNone, [&](const char* none) { return words.find(none) != std::string::npos; }))
        return "it is damaged";
    if (words.starts_with(kAlways)) words.erase(0, kAlways.size());
    while (!words.empty() && (words.back() == '.' || words.back() == ' ')) words.pop_back();
    return words;
}

// Whether the frames that libsndfile says are counted, by a header or by bytes, and so are there unless somebody cuts the file while it is read.
bool counts_frames(int format) {
    const int of = format & SF_FORMAT_SUBMASK;
    constexpr std::array kPlain{SF_FORMAT_PCM_S8, SF_FORMAT_PCM_U8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24, SF_FORMAT_PCM_32,
                                SF_FORMAT_FLOAT,  SF_FORMAT_DOUBLE, SF_FORMAT_ULAW,   SF_FORMAT_ALAW};
    return (format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC || std::ranges::find(kPlain, of) != kPlain.end();
}

// The input stream as a file that libsndfile may go back in, as far as to what it looks at first: its reader of FLAC does so, which a pipe would not bear.
class RewoundInput {
public:
    SNDFILE* open(SF_INFO& info) {
        SF_VIRTUAL_IO calls{length, seek, read, nullptr, tell};
        return sf_open_virtual(&calls, SFM_READ, &info, this);
    }

private:
    static constexpr sf_count_t kKept = 64;

    static RewoundInput& of(void* self) { return *static_cast<RewoundInput*>(self); }
    static sf_count_t length(void* /*self*/) { return SF_COUNT_MAX; }
    static sf_count_t tell(void* self) { return of(self).at_; }
    static sf_count_t seek(sf_count_t offset, int from, void* self) {
        RewoundInput& me = of(self);
        const sf_count_t to = from == SEEK_CUR ? me.at_ + offset : offset;
        const bool can =
            from != SEEK_END && to >= 0 && (to == me.at_ || me.taken_ == static_cast<sf_count_t>(me.first_.size()));
        if (!can || to > me.taken_) return -1;
        return me.at_ = to;
    }
    static sf_count_t read(void* to, sf_count_t count, void* self) { return of(self).read(static_cast<char*>(to), count); }
    sf_count_t read(char* to, sf_count_t count) {
        const auto again = std::min(count, std::max<sf_count_t>(0, static_cast<sf_count_t>(first_.size()) - at_));
        std::copy_n(first_.begin() + std::min<std::ptrdiff_t>(at_, static_cast<std::ptrdiff_t>(first_.size())), again, to);
        const auto more = static_cast<sf_count_t>(std::fread(to + again, 1, static_cast<size_t>(count - again), stdin));
        if (taken_ < kKept) first_.append(to + again, static_cast<size_t>(more));
        taken_ += more;
        at_ += again + more;
        return again + more;
    }

    std::string first_;     // what was taken before that was kKept bytes or more
    sf_count_t taken_ = 0;  // from the stream
    sf_count_t at_ = 0;
};

struct CloseFile {
    void operator()(SNDFILE* file) const noexcept { sf_close(file); }
};

class Sndfile final : public formats::SoundSource {
public:
    Sndfile(SNDFILE* file, const SF_INFO& info, std::unique_ptr<RewoundInput> input)
        : input_(std::move(input)), file_(file) {
        about_ = {.rate = info.samplerate, .channels = info.channels};
        if (info.seekable == 0) return;
        about_.wrong = how_cut_off(file);
        // Of a pipe, or of a file that was never ended, libsndfile says a length that is none.
        if (info.frames > 0 && info.frames < SF_COUNT_MAX / 2) about_.frames = static_cast<uint64_t>(info.frames);
        about_.counted = counts_frames(info.format);
    }
    [[nodiscard]] About about() const override { return about_; }
    int64_t read(std::span<float> into) override {
        return sf_readf_float(file_.get(), into.data(), static_cast<sf_count_t>(into.size()) / about_.channels);
    }
    [[nodiscard]] std::string problem() const override {
        const int problem = sf_error(file_.get());
        return problem == SF_ERR_NO_ERROR ? "" : words_of(sf_error_number(problem));
    }

private:
    std::unique_ptr<RewoundInput> input_;  // that file_ reads, where it has one
    std::unique_ptr<SNDFILE, CloseFile> file_;
    About about_;
};

struct DeleteConverter {
    void operator()(SRC_STATE* state) const noexcept { src_delete(state); }
};

class ResampledReader final : public AudioReader {
public:
    ResampledReader(std::unique_ptr<formats::SoundSource> source, std::string name, int64_t rate)
        : source_(std::move(source)), name_(std::move(name)) {
        const formats::SoundSource::About about = source_->about();
        if (about.channels == 0 && !about.wrong.empty()) fail(about.wrong);
        info_ = {about.rate, about.channels, 0};
        if (info_.sample_rate < kLeastRate || info_.sample_rate > kMostRate || info_.channels < 1 ||
            info_.channels > kMostChannels)
            fail("it has " + std::to_string(info_.channels) + (info_.channels == 1 ? " channel at " : " channels at ") +
                 std::to_string(info_.sample_rate) + " Hz, and up to " + std::to_string(kMostChannels) + " of " +
                 std::to_string(kLeastRate) + " to " + std::to_string(kMostRate) + " Hz are read");
        if (!about.wrong.empty()) fail(about.wrong);
        info_.seconds = static_cast<double>(about.frames) / static_cast<double>(info_.sample_rate);
        if (about.counted) said_ = about.frames;
        if (info_.sample_rate != rate) {
            int problem = 0;
            converter_.reset(src_new(SRC_SINC_MEDIUM_QUALITY, 1, &problem));
            if (!converter_) throw Error(Code::internal, "libsamplerate: " + std::string(src_strerror(problem)));
            ratio_ = static_cast<double>(rate) / static_cast<double>(info_.sample_rate);
        }
        interleaved_.resize(kFrames * static_cast<size_t>(info_.channels));
        mono_.reserve(kFrames);
        // That there is sound at all is known at once, and not in the middle of a batch.
        fill();
        if (mono_.empty()) fail("there are no samples in it");
    }

    [[nodiscard]] const AudioInfo& info() const noexcept override { return info_; }

    size_t read(std::span<float> into) override {
        size_t written = 0;
        while (written < into.size()) {
            if (used_ == mono_.size() && !end_) fill();
            const size_t got = converter_ ? convert(into.subspan(written)) : copy(into.subspan(written));
            written += got;
            if (got == 0 && end_ && used_ == mono_.size()) break;
        }
        return written;
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw Error(Code::corrupt, "cannot read the sound in " + name_ + ": " + why);
    }

    void fill() {
        mono_.clear();
        used_ = 0;
        const int64_t frames = source_->read(interleaved_);
        const std::string problem = source_->problem();
        const std::string second = std::to_string(frames_ / static_cast<uint64_t>(info_.sample_rate));
        if ((!problem.empty() || frames <= 0) && frames_ + static_cast<uint64_t>(std::max<int64_t>(frames, 0)) < said_)
            fail("it is cut off, or damaged behind second " + second + ": its header says " +
                 std::to_string(said_ / static_cast<uint64_t>(info_.sample_rate)) + " seconds");
        if (!problem.empty()) fail(problem + " behind second " + second);
        if (frames <= 0) {
            end_ = true;
            return;
        }
        const auto channels = static_cast<size_t>(info_.channels);
        for (size_t i = 0; i < static_cast<size_t>(frames); ++i) {
            float sum = 0;
            for (size_t c = 0; c < channels; ++c) sum += interleaved_[i * channels + c];
            if (!std::isfinite(sum)) fail("sample " + std::to_string(frames_ + i) + " is no finite number");
            mono_.push_back(sum / static_cast<float>(channels));
        }
        frames_ += static_cast<uint64_t>(frames);
    }

    size_t copy(std::span<float> into) {
        const size_t n = std::min(into.size(), mono_.size() - used_);
        std::copy_n(mono_.begin() + static_cast<std::ptrdiff_t>(used_), n, into.begin());
        used_ += n;
        return n;
    }

    size_t convert(std::span<float> into) {
        SRC_DATA data{};
        data.data_in = mono_.data() + used_;
        data.input_frames = static_cast<long>(mono_.size() - used_);
        data.data_out = into.data();
        data.output_frames = static_cast<long>(into.size());
        data.src_ratio = ratio_;
        data.end_of_input = end_ ? 1 : 0;
        if (const int problem = src_process(converter_.get(), &data); problem != 0)
            throw Error(Code::internal, "libsamplerate: " + std::string(src_strerror(problem)));
        used_ += static_cast<size_t>(data.input_frames_used);
        return static_cast<size_t>(data.output_frames_gen);
    }

    std::unique_ptr<formats::SoundSource> source_;
    std::unique_ptr<SRC_STATE, DeleteConverter> converter_;
    std::string name_;
    AudioInfo info_;
    double ratio_ = 1;
    std::vector<float> interleaved_, mono_;
    size_t used_ = 0;      // of mono_
    uint64_t frames_ = 0;  // read so far
    uint64_t said_ = 0;    // frames that a header says which is known to be right; 0: none
    bool end_ = false;
};

std::unique_ptr<AudioReader> opened(SNDFILE* file, const SF_INFO& info, std::string name, int64_t rate,
                                    std::unique_ptr<RewoundInput> input = nullptr) {
    if (file == nullptr)
        throw Error(Code::unsupported, "cannot read the sound in " + name + ": " + words_of(sf_strerror(nullptr)) +
                                           ". It must be WAV, FLAC, Ogg, Opus, MP3 or AIFF");
    auto source = std::make_unique<Sndfile>(file, info, std::move(input));
    return std::make_unique<ResampledReader>(std::move(source), std::move(name), rate);
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

// What libsndfile and libmpg123 take for a shorter file.
void check_length(const std::filesystem::path& path, std::span<const std::byte> file) {
    const std::string cut = "cannot read the sound in " + quoted(path) + ": it is cut off: ";
    if (const auto length = formats::mp3_length(file); length && length->said > length->there)
        throw Error(Code::corrupt, cut + "its header says " + std::to_string(length->said) + " bytes, there are " +
                                       std::to_string(length->there));
    if (!formats::ogg_has_its_end(file))
        throw Error(Code::corrupt, cut + "its last page is missing; to take what is there, give it through a pipe");
}

}  // namespace

std::unique_ptr<AudioReader> AudioReader::open(const std::filesystem::path& path, int64_t sample_rate) {
    // What the system says of the name, in the words that all files are spoken of; a pipe or a device is never waited for.
    if (base::File(path).status().size == 0)
        throw Error(Code::corrupt, "cannot read the sound in " + quoted(path) + ": the file is empty");
    {
        const formats::MappedFile file(path);
        check_length(path, file.bytes());
        if (auto mpeg = formats::open_mpeg(path, file.bytes()))
            return std::make_unique<ResampledReader>(std::move(mpeg), quoted(path), sample_rate);
    }
    SF_INFO info{};
    SNDFILE* const file = sf_open(path.string().c_str(), SFM_READ, &info);
    return opened(file, info, quoted(path), sample_rate);
}

std::unique_ptr<AudioReader> AudioReader::open_input(int64_t sample_rate) {
    constexpr std::string_view kFlac = "fLaC";
    constexpr const char* kName = "the input stream";
    SF_INFO info{};
    const std::string begins = base::peeked_input(kFlac.size());
    if (begins.empty()) throw Error(Code::corrupt, "cannot read the sound in " + std::string(kName) + ": it is empty");
    if (auto mpeg = formats::open_mpeg_input(std::as_bytes(std::span(begins))))
        return std::make_unique<ResampledReader>(std::move(mpeg), kName, sample_rate);
    const bool goes_back = std::fseek(stdin, 0, SEEK_CUR) == 0;  // a file
    if (begins != kFlac || goes_back) {
        SNDFILE* const file = sf_open_fd(0, SFM_READ, &info, SF_FALSE);
        return opened(file, info, kName, sample_rate);
    }
    auto input = std::make_unique<RewoundInput>();
    SNDFILE* const file = input->open(info);
    info.seekable = 0;
    return opened(file, info, kName, sample_rate, std::move(input));
}

}  // namespace backplane
