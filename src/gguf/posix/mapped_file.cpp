#include "gguf/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "gguf/posix/system_error.hpp"

namespace backplane::formats {

namespace {

struct Descriptor {
    explicit Descriptor(int number_) : number(number_) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
    int number;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, Links links) {
    const std::string what = "cannot read '" + path.string() + "'";
    // O_NONBLOCK: opening a named pipe that nobody writes would wait for ever.
    const Descriptor file(
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (links == Links::refuse ? O_NOFOLLOW : 0)));
    if (file.number < 0 && errno == ELOOP && links == Links::refuse)
        throw Error(Code::denied, what + ": it is a link, which could lead anywhere; put the file itself in its place");
    if (file.number < 0) throw system_error(what, errno);
    struct stat facts {};
    if (::fstat(file.number, &facts) != 0) throw system_error(what, errno);
    if (!S_ISREG(facts.st_mode)) throw Error(Code::invalid, what + ": it is no regular file");
    if (facts.st_size == 0) return;
    const auto size = static_cast<size_t>(facts.st_size);
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (memory == MAP_FAILED) throw system_error(what, errno);
    bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void let_go(std::span<const std::byte> bytes) noexcept {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    const uintptr_t first = (begin + page - 1) / page * page;
    const uintptr_t end = (begin + bytes.size()) / page * page;
    // The mapping is never written: what goes is in the file.
    if (first < end) ::madvise(const_cast<std::byte*>(bytes.data()) + (first - begin), end - first, MADV_DONTNEED);
}

}  // namespace backplane::formats
