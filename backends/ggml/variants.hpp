// The modules of an installation, which come in variants of a kind ("cpu" for many processors): which is the best here, opening as few of
// them as that takes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platform/library.hpp"

namespace backplane::ggml {

// Texts that outlive the process, kept by whoever can: the host's cache. A text that was never kept, or is gone, is empty.
class Notebook {
public:
    virtual ~Notebook() = default;
    [[nodiscard]] virtual std::string read(const std::string& key) const = 0;
    virtual void write(const std::string& key, const std::string& text) const = 0;
};

struct Variant {
    fs::path file;
    Library library;       // open when it was asked
    int score = 0;         // by the module itself; 0: not for this processor
    bool asked = false;    // in this process; else it was remembered, or a sidecar says so
    bool sidecar = false;  // which is for this file by its size
};

// The first feature that `mask` ("b,c") forbids; empty: none.
std::string forbidden(const std::vector<std::string>& features, const std::string& mask);

class Variants {
public:
    // In `folder`, to be bound to `base`. What is left out gets a line in `notes`, which outlives this.
    Variants(const fs::path& folder, const fs::path& base, const std::string& cpu_mask, const Notebook& notebook,
             std::vector<std::string>& notes);

    [[nodiscard]] std::vector<std::string> kinds() const;
    // The best of a kind, opened and asked for its score whatever was known of it; null: none is left.
    Variant* best(const std::string& kind);
    void drop_best(const std::string& kind);

private:
    void find_modules();
    [[nodiscard]] std::string key() const;
    bool recall(const std::string& text);
    [[nodiscard]] std::string memory() const;
    bool by_sidecar(Variant& variant, const std::string& cpu_mask);
    void ask(Variant& variant);  // opens it; throws
    void leave_out(const fs::path& file, const std::string& why);

    const fs::path folder_;
    const fs::path& base_;
    std::vector<std::string>& notes_;
    std::map<std::string, std::vector<Variant>> kinds_;  // the best first
};

}  // namespace backplane::ggml
