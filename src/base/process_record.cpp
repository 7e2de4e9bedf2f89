#include "base/process_record.hpp"

#include <algorithm>
#include <random>

namespace backplane::base {

namespace {

constexpr size_t kMostLine = 8192;
constexpr char kMask = '\x5c';

std::array<char, kSecretLength> masked{};  // of the one process there is; set before it has threads

}  // namespace

std::string make_secret() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::random_device source;
    std::string secret(kSecretLength, '0');
    for (char& c : secret) c = kDigits[source() % kDigits.size()];
    return secret;
}

bool is_secret(std::string_view text) noexcept {
    return text.size() == kSecretLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string RecordReader::take(std::string_view bytes) {
    std::string lines;
    for (size_t at = 0; at < bytes.size();) {
        const size_t end = std::min(bytes.find('\n', at), bytes.size());
        if (line_.size() + end - at > kMostLine) too_long_ = true;
        if (!too_long_) line_.append(bytes, at, end - at);
        at = end;
        if (at == bytes.size()) break;
        ++at;
        const bool ours = !too_long_ && line_.size() > secret_.size() && line_.compare(0, secret_.size(), secret_) == 0 &&
                          line_[secret_.size()] == ' ';
        if (ours && given_ + line_.size() <= kMostRecord) {
            given_ += line_.size();
            lines += line_.substr(secret_.size() + 1) + '\n';
        }
        line_.clear();
        too_long_ = false;
    }
    return lines;
}

std::string signed_lines(std::string_view secret, std::string_view text) {
    std::string lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        lines.append(secret).append(" ").append(text.substr(at, end - at)).append("\n");
        at = end + 1;
    }
    return lines;
}

void keep_secret(std::string_view secret) noexcept {
    for (size_t i = 0; i < masked.size() && i < secret.size(); ++i) masked[i] = static_cast<char>(secret[i] ^ kMask);
}

std::string kept_secret() {
    if (masked[0] == 0) return {};
    std::string secret(masked.begin(), masked.end());
    for (char& c : secret) c = static_cast<char>(c ^ kMask);
    return secret;
}

}  // namespace backplane::base
