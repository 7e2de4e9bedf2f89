#include "cli/usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/nearest.hpp"

namespace backplane::cli {

namespace {

const CLI::App& innermost(const CLI::App& app) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
    return *command;
}

// "bench ops", without the program's name.
std::string path_of(const CLI::App& command) {
    if (command.get_parent() == nullptr) return {};
    const std::string before = path_of(*command.get_parent());
    return before + (before.empty() ? "" : " ") + command.get_name();
}

std::vector<std::string> commands_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
    return names;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string where_to_read(const std::string& path) {
    return "; `backplane " + path + (path.empty() ? "" : " ") + "--help` shows what there is";
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const std::string meant = base::did_you_mean(name, options_of(command));
    const std::string path = path_of(command);
    return (path.empty() ? "" : path + ": ") + "there is no option '" + name + "'" +
           (meant.empty() ? where_to_read(path) : meant);
}

std::string unknown_command(const CLI::App& command, const std::string& word) {
    const std::string path = path_of(command);
    const std::string meant = base::did_you_mean(word, commands_of(command));
    return "there is no command '" + (path.empty() ? "" : path + " ") + word + "'" +
           (meant.empty() ? where_to_read(path) : meant);
}

// Whether the word is one that the parser could not place for want of a command before it.
std::string first_left_over(const CLI::App& command) {
    const std::vector<std::string> words = command.remaining();
    return words.empty() ? std::string() : words.front();
}

std::string lower_first(std::string text) {
    // "IN is required", "--scale: ..." stay; sentences of the parser start small behind a colon.
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = static_cast<char>(text[0] + 32);
    return text;
}

}  // namespace

std::string usage_text(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App& command = innermost(app);
    const std::string path = path_of(command), word = first_left_over(command);
    if (!word.empty() && word[0] == '-' && word.size() > 1) return unknown_option(command, word);
    if (const std::vector<std::string> commands = commands_of(command); !commands.empty())
        return word.empty()
                   ? (path.empty() ? "" : path + ": ") + "name a command, one of " + joined(commands) + where_to_read(path)
                   : unknown_command(command, word);
    if (!word.empty()) return path + ": '" + word + "' is one argument too many" + where_to_read(path);
    std::string text = lower_first(error.what());
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
    return (path.empty() ? "" : path + ": ") + text + where_to_read(path);
}

std::string unknown_command(const CLI::App& app) {
    const CLI::App& command = innermost(app);
    const std::string word = first_left_over(command);
    return word.empty() || word[0] == '-' || commands_of(command).empty() ? "" : unknown_command(command, word);
}

std::vector<std::string> with_words_for_options(std::vector<std::string> arguments) {
    if (arguments.size() > 1 && arguments[1] == "version") arguments[1] = "--version";
    if (arguments.size() > 1 && arguments[1] == "help") {
        arguments.erase(arguments.begin() + 1);
        arguments.emplace_back("--help");
    }
    return arguments;
}

}  // namespace backplane::cli
