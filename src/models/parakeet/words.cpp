#include "models/parakeet/words.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/parakeet/tokenizer.hpp"

namespace backplane::parakeet {

namespace {

constexpr double kSameTime = 0.4;  // seconds that one word is apart in two windows, at most

double middle_of(const Word& word) { return (word.start + word.end) / 2; }

}  // namespace

std::vector<Word> words_of(const ModelFile& file, std::span<const Token> tokens, double seconds_per_frame, double start,
                           double seconds) {
    std::vector<Word> words;
    const auto begins = [&](const Token& token) {
        return token.id < file.config().vocab_size && file.pieces()[static_cast<size_t>(token.id)].starts_with(kSpace);
    };
    for (size_t first = 0; first < tokens.size();) {
        size_t last = first + 1;
        while (last < tokens.size() && !begins(tokens[last])) ++last;
        std::vector<int32_t> ids;
        double confidence = 0;
        for (size_t i = first; i < last; ++i) {
            ids.push_back(tokens[i].id);
            confidence += static_cast<double>(tokens[i].confidence);
        }
        const Token& end = tokens[last - 1];
        Word word;
        word.text = file.text_of(ids);
        word.start = start + std::min(seconds, static_cast<double>(tokens[first].frame) * seconds_per_frame);
        word.end = start + std::min(seconds,
                                    static_cast<double>(end.frame + std::max<int64_t>(1, end.duration)) * seconds_per_frame);
        word.confidence = confidence / static_cast<double>(ids.size());
        if (!word.text.empty()) words.push_back(std::move(word));
        first = last;
    }
    return words;
}

void append_overlapping(std::vector<Word>& all, std::vector<Word> next, double from, double to) {
    const double middle = (from + to) / 2;
    size_t keep = all.size();  // of `all`
    size_t take = 0;           // of `next`, from here on
    double nearest = HUGE_VAL;
    for (size_t i = all.size(); from < to && i-- > 0 && all[i].end > from;)
        for (size_t j = 0; j < next.size() && next[j].start < to; ++j) {
            const double apart = std::abs(middle_of(all[i]) - middle_of(next[j]));
            const double off = std::abs(middle_of(all[i]) - middle);
            if (apart > kSameTime || all[i].text != next[j].text || off >= nearest) continue;
            nearest = off;
            keep = i + 1;
            take = j + 1;
        }
    if (nearest == HUGE_VAL && from < to) {
        while (keep > 0 && middle_of(all[keep - 1]) >= middle) --keep;
        while (take < next.size() && middle_of(next[take]) < middle) ++take;
        // One word that either side places on its own half is heard there once.
        if (keep > 0 && take < next.size() && next[take].start < middle_of(all[keep - 1])) ++take;
    }
    all.resize(keep);
    all.insert(all.end(), std::make_move_iterator(next.begin() + static_cast<std::ptrdiff_t>(take)),
               std::make_move_iterator(next.end()));
}

std::string text_of(std::span<const Word> words) {
    std::string text;
    for (const Word& word : words) text += (text.empty() ? "" : " ") + word.text;
    return text;
}

}  // namespace backplane::parakeet
