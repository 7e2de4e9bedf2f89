#include "gguf/mapped_file.hpp"

#include <limits>
#include <string>

#include "base/file.hpp"
#include "gguf/windows/system_error.hpp"

namespace backplane::formats {

using base::windows::Handle;

MappedFile::MappedFile(const std::filesystem::path& path, Links links) {
    const std::string what = "cannot read '" + base::windows::to_utf8(path.native()) + "'";
    // Before opening it: a pipe or device could wait, or act.
    const base::FileStatus::Kind kind = base::status_of(path).kind;
    if (kind == base::FileStatus::Kind::folder || kind == base::FileStatus::Kind::other)
        throw Error(Code::invalid, what + ": it is no regular file");
    // Others may rename or remove it while it is mapped, and not write into it.
    const Handle file =
        base::windows::open_existing(base::windows::extended(path), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE,
                                     links == Links::refuse ? FILE_FLAG_OPEN_REPARSE_POINT : FILE_ATTRIBUTE_NORMAL);
    if (!file) throw system_error(what, ::GetLastError());
    BY_HANDLE_FILE_INFORMATION facts{};
    if (links == Links::refuse && ::GetFileInformationByHandle(file.get(), &facts) != 0 &&
        (facts.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
        throw Error(Code::denied, what + ": it is a link, which could lead anywhere; put the file itself in its place");
    if (::GetFileType(file.get()) != FILE_TYPE_DISK) throw Error(Code::invalid, what + ": it is no regular file");
    LARGE_INTEGER size{};
    if (::GetFileSizeEx(file.get(), &size) == 0) throw system_error(what, ::GetLastError());
    if (size.QuadPart == 0) return;
    const Handle section(::CreateFileMappingW(file.get(), nullptr, PAGE_READONLY, 0, 0, nullptr));
    if (!section) throw system_error(what, ::GetLastError());
    const void* const memory = ::MapViewOfFile(section.get(), FILE_MAP_READ, 0, 0, 0);
    if (memory == nullptr) throw system_error(what, ::GetLastError());
    bytes_ = {static_cast<const std::byte*>(memory), static_cast<size_t>(size.QuadPart)};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::UnmapViewOfFile(bytes_.data());
}

void let_go(std::span<const std::byte> bytes) noexcept {
    // Of pages that are not locked, this takes them from the working set, and says so with an error.
    if (!bytes.empty()) ::VirtualUnlock(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace backplane::formats
