// Transcripts as text, subtitles, tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "backplane/transcriber.hpp"
#include "base/json.hpp"

namespace backplane::cli {

// "text", "srt", "vtt", "tsv", "json"; files of it end so, text in "txt".
const std::vector<std::string>& transcript_formats();
std::string ending_of(const std::string& format);

// Words that are shown together: up to two lines of a picture, and no longer than a reader waits; ended by a pause or the end of a sentence.
struct Cue {
    std::string text;
    double start = 0, end = 0;  // seconds
};
std::vector<Cue> cues_of(const std::vector<Word>& words);

base::Json transcript_json(const Transcript& said);
// All of a file in `format`; with `times` text has a line for each cue, which begins with its start.
std::string transcript_text(const Transcript& said, const std::string& format, bool times);

}  // namespace backplane::cli
