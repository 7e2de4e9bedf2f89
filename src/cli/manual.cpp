#include "cli/manual.hpp"

#include "base/file.hpp"
#include "base/replacing_file.hpp"

namespace backplane::cli {

namespace {

// For troff: a backslash is written out, a line that starts with a dot or an apostrophe is no request, a dash is one that can be searched for.
std::string troff(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (escaped.empty() || escaped.back() == '\n')
            if (c == '.' || c == '\'') escaped += "\\&";
        if (c == '\\')
            escaped += "\\e";
        else if (c == '-')
            escaped += "\\-";
        else
            escaped += c;
    }
    return escaped;
}

// How an argument is written: "--output FILE", "[FILE ...]".
std::string usage_of(const ArgumentText& argument) {
    std::string text = argument.names.front() + (argument.value.empty() || argument.positional ? "" : " " + argument.value) +
                       (argument.many && argument.positional ? " ..." : "");
    return argument.required ? text : "[" + text + "]";
}

void add_arguments(std::string& page, const CommandText& command) {
    for (const ArgumentText& argument : command.arguments) {
        std::string names;
        for (const std::string& name : argument.names) names += (names.empty() ? "" : ", ") + name;
        if (!argument.positional && !argument.value.empty()) names += " " + argument.value;
        page += ".TP\n.B " + troff(names) + "\n" + troff(argument.description) + "\n";
    }
}

void add_footer(std::string& page, const CommandText& command) {
    if (!command.footer.empty()) page += ".PP\n.nf\n" + troff(command.footer) + "\n.fi\n";
}

void add_synopsis(std::string& page, const CommandText& command, const std::string& path) {
    page += ".B " + troff(path) + "\n";
    if (!command.commands.empty()) page += "COMMAND ...\n.br\n";
    for (const ArgumentText& argument : command.arguments)
        if (command.commands.empty() && (argument.positional || argument.required)) page += troff(usage_of(argument)) + "\n";
    if (command.commands.empty()) page += "[OPTION ...]\n.br\n";
}

void add_below(std::string& page, const CommandText& command, const std::string& path) {
    for (const CommandText& below : command.commands) {
        page += ".SH " + troff(path + " " + below.name) + "\n";
        page += troff(below.description) + "\n.PP\n";
        add_synopsis(page, below, path + " " + below.name);
        add_arguments(page, below);
        add_footer(page, below);
        add_below(page, below, path + " " + below.name);
    }
}

std::string man_page(const CommandText& command, const std::string& path, bool with_commands) {
    std::string dashed = path;
    for (char& c : dashed) c = c == ' ' ? '-' : c;
    std::string page = ".TH " + troff(dashed) + " 1 \"\" \"backplane " BACKPLANE_VERSION "\"\n.SH NAME\n" + troff(dashed) +
                       " \\- " + troff(command.description) + "\n.SH SYNOPSIS\n";
    add_synopsis(page, command, path);
    if (!command.arguments.empty()) page += ".SH OPTIONS\n";
    add_arguments(page, command);
    if (with_commands) add_below(page, command, path);
    if (!with_commands) {
        page += ".SH COMMANDS\n";
        for (const CommandText& below : command.commands)
            page += ".TP\n.BR " + troff(path + "-" + below.name) + " (1)\n" + troff(below.description) + "\n";
    }
    add_footer(page, command);
    return page;
}

// ---- completions ------------------------------------------------------------------------------------------------------------

// Calls `f` with each command and its path, "" for the program's own, " bench ops".
void for_each_command(const CommandText& command, const std::string& path,
                      const std::function<void(const CommandText&, const std::string&)>& f) {
    f(command, path);
    for (const CommandText& below : command.commands) for_each_command(below, path + " " + below.name, f);
}

std::string spaced(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// In apostrophes, for any of these shells; descriptions end with their first sentence.
std::string quoted(const std::string& text, bool fish = false) {
    std::string made = "'";
    for (const char c : text) {
        if (c == '\n') break;
        if (c == '\'')
            made += fish ? "\\'" : "'\\''";
        else if (c == '\\' && fish)
            made += "\\\\";
        else
            made += c;
    }
    return made + "'";
}

bool is_folder(const ArgumentText& argument) { return argument.value == "DIR"; }

// The lines of a `case` that follows the words before the cursor to the command that they name: the same in bash and zsh.
std::string path_cases(const CommandText& program) {
    std::string cases;
    for_each_command(program, "", [&](const CommandText&, const std::string& path) {
        if (!path.empty()) cases += std::string(cases.empty() ? "" : "|") + "\"" + path + "\"";
    });
    return cases;
}

// Likewise: the pattern of such a line for the value of an argument.
std::string value_pattern(const std::string& path, const ArgumentText& argument) {
    std::string pattern;
    for (const std::string& name : argument.names)
        pattern += (pattern.empty() ? "        \"" : "|\"") + path + ":" + name + "\"";
    return pattern + ") ";
}

std::string bash(const CommandText& program) {
    std::string values;
    std::string words;
    for_each_command(program, "", [&](const CommandText& command, const std::string& path) {
        std::vector<std::string> all;
        for (const CommandText& below : command.commands) all.push_back(below.name);
        for (const ArgumentText& argument : command.arguments) {
            if (argument.positional) {
                all.insert(all.end(), argument.words.begin(), argument.words.end());
                continue;
            }
            all.insert(all.end(), argument.names.begin(), argument.names.end());
            if (argument.value.empty()) continue;
            values += value_pattern(path, argument);
            if (!argument.words.empty())
                values += "COMPREPLY=($(compgen -W " + quoted(spaced(argument.words)) + " -- \"$cur\")); return ;;\n";
            else
                values += is_folder(argument) ? "COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n" : "return ;;\n";
        }
        words += "        \"" + path + "\") words=" + quoted(spaced(all)) + " ;;\n";
    });
    return "# Completions of " + program.name + " for bash, made of its own description.\n_" + program.name +
           "() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} path= words= i\n"
           "    COMPREPLY=()\n    for ((i = 1; i < COMP_CWORD; ++i)); do\n        case \"$path ${COMP_WORDS[i]}\" in\n      "
           "      " +
           path_cases(program) +
           ") path=\"$path ${COMP_WORDS[i]}\" ;;\n        esac\n    done\n    case \"$path:$prev\" in\n" + values +
           "    esac\n    case \"$path\" in\n" + words +
           "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
           "# Where no word fits, names of files.\ncomplete -o bashdefault -o default -F _" +
           program.name + " " + program.name + "\n";
}

std::string zsh(const CommandText& program) {
    std::string values;
    std::string words;
    auto row = [](const std::string& name, const std::string& description) {
        std::string escaped;
        for (const char c : name) escaped += c == ':' ? std::string("\\:") : std::string(1, c);
        return quoted(escaped + ":" + description) + " ";
    };
    for_each_command(program, "", [&](const CommandText& command, const std::string& path) {
        words += "        \"" + path + "\") all=(";
        for (const CommandText& below : command.commands) words += row(below.name, below.description);
        for (const ArgumentText& argument : command.arguments) {
            if (argument.positional) {
                for (const std::string& word : argument.words) words += row(word, argument.description);
                continue;
            }
            for (const std::string& name : argument.names) words += row(name, argument.description);
            if (argument.value.empty()) continue;
            values += value_pattern(path, argument);
            values += argument.words.empty() ? (is_folder(argument) ? "_files -/" : "_files")
                                             : "compadd -- " + spaced(argument.words);
            values += "; return ;;\n";
        }
        words += ") ;;\n";
    });
    return "#compdef " + program.name + "\n# Completions of " + program.name +
           " for zsh, made of its own description.\nlocal path_= i\n"
           "local -a all\nfor ((i = 2; i < CURRENT; ++i)); do\n    case \"$path_ ${words[i]}\" in\n        " +
           path_cases(program) +
           ") path_=\"$path_ ${words[i]}\" ;;\n    esac\ndone\ncase \"$path_:${words[CURRENT - 1]}\" in\n" + values +
           "esac\ncase \"$path_\" in\n" + words + "esac\n_describe -t values value all || _files\n";
}

std::string fish(const CommandText& program) {
    std::string cases;
    std::string rows;
    const std::string function = "__" + program.name + "_at";
    for_each_command(program, "", [&](const CommandText& command, const std::string& path) {
        if (!path.empty()) cases += " " + quoted(path, true);
        const std::string at = "complete -c " + program.name + " -n " + quoted(function + " \"" + path + "\"", true);
        for (const CommandText& below : command.commands)
            rows += at + " -f -a " + quoted(below.name, true) + " -d " + quoted(below.description, true) + "\n";
        for (const ArgumentText& argument : command.arguments) {
            if (argument.positional) {
                if (!argument.words.empty()) rows += at + " -f -a " + quoted(spaced(argument.words), true) + "\n";
                continue;
            }
            rows += at;
            for (const std::string& name : argument.names)
                rows += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (!argument.words.empty())
                rows += " -x -a " + quoted(spaced(argument.words), true);
            else if (!argument.value.empty())
                rows += is_folder(argument) ? " -x -a '(__fish_complete_directories)'" : " -r";
            rows += " -d " + quoted(argument.description, true) + "\n";
        }
    });
    return "# Completions of " + program.name + " for fish, made of its own description.\nfunction " + function +
           "\n    set -l path ''\n    for word in (commandline -opc)[2..-1]\n        switch \"$path $word\"\n            "
           "case" +
           cases +
           "\n                set path \"$path $word\"\n        end\n    end\n    test \"$path\" = \"$argv[1]\"\nend\n" +
           rows;
}

void write_quickly(const std::filesystem::path& path, const std::string& text) {
    base::write_text(path, text, {.durable = false});
}

}  // namespace

std::vector<std::pair<std::string, std::string>> man_pages(const CommandText& program) {
    std::vector<std::pair<std::string, std::string>> pages{{program.name + ".1", man_page(program, program.name, false)}};
    for (const CommandText& command : program.commands)
        pages.emplace_back(program.name + "-" + command.name + ".1",
                           man_page(command, program.name + " " + command.name, true));
    return pages;
}

std::string completions(const CommandText& program, const std::string& shell) {
    return shell == "bash" ? bash(program) : shell == "zsh" ? zsh(program) : fish(program);
}

void add_manual(const Command& app, const std::function<CommandText()>& text) {
    struct Options {
        std::string shell, to;
    };
    auto o = std::make_shared<Options>();
    const Command completing = app.subcommand("completion", "Completions of this program for a shell");
    completing.option("SHELL", o->shell, "The shell").required().one_of({"bash", "zsh", "fish"});
    completing.option("--output,-o", o->to, "The file to write; without it: to the output").type("FILE");
    completing.footer(
        "Examples:\n  . <(backplane completion bash)\n  backplane completion fish -o "
        "~/.config/fish/completions/backplane.fish");
    completing.runs([o, text] {
        const std::string made = completions(text(), o->shell);
        if (o->to.empty()) return out_lines(made);
        write_quickly(base::path_of(o->to), made);
    });
    auto folder = std::make_shared<std::string>();
    const Command man = app.subcommand("man", "Man pages of all commands");
    man.option("DIR", *folder, "The folder to write them to").required();
    man.footer("Example:\n  backplane man ~/.local/share/man/man1");
    man.runs([folder, text] {
        for (const auto& [name, page] : man_pages(text())) write_quickly(base::path_of(*folder) / name, page);
    });
}

}  // namespace backplane::cli
