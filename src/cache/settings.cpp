#include "cache/settings.hpp"

#include "base/environment.hpp"
#include "base/file.hpp"

namespace backplane::cache {

namespace {

constexpr const char* kFolder = "BACKPLANE_CACHE_DIR";
constexpr const char* kLimit = "BACKPLANE_CACHE_LIMIT";
constexpr const char* kLimitOption = "host.cache-limit";

}  // namespace

std::optional<uint64_t> parse_size(std::string_view text) {
    uint64_t value = 0;
    size_t at = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        const auto digit = static_cast<uint64_t>(text[at] - '0');
        if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
        value = value * 10 + digit;
    }
    if (at == 0) return std::nullopt;
    std::string unit;
    for (const char c : text.substr(at)) unit += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    if (unit.empty() || unit == "B") return value;
    const size_t power = std::string_view("KMGT").find(unit[0]);
    if (power == std::string_view::npos || (unit.size() > 1 && unit.substr(1) != "B" && unit.substr(1) != "IB"))
        return std::nullopt;
    const size_t shift = 10 * (power + 1);
    return value > UINT64_MAX >> shift ? std::nullopt : std::optional(value << shift);
}

Settings settings_for(const ContextOptions& options) {
    Settings settings;
    if (!options.use_cache) return settings;
    const auto variable = [&](const char* name) {
        return options.use_environment ? base::environment(name).value_or("") : std::string();
    };
    if (!options.cache_folder.empty()) {
        std::error_code failed;
        settings.folder = std::filesystem::absolute(options.cache_folder, failed);
    } else if (const std::string given = variable(kFolder); !given.empty()) {
        settings.folder = base::path_of(given);
        if (!settings.folder.is_absolute()) {
            settings.problem = "no kernel cache: " + std::string(kFolder) + " '" + given +
                               "' is not an absolute path, and the current directory may be anybody's";
            settings.folder.clear();
        }
    }
    if (settings.folder.empty()) return settings;
    const auto option = options.options.find(kLimitOption);
    const bool by_option = option != options.options.end();
    const std::string text = by_option ? option->second : variable(kLimit);
    if (text.empty()) return settings;
    if (const auto limit = parse_size(text))
        settings.limit = *limit;
    else
        settings.problem = std::string(by_option ? kLimitOption : kLimit) + " '" + text +
                           "' is no size (write 64M or 1G): the kernel cache keeps to 256M";
    return settings;
}

}  // namespace backplane::cache
