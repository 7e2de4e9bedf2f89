#include "backplane/esrgan.hpp"
#include "cli/bench_run.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"

namespace backplane::cli {

namespace {

struct EsrganChoice : StoredModelChoice {
    DeviceChoice choice;
    int runs = 9;
    int64_t size = 128;
    bool steps = false, resident = false;
};

void bench_esrgan(const EsrganChoice& o, Run& run) {
    const Esrgan model = open_model(o);
    const Context context(context_options(o.choice));
    const Device device = open_device(context, o.choice);
    Session session(device, model.graph(o.size, o.size), model.weights());
    constexpr double kSeconds = 2, kRange = 127;
    const Timing time = o.resident ? time_resident_session(session, device, o.runs, kSeconds, &run.interrupted, kRange)
                                   : time_session(session, o.runs, kSeconds, &run.interrupted, kRange);
    const Peak peak = measure_peak(device);
    const double gflops = model.flops(o.size, o.size) / time.median_ms / 1e6;
    const ProgramInfo& info = session.program().info();
    if (run.json) {
        print({{"model", model.name()},
               {"scale", model.scale()},
               {"size", o.size},
               {"dtype", o.dtype},
               {"device", device.info().id},
               {"name", device.info().name},
               {"threads", o.choice.threads},
               {"resident", o.resident},
               {"median_ms", time.median_ms},
               {"least_ms", time.least_ms},
               {"runs", time.runs},
               {"gflops", gflops},
               {"peak_gflops", peak.gflops},
               {"peak_read_gbytes", peak.gbytes},
               {"workspace_bytes", info.workspace_bytes},
               {"resident_bytes", info.resident_bytes},
               {"compile_ms", static_cast<double>(info.compile_ns) / 1e6}});
        return;
    }
    out("{} in {}, {} x {} pixels{}, on {} ({})\n", model.name(), o.dtype, o.size, o.size,
        o.resident ? " that stay there" : "", device.info().id, device.info().name);
    out("  {} ms median of {} runs (least {}), {} GFLOP/s of convolutions", fixed(time.median_ms, 2), time.runs,
        fixed(time.least_ms, 2), fixed(gflops, 0));
    if (peak.gflops > 0) out(", {} of the FMA peak of {}", fixed(gflops / peak.gflops, 2), fixed(peak.gflops, 0));
    out("\n  workspace {}, compiled in {} ms\n", human_bytes(info.workspace_bytes),
        fixed(static_cast<double>(info.compile_ns) / 1e6, 1));
    if (o.steps) out_lines(info.summary);
}

}  // namespace

void add_bench_esrgan(const Command& app, Run& run) {
    const Command command = app.subcommand("esrgan", "Time one ESRGAN network on one size of image");
    auto o = std::make_shared<EsrganChoice>();
    add_stored_model_options(command, *o);
    command.option("--size", o->size, "Width and height of the input in pixels").shows_default().in_range(1, 4096);
    command.option("--runs", o->runs, "Runs at least (and two seconds)").shows_default().in_range(1, 10000);
    command.flag("--resident", o->resident, "Pictures that stay on the device, in place of those in the host's memory");
    command.flag("--steps", o->steps, "Show what the device made of the graph");
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "GFLOP/s count the multiplications and additions of the convolutions as written, whatever algorithm is used: a fast "
        "one\n"
        "(Winograd) can pass the peak.\nExample:\n  backplane bench esrgan --model medium --scale 2 --size 256 --threads 1");
    command.runs([o, &run] { bench_esrgan(*o, run); });
}

}  // namespace backplane::cli
