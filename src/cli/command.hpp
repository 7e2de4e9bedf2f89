// Commands and their options. The library that reads them (CLI11) is seen by command.cpp and usage.cpp alone: each file that includes it takes
// the compiler seconds more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace backplane::cli {

// One option or argument of a command. A handle: what it names lives as long as the program's first command.
class Argument {
public:
    explicit Argument(CLI::Option* option) noexcept : option_(option) {}

    Argument required() const;
    Argument type(const std::string& name) const;      // the word for its value in the help: "FILE"
    Argument group(const std::string& heading) const;  // of the help; "" hides it
    Argument shows_default() const;                    // what its variable holds now
    Argument in_range(int64_t least, int64_t most) const;
    Argument between(double least, double most) const;
    Argument one_of(const std::vector<std::string>& words) const;
    Argument value_optional() const;  // without one its variable is empty; not with shows_default()
    // `wrong` says what is wrong with a value; "": nothing.
    Argument check(const std::function<std::string(const std::string&)>& wrong) const;
    Argument excludes(Argument other) const;
    Argument noted_in(bool& given) const;                  // true once it was given, whatever its value
    Argument once_each() const;                            // one value for each time it is given
    Argument separated(int values, char separator) const;  // exactly so many values: "1,2,3"
    Argument separated(char separator) const;              // one or more

private:
    CLI::Option* option_;
};

// The program's command or one below it. A handle, as Argument is.
class Command {
public:
    explicit Command(CLI::App& app) noexcept : app_(&app) {}

    Command subcommand(const std::string& name, const std::string& description) const;
    void needs_subcommand() const;  // one of them
    // The variable is written when the arguments are read and lives until then; what it holds before stays without the option.
    // `names`: "--scale", or "FILE" for an argument by its place.
    Argument option(const std::string& names, std::string& variable, const std::string& description) const;
    Argument option(const std::string& names, std::vector<std::string>& variable, const std::string& description) const;
    Argument option(const std::string& names, int& variable, const std::string& description) const;
    Argument option(const std::string& names, int64_t& variable, const std::string& description) const;
    Argument option(const std::string& names, double& variable, const std::string& description) const;
    Argument option(const std::string& names, std::vector<int64_t>& variable, const std::string& description) const;
    Argument flag(const std::string& names, bool& variable, const std::string& description) const;
    void footer(const std::string& text) const;  // of the help
    void runs(const std::function<void()>& function) const;

private:
    CLI::App* app_;
};

// What the help says, as data: for man pages and completions.
struct ArgumentText {
    std::vector<std::string> names;  // "--output", "-o"; of an argument by its place its word, "FILE"
    std::string value;               // the word for its value; empty: it has none
    std::vector<std::string> words;  // the values that there are; empty: any
    std::string description, group;
    bool positional = false, many = false, required = false;
};
struct CommandText {
    std::string name, description, footer;
    std::vector<ArgumentText> arguments;  // in the order of the help; without those that it hides
    std::vector<CommandText> commands;
};

// All commands and the arguments that choose among them.
class Program {
public:
    Program(const std::string& name, const std::string& version, const std::string& description);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] Command command() noexcept;  // the one that all are below
    [[nodiscard]] std::string help() const;
    [[nodiscard]] CommandText text() const;
    // Runs what the arguments ask for, the program's name first. Returns the text to print where that is the help or the version, else "".
    // Throws UsageError for what makes no command, and what the command throws.
    std::string run(const std::vector<std::string>& arguments);

private:
    std::unique_ptr<CLI::App> app_;
};

}  // namespace backplane::cli
