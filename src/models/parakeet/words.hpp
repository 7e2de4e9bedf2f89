// Tokens to words with times, and the words of windows that overlap to those of the whole.
#pragma once

#include <span>
#include <vector>

#include "backplane/transcriber.hpp"
#include "models/parakeet/recognizer.hpp"

namespace backplane::parakeet {

// A word begins with each piece that begins with a space (U+2581). `start` is added to all times, in seconds; words end at `start + seconds` at the
// latest.
std::vector<Word> words_of(const ModelFile& file, std::span<const Token> tokens, double seconds_per_frame, double start,
                           double seconds);

// Adds the words of a window behind those of the one before it, of which it repeats the time from `from` to `to`: a word that both heard is taken
// once. Where they heard the same word at one time the two are joined at it, next to the middle; else each has its side of the middle.
void append_overlapping(std::vector<Word>& all, std::vector<Word> next, double from, double to);

std::string text_of(std::span<const Word> words);

}  // namespace backplane::parakeet
