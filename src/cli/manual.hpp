// Man pages and completions, made of what the help says (CommandText).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"

namespace backplane::cli {

// Names of the files and their texts: backplane.1, and of each command backplane-COMMAND.1.
std::vector<std::pair<std::string, std::string>> man_pages(const CommandText& program);

// A file of completions for a shell: "bash", "zsh", "fish".
std::string completions(const CommandText& program, const std::string& shell);

// `completion SHELL` and `man`; `text` is of the program that they are part of.
void add_manual(const Command& app, const std::function<CommandText()>& text);

}  // namespace backplane::cli
