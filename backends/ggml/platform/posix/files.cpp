#include "platform/files.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "backplane/sdk.hpp"
#include "platform/library.hpp"

namespace backplane::ggml {

namespace {

constexpr uint64_t kMostNotes = 1 << 16;

class Descriptor {
public:
    explicit Descriptor(const fs::path& file) : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool regular(struct stat& s) const { return fd_ >= 0 && ::fstat(fd_, &s) == 0 && S_ISREG(s.st_mode); }
    // All of it, or false.
    bool read(uint64_t offset, void* into, size_t bytes) const {
        for (size_t done = 0; done < bytes;) {
            const ssize_t n = ::pread(fd_, static_cast<char*>(into) + done, bytes - done, static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            done += static_cast<size_t>(n);
        }
        return true;
    }

private:
    int fd_;
};

FileFacts from_stat(const struct stat& s) {
    FileFacts facts;
    facts.size = static_cast<uint64_t>(s.st_size);
    facts.volume = s.st_dev;
    facts.number = s.st_ino;
    facts.modified_ns = int64_t{s.st_mtim.tv_sec} * 1000000000 + s.st_mtim.tv_nsec;
    facts.changed_ns = int64_t{s.st_ctim.tv_sec} * 1000000000 + s.st_ctim.tv_nsec;
    facts.owner = s.st_uid;
    facts.others_may_write = (s.st_mode & S_IWOTH) != 0;
    return facts;
}

FileFacts facts_in(int folder, const char* name) {
    struct stat s {};
    return ::fstatat(folder, name, &s, 0) == 0 && S_ISREG(s.st_mode) ? from_stat(s) : FileFacts{};
}

bool owns(uint32_t owner, const fs::path& file) {
    struct stat s {};
    return !file.empty() && ::stat(file.c_str(), &s) == 0 && s.st_uid == owner;
}

// The build id among the notes in these bytes: name size, size, type, name, description, each filled up to 4 bytes.
std::string build_id_in(const std::vector<unsigned char>& notes) {
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr head{};
        std::memcpy(&head, &notes[at], sizeof head);
        at += sizeof head;
        const size_t name = (size_t{head.n_namesz} + 3) / 4 * 4;
        const size_t size = (size_t{head.n_descsz} + 3) / 4 * 4;
        if (name > notes.size() - at || size > notes.size() - at - name) return {};
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(&notes[at], "GNU", 4) == 0) {
            std::string text;
            for (size_t i = 0; i < head.n_descsz && i < 64; ++i) {
                constexpr char kDigits[] = "0123456789abcdef";
                const unsigned char byte = notes[at + name + i];
                text += {kDigits[byte >> 4], kDigits[byte & 15]};
            }
            return text;
        }
        at += name + size;
    }
    return {};
}

}  // namespace

FileFacts facts_of(const char* file) { return facts_in(AT_FDCWD, file); }

Folder::Folder(const fs::path& folder) : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
Folder::~Folder() {
    if (descriptor_ >= 0) ::close(descriptor_);
}
FileFacts Folder::facts_of(const char* name) const { return descriptor_ < 0 ? FileFacts{} : facts_in(descriptor_, name); }

std::string why_not_trusted(const fs::path& file, const FileFacts& facts) {
    if (facts.others_may_write) return "anybody may write to it; chmod o-w " + file.string();
    if (facts.owner == 0 || facts.owner == ::geteuid()) return {};
    if (owns(facts.owner, file_of(reinterpret_cast<const void*>(&why_not_trusted))) || owns(facts.owner, "/proc/self/exe"))
        return {};
    for (const fs::path& base : mapped_bases())
        if (owns(facts.owner, base)) return {};
    const std::string user = std::to_string(::geteuid());
    return "it belongs to user " + std::to_string(facts.owner) +
           ", to whom neither the program, this library nor libggml-base belongs; chown " + user + ' ' + file.string();
}

bool is_own(const fs::path& path) { return owns(::geteuid(), path); }

std::string build_id_of(const fs::path& file) {
    const Descriptor in(file);
    Elf64_Ehdr header{};
    struct stat s {};
    if (!in.regular(s) || !in.read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
        return {};
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!in.read(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
        if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
        std::vector<unsigned char> notes(segment.p_filesz);
        if (!in.read(segment.p_offset, notes.data(), notes.size())) return {};
        if (std::string id = build_id_in(notes); !id.empty()) return id;
    }
    return {};
}

std::string read_small_file(const fs::path& file, size_t most) {
    const Descriptor in(file);
    if (in.get() < 0) throw sdk::Failure(BP_NOT_FOUND, std::generic_category().message(errno));
    struct stat s {};
    if (!in.regular(s)) throw sdk::Failure(BP_INVALID, "it is no regular file");
    if (const std::string why = why_not_trusted(file, from_stat(s)); !why.empty()) throw sdk::Failure(BP_DENIED, why);
    if (static_cast<uint64_t>(s.st_size) > most)
        throw sdk::Failure(BP_INVALID, "it has more than " + std::to_string(most) + " bytes");
    std::string text(static_cast<size_t>(s.st_size), '\0');
    if (!in.read(0, text.data(), text.size())) throw sdk::Failure(BP_CORRUPT, "it could not be read to its end");
    return text;
}

// The kernel's line names the model and every feature in one read; asking the processor costs a trap for each question in a virtual machine.
std::string processor_text() {
    const Descriptor in("/sys/devices/system/cpu/modalias");
    std::array<char, 4096> text{};
    const ssize_t n = in.get() < 0 ? 0 : ::pread(in.get(), text.data(), text.size(), 0);
    if (n <= 0) return {};
    std::string_view line(text.data(), static_cast<size_t>(n));
    line = line.substr(0, line.find('\n'));
    uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    constexpr std::string_view kStart = "cpu:type:";
    if (line.substr(0, kStart.size()) == kStart) line.remove_prefix(kStart.size());
    const std::string model(line.substr(0, std::min<size_t>(line.find(':'), 64)));
    return model + ' ' + std::to_string(hash);
}

// glibc's <sys/platform/x86.h>, since 2.33; looked up, because a library that was linked with it would not load with an older one.
std::string processor_as_loaded() {
    struct Leaf {
        std::array<uint32_t, 4> cpuid, active;
    };
    const auto leaf_of = reinterpret_cast<const Leaf* (*)(unsigned)>(dlsym(RTLD_DEFAULT, "__x86_get_cpuid_feature_leaf"));
    constexpr unsigned kLeaves = 9;
    constexpr unsigned kModel = 0,
                       kSaving = 3;  // in both, the second register tells of the core that was asked, or of the moment
    std::string text;
    for (unsigned i = 0; leaf_of != nullptr && i < kLeaves; ++i) {
        Leaf leaf = *leaf_of(i);
        if (i == kModel || i == kSaving) leaf.cpuid[1] = 0;
        text.append(reinterpret_cast<const char*>(&leaf), sizeof leaf);
    }
    return text;
}

}  // namespace backplane::ggml
