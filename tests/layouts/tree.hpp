// An installed application in a folder of the test's own, run as a user runs it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace backplane::layouts {

namespace fs = std::filesystem;

struct Outcome {
    int code = -1;  // 128 and more: a signal
    std::string output;
    base::Json report;  // null when the output is none
};

struct Launch {
    std::vector<std::string> command;  // the first is a path
    std::vector<std::string> environment;
    std::string called;      // argv[0]; empty: the path
    bool as_nobody = false;  // as a user without rights; for tests that run as root
    bool read_only = false;  // with the tree mounted read-only, in a mount namespace of its own
};

// A tree to lay things out in, beside a folder to stand in, which has modules for whoever looks at it, and a folder of programs. The names
// have a space and letters of several scripts. Gone with the test.
class Tree {
public:
    Tree();
    ~Tree();
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    [[nodiscard]] const fs::path& root() const { return root_; }
    [[nodiscard]] const fs::path& planted() const { return planted_; }
    [[nodiscard]] const fs::path& elsewhere() const { return elsewhere_; }

    // Copies from what was built: a program, a library.
    fs::path put(const char* built, const fs::path& to) const;
    // Puts everything of the install tree's module folder here, and a module that wants a trial.
    void put_modules(const fs::path& to) const;
    void move();  // the root, to another name

    // Runs standing in the folder of planted modules.
    [[nodiscard]] Outcome run(const Launch& what) const;
    // Was the folder of planted modules opened, or anything in it, since the last question?
    bool looked_at_planted();

private:
    fs::path base_, root_, planted_, elsewhere_;
    int watch_ = -1;
};

fs::path built(const char* name);

// Of a report: the folders that were searched, by kind: "library's folder: /path".
std::set<std::string> searched(const base::Json& report);
// The source of the module that brings a backend; "" when none does.
std::string source_of(const base::Json& report, const std::string& backend);

}  // namespace backplane::layouts
