#include "cli/transcript_text.hpp"

#include <cmath>
#include <cstdio>

namespace backplane::cli {

namespace {

constexpr size_t kMostCharacters = 84;  // two lines of 42
constexpr double kMostSeconds = 7;
constexpr double kPauseSeconds = 0.8;
constexpr double kLeastSecondsOfSentence = 1;

// Bytes that are no continuation of UTF-8.
size_t characters(const std::string& text) {
    size_t n = 0;
    for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    return n;
}

// "01:02:03.456", or with another mark before the thousandths.
std::string clock_text(double seconds, char mark) {
    const auto all = static_cast<long long>(std::llround(seconds * 1000));
    char text[40];
    std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld%c%03lld", all / 3600000, all / 60000 % 60, all / 1000 % 60, mark,
                  all % 1000);
    return text;
}

bool ends_sentence(const std::string& text) {
    return !text.empty() && (text.back() == '.' || text.back() == '?' || text.back() == '!');
}

// A tab or line end in a field would be another field, and an empty line in a subtitle its end.
std::string field(std::string text) {
    for (char& c : text)
        if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    return text;
}

// WebVTT 4.2.2: what would begin a tag or an escape, or look like the arrow between two times.
std::string vtt_text(const std::string& text) {
    std::string all;
    for (const char c : text) {
        if (c == '&')
            all += "&amp;";
        else if (c == '<')
            all += "&lt;";
        else if (c == '>')
            all += "&gt;";
        else
            all += c;
    }
    return all;
}

}  // namespace

const std::vector<std::string>& transcript_formats() {
    static const std::vector<std::string> formats{"text", "srt", "vtt", "tsv", "json"};
    return formats;
}

std::string ending_of(const std::string& format) { return format == "text" ? "txt" : format; }

std::vector<Cue> cues_of(const std::vector<Word>& words) {
    std::vector<Cue> cues;
    for (const Word& word : words) {
        const bool goes_on =
            !cues.empty() && word.start - cues.back().end < kPauseSeconds && word.end - cues.back().start <= kMostSeconds &&
            characters(cues.back().text) + 1 + characters(word.text) <= kMostCharacters &&
            !(ends_sentence(cues.back().text) && cues.back().end - cues.back().start >= kLeastSecondsOfSentence);
        if (!goes_on) {
            cues.push_back({word.text, word.start, word.end});
            continue;
        }
        cues.back().text += " " + word.text;
        cues.back().end = word.end;
    }
    return cues;
}

base::Json transcript_json(const Transcript& said) {
    // Milliseconds and ten-thousandths, as people read them: 2.8, and not 2.8000000000000003.
    const auto rounded = [](double value, double parts) { return std::round(value * parts) / parts; };
    base::Json words = base::Json::array();
    for (const Word& word : said.words)
        words.push_back({{"text", word.text},
                         {"start", rounded(word.start, 1e3)},
                         {"end", rounded(word.end, 1e3)},
                         {"confidence", rounded(word.confidence, 1e4)}});
    return {{"text", said.text}, {"seconds", rounded(said.seconds, 1e3)}, {"words", std::move(words)}};
}

std::string transcript_text(const Transcript& said, const std::string& format, bool times) {
    if (format == "json") return transcript_json(said).dump(2) + "\n";
    if (format == "text" && !times) return said.text + "\n";
    std::string all = format == "vtt" ? "WEBVTT\n\n" : format == "tsv" ? "start\tend\tconfidence\tword\n" : "";
    if (format == "tsv") {
        char numbers[80];
        for (const Word& word : said.words) {
            std::snprintf(numbers, sizeof numbers, "%.3f\t%.3f\t%.3f\t", word.start, word.end, word.confidence);
            all += numbers + field(word.text) + "\n";
        }
        return all;
    }
    size_t number = 0;
    for (const Cue& cue : cues_of(said.words)) {
        const std::string text = field(cue.text);
        if (format == "text") {
            all += "[" + clock_text(cue.start, '.') + "] " + text + "\n";
            continue;
        }
        const char mark = format == "srt" ? ',' : '.';
        if (format == "srt") all += std::to_string(++number) + "\n";
        all += clock_text(cue.start, mark) + " --> " + clock_text(cue.end, mark) + "\n";
        all += (format == "vtt" ? vtt_text(text) : text) + "\n\n";
    }
    return all;
}

}  // namespace backplane::cli
