// backplane: the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 128 + n ended by signal n.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "base/terminal.hpp"
#include "cli/cli.hpp"

namespace {

using namespace backplane;

constexpr std::array kCommands{cli::add_devices, cli::add_doctor,  cli::add_upscale, cli::add_verify, cli::add_tune,
                               cli::add_bench,   cli::add_modules, cli::add_model,   cli::add_cache};

int fail(const cli::Run& run, const char* code, const char* text, int exit_code) {
    std::fflush(stdout);
    if (run.json) cli::print({{"error", {{"code", code}, {"text", text}}}});
    std::fprintf(stderr, "backplane: %s\n", text);
    return exit_code;
}

int run_program(std::vector<std::string> arguments, cli::Run& run) {
    CLI::App app("Finds the compute devices of this machine, explains what it found, and runs networks on the best one.",
                 "backplane");
    app.set_version_flag("--version", BACKPLANE_VERSION);
    app.require_subcommand(1);
    app.get_formatter()->column_width(34);
    app.footer(
        "Examples:\n  backplane devices\n  backplane doctor\n  backplane upscale photo.jpg photo-x2.png\n"
        "Each command has its own --help.");
    for (const auto add : kCommands) add(app, run);
    try {
        // CLI11 takes them from the last to the first, without the program's name.
        app.parse(std::vector<std::string>(arguments.rbegin(),
                                           arguments.rend() - std::min<std::ptrdiff_t>(1, std::ssize(arguments))));
    } catch (const CLI::Success& asked) {
        return app.exit(asked);
    } catch (const CLI::ParseError& error) {
        app.exit(error);
        return cli::kUsage;
    }
    return run.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    const base::TerminalSetup terminal;
    cli::Run run;
    base::interrupt_sets(run.interrupted);
    try {
        return run_program(base::program_arguments(argc, argv), run);
    } catch (const Error& error) {
        const uint32_t number = run.interrupted.load();
        return fail(run, name_of(error.code()), error.what(),
                    error.code() == Code::cancelled && number != 0 ? 128 + static_cast<int>(number) : cli::kFailed);
    } catch (const std::bad_alloc&) {
        return fail(run, name_of(Code::no_host_memory),
                    "out of memory: close other programs, or work on less at once (--tile)", cli::kFailed);
    } catch (const std::exception& error) {
        return fail(run, name_of(Code::internal), error.what(), cli::kFailed);
    }
}
