// A small file that a living process holds. What it stores there stays when the process is killed, and others can tell that it is no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace backplane::base {

class HeldFile {
public:
    static constexpr size_t kBytes = 4096;

    // Makes the file, whole and held, for this user alone, in a folder that is there. Null: it cannot; `problem` then says why.
    static std::unique_ptr<HeldFile> make(const std::filesystem::path& file, std::span<const std::byte, kBytes> content,
                                          std::string& problem);
    // Removes the file, but not in a child that has this from its parent by fork().
    ~HeldFile();
    HeldFile(const HeldFile&) = delete;
    HeldFile& operator=(const HeldFile&) = delete;

    [[nodiscard]] std::byte* memory() const noexcept { return memory_; }  // kBytes
    // What is stored in memory() is in the file by that. Where a file system may refuse a page that it gave before (copy on write, a
    // network), it is not, and write_out() is needed.
    [[nodiscard]] bool at_once() const noexcept { return mapped_; }
    void write_out() const noexcept;  // may be called in a signal handler
    void remove() noexcept;           // the name, now

    // The content of such a file whose process is no more: `use` hears it, then the file goes. False: it is held, or not to be trusted; a
    // file that is not to be trusted is left alone. Of several processes that ask at once one hears it, and the others wait for that.
    static bool take_over(const std::filesystem::path& file, const std::function<void(std::span<const std::byte>)>& use);

private:
    HeldFile() = default;

    std::filesystem::path file_;
    std::byte* memory_ = nullptr;
    intptr_t descriptor_ = -1;
    uint64_t maker_ = 0;  // its process
    bool mapped_ = false;
};

// Tells this process from every other that this machine runs or ran: its number and when it began. The same in every library of it.
std::string process_identity();
uint64_t process_number() noexcept;

// A number that no other thread of this process has now, never 0. May be called in a signal handler.
uint64_t thread_number() noexcept;

}  // namespace backplane::base
