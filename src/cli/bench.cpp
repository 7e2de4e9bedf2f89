#include "cli/cli.hpp"

namespace backplane::cli {

void add_bench(const Command& app, Run& run) {
    const Command command = app.subcommand("bench", "Measure ops, a network, plans, or discovery on this machine");
    command.needs_subcommand();
    command.footer(
        "Examples:\n  backplane bench esrgan --model medium\n  backplane bench ops --op Conv\n  backplane bench discovery");
    add_bench_ops(command, run);
    add_bench_esrgan(command, run);
    add_bench_chain(command, run);
    add_bench_plan(command, run);
    add_bench_state(command, run);
    add_bench_stream(command, run);
    add_bench_speech(command, run);
    add_bench_predict(command, run);
    add_bench_upscale(command, run);
    add_bench_discovery(command, run);
}

}  // namespace backplane::cli
