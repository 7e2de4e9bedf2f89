#include "base/dynamic_library.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "backplane/error.hpp"
#include "backplane/note.h"
#include "base/windows/system.hpp"

namespace backplane::base {

namespace {

// No dialog boxes about what is missing; the error says it.
class QuietErrors {
public:
    QuietErrors() { ::SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &before_); }
    ~QuietErrors() { ::SetThreadErrorMode(before_, nullptr); }
    QuietErrors(const QuietErrors&) = delete;
    QuietErrors& operator=(const QuietErrors&) = delete;

private:
    DWORD before_ = 0;
};

std::filesystem::path file_of(HMODULE module) {
    constexpr size_t kLongestPath = 1u << 15;  // characters in a path of Windows
    std::wstring text(MAX_PATH, L'\0');
    while (text.size() <= kLongestPath) {
        const DWORD size = ::GetModuleFileNameW(module, text.data(), static_cast<DWORD>(text.size()));
        if (size == 0) return {};
        if (size < text.size()) return windows::plain({text.data(), size});
        text.resize(text.size() * 2);
    }
    return {};
}

// The headers that tell one build of a file from another: loading changes nothing in them but the base address.
struct Headers {
    IMAGE_FILE_HEADER file{};
    DWORD check_sum = 0, size = 0, entry = 0;
    bool operator==(const Headers& other) const {
        return std::memcmp(&file, &other.file, sizeof file) == 0 && check_sum == other.check_sum && size == other.size &&
               entry == other.entry;
    }
};

Headers headers_in(const char* bytes, size_t size) {
    IMAGE_DOS_HEADER dos{};
    IMAGE_NT_HEADERS nt{};
    if (size < sizeof dos) return {};
    std::memcpy(&dos, bytes, sizeof dos);
    if (dos.e_lfanew < 0 || size < sizeof nt || static_cast<size_t>(dos.e_lfanew) > size - sizeof nt) return {};
    std::memcpy(&nt, bytes + dos.e_lfanew, sizeof nt);
    return {nt.FileHeader, nt.OptionalHeader.CheckSum, nt.OptionalHeader.SizeOfImage, nt.OptionalHeader.AddressOfEntryPoint};
}

// What is loaded under the name, kept loaded as long as this lives: another thread may be about to unload it. Null: nothing is.
using Kept = std::unique_ptr<std::remove_pointer_t<HMODULE>, decltype(&::FreeLibrary)>;
Kept loaded_as(const std::filesystem::path& file) {
    HMODULE module = nullptr;
    if (::GetModuleHandleExW(0, windows::plain(file.native()).c_str(), &module) == 0) module = nullptr;
    return {module, &::FreeLibrary};
}

constexpr size_t kPage = 4096;

// Pages of a loaded image in which the loader put its base address into pointers.
std::set<size_t> relocated_pages(const char* image, const IMAGE_NT_HEADERS& nt) {
    const IMAGE_DATA_DIRECTORY& table = nt.OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_BASERELOC];
    const size_t end = std::min<size_t>(size_t{table.VirtualAddress} + table.Size, nt.OptionalHeader.SizeOfImage);
    std::set<size_t> pages;
    for (size_t at = table.VirtualAddress; at != 0 && at + sizeof(IMAGE_BASE_RELOCATION) <= end;) {
        IMAGE_BASE_RELOCATION block{};
        std::memcpy(&block, image + at, sizeof block);
        if (block.SizeOfBlock < sizeof block) break;
        pages.insert(block.VirtualAddress / kPage);
        pages.insert(block.VirtualAddress / kPage + 1);  // the last pointer may reach into the next
        at += block.SizeOfBlock;
    }
    return pages;
}

