// A ggml installation: a libggml-base and the backend modules that were built for it, judged and opened.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "module_check.hpp"

namespace backplane::ggml {

class Notebook;
struct Variant;

class Installation {
public:
    // Looks into `folders` in turn; the first that has a libggml-base counts, be it in ../lib or lib of that folder. `cpu_mask`:
    // features that must not be used, "avx512f,avx2". Throws sdk::Failure when no folder has one, or the one found cannot be used. A
    // module that cannot be used is left out, with a line in notes(). Of each kind the best is opened, and the others only where
    // neither `notebook` nor a sidecar tells which that is. `ears`: see BaseLibrary.
    Installation(std::span<const fs::path> folders, const std::string& cpu_mask, const Notebook& notebook, const Ears& ears);

    [[nodiscard]] const BaseLibrary& base() const { return *base_; }
    [[nodiscard]] const std::vector<FoundDevice>& devices() const { return devices_; }
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
    void take(Variant& variant, const std::string& cpu_mask);

    std::unique_ptr<const BaseLibrary> base_;
    std::vector<FoundDevice> devices_;
    std::vector<std::string> notes_;
};

}  // namespace backplane::ggml
