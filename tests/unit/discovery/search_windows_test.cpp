// Devices, long names and scripts, as Windows has them.
#include <gtest/gtest.h>
#include <windows.h>

#include "folders.hpp"

namespace backplane::discovery::testing {
namespace {

// A folder inside `folder` whose path is far over MAX_PATH.
fs::path deep_folder_in(const fs::path& folder) {
    std::wstring path = L"\\\\?\\" + folder.native();
    while (path.size() < 600) {
        path += L"\\" + std::wstring(50, L'x');
        EXPECT_NE(::CreateDirectoryW(path.c_str(), nullptr), 0) << ::GetLastError();
    }
    return path.substr(4);
}

void write_deep(const fs::path& path, const Bytes& bytes) {
    HANDLE file = ::CreateFileW((L"\\\\?\\" + path.native()).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, 0, nullptr);
    ASSERT_NE(file, INVALID_HANDLE_VALUE) << ::GetLastError();
    DWORD written = 0;
    ::WriteFile(file, bytes.data(), static_cast<DWORD>(bytes.size()), &written, nullptr);
    ::CloseHandle(file);
    EXPECT_EQ(written, bytes.size());
}

TEST(Search, AModuleIsFoundUnderAVeryLongPath) {
    const Folder folder;
    const fs::path deep = deep_folder_in(folder.path());
    write_deep(deep / "backplane-deep.dll", module_bytes());
    const Discovery d = discover_in(deep);
    ASSERT_EQ(d.rated.size(), 1U) << d.sources[0].note;
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none) << d.rated[0].candidate.reason;
    ::DeleteFileW((L"\\\\?\\" + (deep / "backplane-deep.dll").native()).c_str());
    for (fs::path p = deep; p != folder.path(); p = p.parent_path()) ::RemoveDirectoryW((L"\\\\?\\" + p.native()).c_str());
}

TEST(Search, AModuleIsFoundInAFolderOfAnyScript) {
    const Folder folder;
    const fs::path inner = folder.path() / fs::path(u8"pl\u00fcgins \u65e5\u672c\u8a9e");
    fs::create_directory(inner);
    write(inner / "backplane-good.dll", module_bytes());
    const Discovery d = discover_in(inner);
    ASSERT_EQ(d.rated.size(), 1U) << d.sources[0].note;
    EXPECT_EQ(d.rated[0].candidate.code, ReasonCode::none) << d.rated[0].candidate.reason;
    EXPECT_NE(d.sources[0].path.string().find("pl\xc3\xbcgins \xe6\x97\xa5"), std::string::npos);
}

TEST(Search, ADeviceIsNotOpened) {
    for (const char* name : {"NUL", "CON", "\\\\.\\pipe\\backplane-nobody"}) {
        EXPECT_EQ(base::status_of(name).kind, base::FileStatus::Kind::other) << name;
        EXPECT_EQ(inspect(name).problem, ReasonCode::not_a_module) << name;
    }
}

}  // namespace
}  // namespace backplane::discovery::testing
