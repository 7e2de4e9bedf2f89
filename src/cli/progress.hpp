// How far a long command is.
#pragma once

#include <chrono>
#include <string>

namespace backplane::cli {

// On a terminal a bar on the error stream, with what is left of the time; elsewhere nothing or, if `lines`, a line for each tenth.
class Progress {
public:
    explicit Progress(std::string label, bool lines = false);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void show(double done, const std::string& remark = {});  // 0 to 1
    void hide();                                             // until it is shown again: something else is printed

private:
    std::string label_;
    bool bar_, lines_;
    int shown_ = -1, tenth_ = 0;
    std::string shown_remark_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace backplane::cli
