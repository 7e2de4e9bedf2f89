#include "cli/progress.hpp"

#include <algorithm>
#include <cmath>

#include "base/elapsed.hpp"
#include "base/terminal.hpp"
#include "cli/output.hpp"

namespace backplane::cli {

namespace {

// Of an estimate: nobody wants seconds of hours.
std::string left_of(double seconds) {
    const int64_t whole = std::llround(seconds);
    if (whole < 60) return std::to_string(whole) + " s left";
    if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s left";
    return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min left";
}

}  // namespace

Progress::Progress(std::string label, bool lines)
    : label_(std::move(label)),
      bar_(base::moves_cursor(base::Stream::error)),
      lines_(lines && !base::moves_cursor(base::Stream::error)) {}

Progress::~Progress() { hide(); }

void Progress::hide() {
    if (bar_ && shown_ >= 0) err_text("\r\033[K");
    shown_ = -1;
}

void Progress::show(double done, const std::string& remark) {
    if (!bar_ && !lines_) return;
    done = std::clamp(done, 0.0, 1.0);
    const int percent = static_cast<int>(done * 100);
    const double taken = base::seconds_since(start_);
    std::string words = remark;
    if (done > 0 && done < 1) words += (words.empty() ? "" : ", ") + left_of(taken / done * (1 - done));
    if (lines_) {
        if (percent / 10 <= tenth_) return;
        tenth_ = percent / 10;
        return err("{}: {}%{}{}\n", label_, percent, words.empty() ? "" : ", ", words);
    }
    if (percent == shown_ && remark == shown_remark_) return;
    shown_ = percent;
    shown_remark_ = remark;
    const int width =
        std::max(10, std::min(40, base::terminal_columns() - static_cast<int>(label_.size() + words.size()) - 12));
    const int filled = percent * width / 100;
    std::string bar;
    for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "·";
    err_text("\r\033[K");
    err("{} {} {}% {}", label_, bar, padded(std::to_string(percent), 3), words);
}

}  // namespace backplane::cli
