#include <algorithm>
#include <optional>

#include "backplane/error.hpp"
#include "base/dynamic_library.hpp"
#include "formats/audio/lengths.hpp"
#include "formats/audio/sound_source.hpp"

namespace backplane::formats {

namespace {

// Of mpg123.h, whose numbers stay as they are (libmpg123.so.0); not included, for libmpg123 is no library that this is built with.
constexpr int kAddFlags = 2, kRemoveFlags = 13;
constexpr long kQuiet = 0x20, kGapless = 0x40, kFloats = 0x400, kPassTag = 0x2000, kResample = 0x8000,
               kOneFormat = 0x1000000;
constexpr int kOk = 0, kDone = -12, kNewFormat = -11;
constexpr int kFloat32 = 0x200;

struct Handle;

struct Library {
    base::DynamicLibrary library;
    int (*init)();
    Handle* (*create)(const char* decoder, int* problem);
    void (*destroy)(Handle*);
    int (*param)(Handle*, int which, long value, double real);
    int (*open)(Handle*, const char* path);
    int (*open_fd)(Handle*, int fd);
    int (*getformat)(Handle*, long* rate, int* channels, int* encoding);
    int (*read)(Handle*, void* into, size_t bytes, size_t* done);
    long (*length)(Handle*);
};

std::optional<Library> loaded() {
    // Where an offset in a file is no long, functions of the same name take others.
    if (sizeof(long) < sizeof(int64_t)) return {};
    for (const char* name : {"libmpg123.so.0", "libmpg123.0.dylib"}) {
        try {
            Library all{.library = base::DynamicLibrary(name)};
            bool there = true;
            const auto take = [&](auto& function, const char* symbol) {
                function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(all.library.symbol(symbol));
                there = there && function != nullptr;
            };
            take(all.init, "mpg123_init");
            take(all.create, "mpg123_new");
            take(all.destroy, "mpg123_delete");
            take(all.param, "mpg123_param");
            take(all.open, "mpg123_open");
            take(all.open_fd, "mpg123_open_fd");
            take(all.getformat, "mpg123_getformat");
            take(all.read, "mpg123_read");
            take(all.length, "mpg123_length");
            if (there && all.init() == kOk) return all;
        } catch (const Error&) {  // not there: libsndfile reads what it can
            continue;
        }
    }
    return {};
}

const Library* library() {
    static const std::optional<Library> once = loaded();
    return once ? &*once : nullptr;
}

class Mpeg final : public SoundSource {
public:
    explicit Mpeg(const Library& library) : library_(library), handle_(library.create(nullptr, nullptr)) {
        if (handle_ == nullptr) throw Error(Code::internal, "libmpg123: no decoder");
        library.param(handle_, kRemoveFlags, kResample, 0);
        library.param(handle_, kAddFlags, kQuiet | kGapless | kFloats | kPassTag | kOneFormat, 0);
    }
    ~Mpeg() override { library_.destroy(handle_); }
    Mpeg(const Mpeg&) = delete;
    Mpeg& operator=(const Mpeg&) = delete;

    void open(const std::filesystem::path& path) { begin(library_.open(handle_, path.string().c_str()), true); }
    void open_fd(int fd) { begin(library_.open_fd(handle_, fd), false); }

    [[nodiscard]] About about() const override { return about_; }
    [[nodiscard]] std::string problem() const override { return problem_ ? "it is damaged" : ""; }

    int64_t read(std::span<float> into) override {
        if (about_.channels == 0) return 0;
        size_t bytes = 0;
        const int said = library_.read(handle_, into.data(), into.size_bytes(), &bytes);
        problem_ = said != kOk && said != kDone && !(said == kNewFormat && is_as_before());
        return static_cast<int64_t>(bytes / sizeof(float)) / about_.channels;
    }

private:
    void begin(int opened, bool whole) {
        long rate = 0;
        int encoding = 0;
        if (opened != kOk || library_.getformat(handle_, &rate, &channels_, &encoding) != kOk || encoding != kFloat32) {
            about_.wrong = "there is no MP3 in it that can be decoded";
            return;
        }
        about_.rate = rate;
        about_.channels = channels_;
        const long frames = whole ? library_.length(handle_) : 0;
        if (frames > 0) about_.frames = static_cast<uint64_t>(frames);
    }

    bool is_as_before() {
        long rate = 0;
        int channels = 0, encoding = 0;
        return library_.getformat(handle_, &rate, &channels, &encoding) == kOk && rate == about_.rate &&
               channels == channels_ && encoding == kFloat32;
    }

    const Library& library_;
    Handle* handle_;
    About about_;
    int channels_ = 0;
    bool problem_ = false;
};

}  // namespace

std::unique_ptr<SoundSource> open_mpeg(const std::filesystem::path& path, std::span<const std::byte> file) {
    std::string ending = path.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    // What libsndfile knows by nothing else it takes for MP3 by its name.
    const bool by_name = ending == ".mp3" && !is_other_sound(file);
    if ((!is_mpeg(file) && !by_name) || library() == nullptr) return nullptr;
    auto made = std::make_unique<Mpeg>(*library());
    made->open(path);
    return made;
}

std::unique_ptr<SoundSource> open_mpeg_input(std::span<const std::byte> begins) {
    if (!may_be_mpeg(begins) || library() == nullptr) return nullptr;
    auto made = std::make_unique<Mpeg>(*library());
    made->open_fd(0);
    return made;
}

}  // namespace backplane::formats
