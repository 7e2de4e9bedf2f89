// The parts of system.hpp that are the same everywhere.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/platform/system.hpp"

namespace backplane::backend {

std::vector<std::string> files_in(const std::string& folder, const std::string& suffix) {
    std::vector<std::string> out;
    std::error_code ignored;
    for (std::filesystem::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
        const std::string path = it->path().string();
        if (path.size() >= suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0)
            out.push_back(path);
        if (ignored) break;
    }
    std::sort(out.begin(), out.end());
    return out;
}

bool read_text(const std::string& path, std::string& text) {
    constexpr size_t kMost = 65536;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        text = error ? error.message() : "it is no file";
        return false;
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        text = "it cannot be opened by this user";
        return false;
    }
    text.resize(kMost);
    file.read(text.data(), static_cast<std::streamsize>(kMost));
    text.resize(static_cast<size_t>(file.gcount()));
    return true;
}

}  // namespace backplane::backend
