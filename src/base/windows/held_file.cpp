#include "base/held_file.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "base/file.hpp"
#include "base/windows/access.hpp"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

HANDLE handle_of(intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

bool write_page(HANDLE file, const std::byte* bytes) noexcept {
    OVERLAPPED from_the_start{};
    DWORD written = 0;
    return ::WriteFile(file, bytes, static_cast<DWORD>(HeldFile::kBytes), &written, &from_the_start) != 0 &&
           written == HeldFile::kBytes;
}

}  // namespace

// Held by its open handle, which lets nobody else write.
std::unique_ptr<HeldFile> HeldFile::make(const std::filesystem::path& file, std::span<const std::byte, kBytes> content,
                                         std::string& problem) {
    windows::Handle made(::CreateFileW(windows::extended(file).c_str(), GENERIC_READ | GENERIC_WRITE,
                                       FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
                                       nullptr));
    if (made.get() == INVALID_HANDLE_VALUE) {
        static_cast<void>(made.release());
        problem = "cannot make " + windows::to_utf8(file.native()) + ": " + windows::words_for(::GetLastError());
        return nullptr;
    }
    if (!write_page(made.get(), content.data())) {
        problem = "cannot write " + windows::to_utf8(file.native()) + ": " + windows::words_for(::GetLastError());
        made.reset();
        remove_file(file);
        return nullptr;
    }
    std::unique_ptr<HeldFile> held(new HeldFile());
    held->file_ = file;
    held->maker_ = process_number();
    held->memory_ = new std::byte[kBytes];
    std::memcpy(held->memory_, content.data(), kBytes);
    held->descriptor_ = reinterpret_cast<intptr_t>(made.release());
    return held;
}

HeldFile::~HeldFile() {
    if (descriptor_ != -1) ::CloseHandle(handle_of(descriptor_));
    if (descriptor_ != -1) remove();
    delete[] memory_;
}

void HeldFile::write_out() const noexcept { static_cast<void>(write_page(handle_of(descriptor_), memory_)); }

void HeldFile::remove() noexcept { remove_file(file_); }

bool HeldFile::take_over(const std::filesystem::path& file, const std::function<void(std::span<const std::byte>)>& use) {
    const FileStatus status = status_of(file);
    if (status.kind != FileStatus::Kind::regular || !status.trusted()) return false;
    const windows::Handle open(::CreateFileW(windows::extended(file).c_str(), GENERIC_READ | GENERIC_WRITE | DELETE,
                                             FILE_SHARE_DELETE, nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
    if (open.get() == INVALID_HANDLE_VALUE) return false;  // it is held
    std::array<std::byte, kBytes> content{};
    DWORD read = 0;
    if (::ReadFile(open.get(), content.data(), static_cast<DWORD>(kBytes), &read, nullptr) != 0 && read == kBytes)
        use(content);
    remove_file(file);
    return true;
}

uint64_t process_number() noexcept { return ::GetCurrentProcessId(); }

std::string process_identity() {
    FILETIME start{};
    FILETIME others{};
    ::GetProcessTimes(::GetCurrentProcess(), &start, &others, &others, &others);
    const uint64_t when = (static_cast<uint64_t>(start.dwHighDateTime) << 32) | start.dwLowDateTime;
    return std::to_string(process_number()) + "-" + std::to_string(when);
}

uint64_t thread_number() noexcept { return ::GetCurrentThreadId(); }

}  // namespace backplane::base
