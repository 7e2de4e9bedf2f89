#include "base/nearest.hpp"

#include <algorithm>

namespace backplane::base {

namespace {

constexpr size_t kLongestWord = 64;  // no word of ours is: what somebody typed may be

// Optimal string alignment (Damerau and Levenshtein, without moving what was swapped).
size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (size_t i = 1; i <= a.size(); ++i)
        for (size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

size_t far_from(std::string_view word, std::string_view known) {
    if (word.size() >= 2 && known.starts_with(word)) return 1;
    const size_t dot = known.find('.');
    const size_t behind = dot == std::string_view::npos ? kLongestWord : distance(word, known.substr(dot + 1)) + 1;
    return std::min(distance(word, known), behind);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
    if (word.size() > kLongestWord) return {};
    std::string best;
    size_t least = std::max<size_t>(2, word.size() / 3) + 1;
    for (const std::string& candidate : known) {
        const size_t far = far_from(word, candidate);
        if (far < least && far < std::max(word.size(), candidate.size())) {
            least = far;
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    const std::string best = nearest(word, known);
    return best.empty() ? "" : "; did you mean '" + best + "'?";
}

}  // namespace backplane::base
