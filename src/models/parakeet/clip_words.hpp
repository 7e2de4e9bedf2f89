// The words of a clip that is cut into windows.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backplane/transcriber.hpp"
#include "models/parakeet/words.hpp"

namespace backplane::parakeet {

// A clip of which windows are cut or run, in any order; its words are joined in theirs.
class ClipWords {
public:
    struct Heard {  // of a window
        std::vector<Word> words;
        double start = 0, overlap = 0;  // seconds
    };
    void add(size_t number, Heard heard) {
        waiting_.emplace(number, std::move(heard));
        for (auto next = waiting_.find(joined_); next != waiting_.end(); next = waiting_.find(++joined_)) {
            Heard& it = next->second;
            append_overlapping(words_, std::move(it.words), it.start, it.start + it.overlap);
            waiting_.erase(next);
        }
    }
    void end(double seconds) { seconds_ = seconds; }
    void one_more() { ++cut_; }
    [[nodiscard]] bool is_done() const { return seconds_ && joined_ == cut_; }
    [[nodiscard]] Transcript take() {
        Transcript said{text_of(words_), std::move(words_), *seconds_};
        return said;
    }

private:
    size_t cut_ = 0, joined_ = 0;  // windows
    std::map<size_t, Heard> waiting_;
    std::vector<Word> words_;
    std::optional<double> seconds_;
};

}  // namespace backplane::parakeet