// Is what the loader leaves as it is, code and the descriptor, the same? Builds that can be reproduced have no time in their headers.
bool same_code(const char* image, const std::string& file) {
    IMAGE_DOS_HEADER dos{};
    IMAGE_NT_HEADERS nt{};
    std::memcpy(&dos, image, sizeof dos);
    std::memcpy(&nt, image + dos.e_lfanew, sizeof nt);
    const std::set<size_t> changed = relocated_pages(image, nt);
    const size_t first =
        static_cast<size_t>(dos.e_lfanew) + offsetof(IMAGE_NT_HEADERS, OptionalHeader) + nt.FileHeader.SizeOfOptionalHeader;
    for (size_t i = 0; i < nt.FileHeader.NumberOfSections; ++i) {
        IMAGE_SECTION_HEADER section{};
        if (first + (i + 1) * sizeof section > kPage) break;
        std::memcpy(&section, image + first + i * sizeof section, sizeof section);
        const bool code = (section.Characteristics & IMAGE_SCN_MEM_EXECUTE) != 0;
        const bool note =
            std::memcmp(section.Name, BP_NOTE_SECTION, std::min<size_t>(sizeof section.Name, sizeof BP_NOTE_SECTION)) == 0;
        const bool written = (section.Characteristics & (IMAGE_SCN_MEM_WRITE | IMAGE_SCN_MEM_DISCARDABLE)) != 0;
        if (!(code || note) || written) continue;
        const size_t size = std::min<size_t>(section.SizeOfRawData, section.Misc.VirtualSize);
        if (section.PointerToRawData + size > file.size() || section.VirtualAddress + size > nt.OptionalHeader.SizeOfImage)
            return false;
        for (size_t at = 0; at < size; at += kPage)
            if (changed.count((section.VirtualAddress + at) / kPage) == 0 &&
                std::memcmp(image + section.VirtualAddress + at, file.data() + section.PointerToRawData + at,
                            std::min(kPage, size - at)) != 0)
                return false;
    }
    return true;
}

// Libraries are known by their names here: is what is loaded under this one still what the file holds?
bool is_another_build(HMODULE loaded, const std::filesystem::path& file) {
    std::ifstream stream(windows::extended(file), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    const auto* image = reinterpret_cast<const char*>(loaded);
    return !(headers_in(bytes.data(), bytes.size()) == headers_in(image, kPage)) || !same_code(image, bytes);
}

}  // namespace

DynamicLibrary::DynamicLibrary(const std::filesystem::path& file) {
    // What it needs comes from its own folder, this program's, the system's and those that the program added: never the current
    // directory, never PATH.
    constexpr DWORD kSearch = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
    const QuietErrors quiet;
    const Kept loaded = loaded_as(file);
    if (loaded != nullptr && is_another_build(loaded.get(), file))
        throw Error(Code::busy, windows::to_utf8(file.native()) +
                                    " was replaced while its earlier build is in use: release its devices, or restart");
    handle_ = ::LoadLibraryExW(windows::extended(file).c_str(), nullptr, kSearch);
    if (handle_ == nullptr)
        throw Error(Code::not_found, windows::to_utf8(file.native()) + ": " + windows::words_for(::GetLastError()));
}

DynamicLibrary DynamicLibrary::of_this_code() noexcept {
    static const wchar_t anchor = 0;
    HMODULE module = nullptr;
    DynamicLibrary own;
    if (::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, &anchor, &module) != 0) own.handle_ = module;
    return own;
}

DynamicLibrary::~DynamicLibrary() {
    if (handle_ != nullptr) ::FreeLibrary(static_cast<HMODULE>(handle_));
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

void* DynamicLibrary::symbol(const char* name) const noexcept {
    if (handle_ == nullptr) return nullptr;
    return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(handle_), name));
}

std::filesystem::path DynamicLibrary::file() const {
    return handle_ != nullptr ? file_of(static_cast<HMODULE>(handle_)) : std::filesystem::path();
}

std::vector<std::span<const std::byte>> DynamicLibrary::notes() const { return {}; }

std::string_view library_ending() noexcept { return ".dll"; }

std::string_view program_ending() noexcept { return ".exe"; }

std::filesystem::path own_file() {
    static const wchar_t anchor = 0;  // an address inside this library
    constexpr DWORD kFlags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    HMODULE module = nullptr;
    return ::GetModuleHandleExW(kFlags, &anchor, &module) != 0 ? file_of(module) : std::filesystem::path();
}

std::filesystem::path executable_file() { return file_of(nullptr); }

std::string why_no_place() {
    return "the system does not tell where this program is, and so where its modules are; set BACKPLANE_MODULE_PATH";
}

}  // namespace backplane::base
