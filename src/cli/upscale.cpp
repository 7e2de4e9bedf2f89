#include <chrono>
#include <fstream>

#include "backplane/esrgan.hpp"
#include "base/file.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"
#include "cli/targets.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

struct UpscaleChoice : StoredModelChoice {
    DeviceChoice choice;
    std::string in, out, compare;
    int64_t tile = 0, overlap = 0;
    int quality = 95;
    bool force = false, progress = false;
};

// All that can be wrong with names is said before anything is loaded, and nothing that is read is ever written to unasked.
void check_names(const UpscaleChoice& o) {
    ImageWriter::check_name(base::path_of(o.out));
    check_target("OUT", o.out, o.in, o.force);
    if (o.compare.empty()) return;
    ImageWriter::check_name(base::path_of(o.compare));
    if (is_same_file(o.compare, o.in))
        throw UsageError("--compare '" + o.compare + "' is the input, which would be lost; name another file");
    if (is_same_file(o.compare, o.out))
        throw UsageError("--compare '" + o.compare + "' is OUT, the result, which would be lost; name another file");
    check_target("--compare", o.compare, o.in, o.force);
}

// Left the photograph with its pixels enlarged, right what the network made of it; one row in memory at a time.
void write_comparison(const UpscaleChoice& o, int scale, const std::string& path,
                      const std::unique_ptr<ImageReader>& before) {
    const auto after = ImageReader::open(base::path_of(o.out));
    const ImageInfo small = before->info();
    ImageInfo both = after->info();
    constexpr uint32_t kGap = 8;
    const uint32_t half = both.width;
    const uint32_t n = both.channels;
    if (small.channels != n && n != 3)
        throw Error(Code::unsupported, "cannot write " + path + ": the two pictures differ in channels");
    both.width = half * 2 + kGap;
    const auto out = ImageWriter::create(base::path_of(path), both);
    std::vector<uint8_t> source(size_t{small.width} * small.channels);
    std::vector<uint8_t> right(size_t{half} * n);
    std::vector<uint8_t> row(size_t{both.width} * n, 255);
    for (uint32_t y = 0; y < both.height; ++y) {
        if (y % static_cast<uint32_t>(scale) == 0) before->read(source);
        after->read(right);
        for (uint32_t x = 0; x < half; ++x)
            for (uint32_t c = 0; c < n; ++c)
                row[size_t{x} * n + c] = source[size_t{x} / static_cast<size_t>(scale) * small.channels + c];
        std::copy(right.begin(), right.end(), row.begin() + static_cast<std::ptrdiff_t>(size_t{half + kGap} * n));
        out->write(row);
    }
    out->finish();
}

void upscale(const UpscaleChoice& o, Run& run) {
    const auto started = std::chrono::steady_clock::now();
    run.if_cancelled = ": nothing was written";
    // Whatever is wrong with names and the input is said before anything long is begun.
    check_names(o);
    const auto in = ImageReader::open(base::path_of(o.in));
    // Opened now: with --force the name may be the result's by then.
    const auto before = o.compare.empty() ? nullptr : ImageReader::open(base::path_of(o.in));
    const auto model = std::make_shared<const Esrgan>(open_model(o));
    ContextOptions options = context_options(o.choice);
    const Context context(options);
    DeviceChoice choice = o.choice;
    std::string why;
    if (choice.device.empty() || choice.device == "auto") choice.device = tuned_for(context, *model);
    if (choice.device != o.choice.device && !choice.device.empty())
        why = choice.device + " was the fastest when it was tuned";
    const std::vector<Device> devices = open_with_fallback(context, choice);
    const Device& device = devices.front();
    if (why.empty()) why = context.why();
    if (!run.json)
        out("{}: {} x {} pixels\nmodel: {}\ndevice: {} ({}); {}\n", o.in, in->info().width, in->info().height, model->name(),
            device.info().id, device.info().name, why);
    UpscaleOptions how;
    how.tile = o.tile;
    how.overlap = o.overlap;
    how.image.jpeg_quality = o.quality;
    how.cancel = &run.interrupted;
    UpscaleResult result;
    {
        Progress progress("upscaling", o.progress);
        how.tiles_done = [&](int64_t done, int64_t of) {
            progress.show(static_cast<double>(done) / static_cast<double>(of),
                          std::to_string(done) + "/" + std::to_string(of) + (of == 1 ? " tile" : " tiles"));
        };
        Upscaler upscaler(devices, model);
        result = upscaler.run(*in, base::path_of(o.out), how);
    }
    run.if_cancelled = ": " + o.out + " is written" + (o.compare.empty() ? "" : ", " + o.compare + " is not");
    if (before) write_comparison(o, model->scale(), o.compare, before);
    const double total = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (run.json) {
        print({{"output", o.out},
               {"width", result.width},
               {"height", result.height},
               {"channels", result.channels},
               {"model", model->name()},
               {"device", device.info().id},
               {"why", why},
               {"tiles", result.tiles},
               {"tile", result.tile},
               {"seconds", result.seconds},
               {"total_seconds", total},
               {"placement", placement_json(result.placement)},
               {"compare", o.compare}});
        return;
    }
    out("{}: {} x {} in {} s ({} s with loading; {} {} of {} pixels)\n", o.out, result.width, result.height,
        fixed(result.seconds, 2), fixed(total, 2), result.tiles, result.tiles == 1 ? "tile" : "tiles", result.tile);
    if (!o.compare.empty()) out("{}: before and after\n", o.compare);
    print_placement(result.placement, o.choice.verbose);
}

}  // namespace

void add_upscale(const Command& app, Run& run) {
    const Command command = app.subcommand("upscale", "Enlarge a photograph with an ESRGAN network");
    auto o = std::make_shared<UpscaleChoice>();
    command.option("IN", o->in, "PNG or JPEG file").required();
    command.option("OUT", o->out, "File to write; .png, .jpg or .jpeg").required();
    add_stored_model_options(command, *o);
    command.option("--tile", o->tile, "Pixels of input worked on at once; less needs less memory")
        .type("N")
        .in_range(8, 65535);
    command.option("--overlap", o->overlap, "Pixels that neighbouring tiles share").type("N").in_range(1, 4096);
    command.option("--quality", o->quality, "Of a JPEG, 1 to 100").shows_default().in_range(1, 100);
    command.option("--compare", o->compare, "Also write a picture of before and after, side by side").type("FILE");
    command.flag("--force", o->force, "Write over the input, or over a file that is read-only");
    command.flag("--progress", o->progress, "Say how far it is, where there is no terminal to show a bar: ten lines");
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "A file OUT that is there is replaced when the new one is whole; the input never is without --force.\n"
        "Examples:\n  backplane upscale photo.jpg large.png\n  backplane upscale photo.png x4.png --model thick --scale 4 "
        "--device cpu --threads 2\n"
        "  backplane upscale huge.png huge-x2.png --tile 128");
    command.runs([o, &run] { upscale(*o, run); });
}

}  // namespace backplane::cli
