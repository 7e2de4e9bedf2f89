// backplane: the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 128 + n ended by signal n.
#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "base/environment.hpp"
#include "base/terminal.hpp"
#include "cli/cli.hpp"
#include "cli/machines.hpp"
#include "cli/manual.hpp"
#include "cli/usage.hpp"

namespace {

using namespace backplane;

constexpr std::array kCommands{cli::add_devices,    cli::add_doctor, cli::add_upscale, cli::add_verify, cli::add_plan,
                               cli::add_tune,       cli::add_bench,  cli::add_modules, cli::add_model,  cli::add_cache,
                               cli::add_transcribe, cli::add_run,    cli::add_machine, cli::add_bundle};

int fail(const cli::Run& run, const char* code, const std::string& text, int exit_code) {
    if (exit_code == cli::kUsage)
        cli::err("backplane: {}\n", text);  // the words of the user are in it: they make no lines of their own
    else
        cli::err_lines(text);
    if (!run.json) return exit_code;
    try {
        cli::print({{"error", {{"code", code}, {"text", text}}}});
        static_cast<void>(base::flush_output());
    } catch (const Error&) {
        // That the output cannot be written is no news by now, or adds nothing.
    }
    return exit_code;
}

// After a signal, whatever else went wrong on the way out is a consequence of it.
int fail(const cli::Run& run, const Error& error) {
    const auto number = static_cast<int>(run.interrupted.load());
    if (number == 0) return fail(run, name_of(error.code()), error.what(), cli::kFailed);
    return fail(run, name_of(Code::cancelled), "cancelled" + run.if_cancelled, 128 + number);
}

int run_program(const std::vector<std::string>& arguments, cli::Run& run) {
    cli::Program program(
        "backplane", BACKPLANE_VERSION,
        "Finds the compute devices of this machine, explains what it found, and runs networks on the best one.");
    program.command().footer(
        "Examples:\n  backplane devices\n  backplane doctor\n  backplane upscale photo.jpg photo-x2.png\n"
        "Each command has its own --help; `backplane help COMMAND` shows it, too.\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 128 + n ended by signal n (130 after Ctrl-C).");
    for (const auto add : kCommands) add(program.command(), run);
    cli::add_manual(program.command(), [&program] { return program.text(); });
    if (arguments.size() <= 1) {  // nothing was asked for and nothing done: help, and no success
        cli::out("{}\n", cli::Safe{program.help()});
        return cli::kUsage;
    }
    if (const std::string text = program.run(arguments); !text.empty()) cli::out("{}\n", cli::Safe{text});
    return run.exit_code;
}

// A result that did not arrive is a failure, whatever the command came to.
int run_and_deliver(const std::vector<std::string>& arguments, cli::Run& run) {
    const int exit_code = run_program(arguments, run);
    if (const int problem = base::flush_output(); problem != 0 && exit_code == cli::kDone)
        throw Error(Code::denied, "cannot write the output: " + std::generic_category().message(problem));
    return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    const base::TerminalSetup terminal;
    // CUDA's driver makes a context of eight channels to the device, in 100 ms, and lets it go in 60; one queue that computes and two that
    // copy need no more than two (docs/benchmarks.md).
    base::set_where_unset("CUDA_DEVICE_MAX_CONNECTIONS", "2");
    cli::Run run;
    base::interrupt_sets(run.interrupted);
    try {
        const std::vector<std::string> arguments = cli::with_words_for_options(base::program_arguments(argc, argv));
        // For what is wrong with the arguments themselves; the commands that have the option set it as well.
        run.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
        return run_and_deliver(arguments, run);
    } catch (const cli::UsageError& error) {
        return fail(run, "usage", error.what(), cli::kUsage);
    } catch (const OptionError& error) {
        return fail(run, "usage", error.what(), cli::kUsage);
    } catch (const Error& error) {
        return fail(run, error);
    } catch (const std::bad_alloc&) {
        return fail(run,
                    Error(Code::no_host_memory, "out of memory: close other programs, or work on less at once (--tile)"));
    } catch (const std::exception& error) {
        return fail(run, Error(Code::internal, error.what()));
    }
}
