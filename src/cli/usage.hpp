// Wrong use, in one line.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace backplane::cli {

// Arguments that make no sense together, or name nothing: exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What the parser found wrong, as a sentence: the command, the word, what was probably meant, where to read on.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error);

// Of arguments that ask for help or the version: "" or what is wrong with the command they name.
std::string unknown_command(const CLI::App& app);

// `backplane help [COMMAND]` and `backplane version` are the options of the same names.
std::vector<std::string> with_words_for_options(std::vector<std::string> arguments);

}  // namespace backplane::cli
