#include "cli/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

// The parser's words for a type and its check, "N:INT in [1 - 100]" or "TEXT:{f32,f16}", as people write them.
struct ValueText {
    std::string shown;
    std::vector<std::string> words;
};
// Where the words of the check begin, if there is one: a colon in brackets is of the type, "encoder=[rows:]DEVICE".
size_t colon_of_check(const std::string& type) {
    int brackets = 0;
    for (size_t i = 0; i < type.size(); ++i) {
        brackets += type[i] == '[' ? 1 : type[i] == ']' ? -1 : 0;
        if (type[i] == ':' && brackets == 0) return i;
    }
    return std::string::npos;
}
ValueText value_of(const CLI::Option& option) {
    ValueText value;
    if (option.get_type_size() == 0) return value;
    const std::string type = option.get_type_name();
    const size_t colon = colon_of_check(type);
    value.shown = type.substr(0, colon);
    if (const std::string check = colon == std::string::npos ? "" : type.substr(colon + 1); check.starts_with('{')) {
        value.shown = check.substr(1, check.find('}') - 1);
        for (size_t at = 0; at <= value.shown.size();) {
            const size_t end = std::min(value.shown.find(',', at), value.shown.size());
            value.words.push_back(value.shown.substr(at, end - at));
            at = end + 1;
        }
        std::replace(value.shown.begin(), value.shown.end(), ',', '|');
    } else if (value.shown == "INT" || value.shown == "UINT" || value.shown == "FLOAT") {
        value.shown = "N";
    }
    if (value.shown == "TEXT" && option.get_positional()) value.shown.clear();
    return value;
}

bool takes_many(const CLI::Option& option) {
    return option.get_type_size() != 0 && option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::string description_of(const CLI::Option& option) {
    const std::string standard = option.get_default_str();
    return option.get_description() +
           (standard.empty() || option.get_type_size() == 0 ? "" : " (without it: " + standard + ")");
}

CommandText text_of(const CLI::App& app) {
    CommandText text;
    text.name = app.get_name();
    text.description = app.get_description();
    text.footer = app.get_footer();
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        ArgumentText argument;
        const ValueText value = value_of(*option);
        argument.positional = option->get_positional();
        if (argument.positional) argument.names = {option->get_name(true)};
        for (const std::string& name : option->get_lnames()) argument.names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) argument.names.push_back("-" + name);
        argument.value = value.shown;
        argument.words = value.words;
        argument.description = description_of(*option);
        argument.group = option->get_group();
        argument.many = takes_many(*option);
        argument.required = option->get_required();
        text.arguments.push_back(std::move(argument));
    }
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        text.commands.push_back(text_of(*command));
    return text;
}

// The help of all commands: types and defaults as people write them.
class Help : public CLI::Formatter {
public:
    Help() {
        column_width(34);
        label("SUBCOMMAND", "COMMAND");
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string shown = value_of(*option).shown;
        return (shown.empty() ? "" : " " + shown) + (takes_many(*option) ? " ..." : "");
    }

    std::string make_option_desc(const CLI::Option* option) const override { return description_of(*option); }
};

}  // namespace

Argument Argument::required() const { return Argument(option_->required()); }
Argument Argument::type(const std::string& name) const { return Argument(option_->type_name(name)); }
Argument Argument::group(const std::string& heading) const { return Argument(option_->group(heading)); }
Argument Argument::shows_default() const { return Argument(option_->capture_default_str()); }
Argument Argument::in_range(int64_t least, int64_t most) const { return Argument(option_->check(CLI::Range(least, most))); }
Argument Argument::between(double least, double most) const {
    const auto is_number = [](const std::string& text) {
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && std::isnan(value) ? "Value " + text + " is no number"
                                                                           : std::string();
    };
    return Argument(option_->check(CLI::Range(least, most))->check(is_number));
}
Argument Argument::one_of(const std::vector<std::string>& words) const {
    return Argument(option_->check(CLI::IsMember(words)));
}
Argument Argument::value_optional() const { return Argument(option_->expected(0, 1)); }
Argument Argument::check(const std::function<std::string(const std::string&)>& wrong) const {
    return Argument(option_->check(wrong));
}
Argument Argument::excludes(Argument other) const { return Argument(option_->excludes(other.option_)); }
Argument Argument::noted_in(bool& given) const {
    return Argument(option_->each([&given](const std::string&) { given = true; }));
}
Argument Argument::once_each() const { return Argument(option_->allow_extra_args(false)); }
Argument Argument::separated(int values, char separator) const {
    return Argument(option_->delimiter(separator)->expected(values));
}
Argument Argument::separated(char separator) const {
    return Argument(
        option_->delimiter(separator)->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false));
}

Command Command::subcommand(const std::string& name, const std::string& description) const {
    return Command(*app_->add_subcommand(name, description));
}
void Command::needs_subcommand() const { app_->require_subcommand(1); }
Argument Command::option(const std::string& names, std::string& variable, const std::string& description) const {
    return Argument(app_->add_option(names, variable, description));
}
Argument Command::option(const std::string& names, std::vector<std::string>& variable,
                         const std::string& description) const {
    return Argument(app_->add_option(names, variable, description));
}
Argument Command::option(const std::string& names, int& variable, const std::string& description) const {
    return Argument(app_->add_option(names, variable, description));
}
Argument Command::option(const std::string& names, int64_t& variable, const std::string& description) const {
    return Argument(app_->add_option(names, variable, description));
}
Argument Command::option(const std::string& names, double& variable, const std::string& description) const {
    return Argument(app_->add_option(names, variable, description));
}
Argument Command::option(const std::string& names, std::vector<int64_t>& variable, const std::string& description) const {
    return Argument(app_->add_option(names, variable, description));
}
Argument Command::flag(const std::string& names, bool& variable, const std::string& description) const {
    return Argument(app_->add_flag(names, variable, description));
}
void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::runs(const std::function<void()>& function) const { app_->callback(function); }

Program::Program(const std::string& name, const std::string& version, const std::string& description)
    : app_(std::make_unique<CLI::App>(description, name)) {
    app_->formatter(std::make_shared<Help>());
    app_->set_version_flag("--version", version);
    app_->require_subcommand(1);
}
Program::~Program() = default;

Command Program::command() noexcept { return Command(*app_); }

std::string Program::help() const { return app_->help(); }

CommandText Program::text() const { return text_of(*app_); }

std::string Program::run(const std::vector<std::string>& arguments) {
    try {
        // CLI11 takes them from the last to the first, without the program's name.
        app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend() - 1));
    } catch (const CLI::CallForVersion& asked) {
        return asked.what();
    } catch (const CLI::Success&) {
        if (const std::string wrong = unknown_command(*app_); !wrong.empty()) throw UsageError(wrong);
        return app_->help();
    } catch (const CLI::ParseError& error) {
        throw UsageError(usage_text(*app_, error));
    }
    return {};
}

}  // namespace backplane::cli
