#include <chrono>
#include <fstream>

#include "backplane/esrgan.hpp"
#include "base/file.hpp"
#include "cli/cli.hpp"
#include "cli/model_files.hpp"

namespace backplane::cli {

namespace {

struct UpscaleChoice {
    DeviceChoice choice;
    std::string in, out, model = "medium", models, compare, dtype = "f32";
    int scale = 2;
    int64_t tile = 0, overlap = 0;
    int quality = 95;
};

// Left the photograph with its pixels enlarged, right what the network made of it; one row in memory at a time.
void write_comparison(const UpscaleChoice& o, int scale, const std::string& path) {
    const auto before = ImageReader::open(base::path_of(o.in));
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
    // Whatever is wrong with the input is said before anything long is begun.
    const auto in = ImageReader::open(base::path_of(o.in));
    const auto model = std::make_shared<const Esrgan>(
        Esrgan::open(find_model(o.model, o.scale, o.models)).stored_as(o.dtype == "f16" ? DType::f16 : DType::f32));
    ContextOptions options = context_options(o.choice);
    const Context context(options);
    DeviceChoice choice = o.choice;
    std::string why;
    if (choice.device.empty() || choice.device == "auto") choice.device = tuned_for(context, *model);
    if (choice.device != o.choice.device && !choice.device.empty())
        why = choice.device + " was the fastest when it was tuned";
    const std::vector<Device> devices = open_with_fallback(context, choice);
    const Device& device = devices.front();
    if (why.empty()) why = context.report().why;
    if (!run.json)
        std::printf("%s: %u x %u pixels\nmodel: %s\ndevice: %s (%s); %s\n", o.in.c_str(), in->info().width,
                    in->info().height, model->name().c_str(), device.info().id.c_str(), device.info().name.c_str(),
                    why.c_str());
    UpscaleOptions how;
    how.tile = o.tile;
    how.overlap = o.overlap;
    how.image.jpeg_quality = o.quality;
    how.cancel = &run.interrupted;
    UpscaleResult result;
    {
        Progress progress("upscaling");
        how.progress = [&](double done) { progress.show(done); };
        Upscaler upscaler(devices, model);
        result = upscaler.run(*in, base::path_of(o.out), how);
    }
    if (!o.compare.empty()) write_comparison(o, model->scale(), o.compare);
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
    std::printf("%s: %u x %u in %.2f s (%.2f s with loading; %lld %s of %lld pixels)\n", o.out.c_str(), result.width,
                result.height, result.seconds, total, static_cast<long long>(result.tiles),
                result.tiles == 1 ? "tile" : "tiles", static_cast<long long>(result.tile));
    if (!o.compare.empty()) std::printf("%s: before and after\n", o.compare.c_str());
    print_placement(result.placement, o.choice.verbose);
}

}  // namespace

void add_upscale(CLI::App& app, Run& run) {
    CLI::App* command = app.add_subcommand("upscale", "Enlarge a photograph with an ESRGAN network");
    auto o = std::make_shared<UpscaleChoice>();
    command->add_option("IN", o->in, "PNG or JPEG file")->required();
    command->add_option("OUT", o->out, "File to write; .png, .jpg or .jpeg")->required();
    command->add_option("--model", o->model, "slim, medium, thick, or a .gguf file")
        ->capture_default_str()
        ->type_name("MODEL");
    command->add_option("--scale", o->scale, "How many times larger; a .gguf file has its own")
        ->capture_default_str()
        ->check(CLI::IsMember({2, 3, 4, 8}));
    command->add_option("--models", o->models, "Folder of the models' files")->type_name("DIR");
    command->add_option("--dtype", o->dtype, "Of weights and feature maps: f16 needs half the memory; sums are float32")
        ->capture_default_str()
        ->check(CLI::IsMember({"f32", "f16"}));
    command->add_option("--tile", o->tile, "Pixels of input worked on at once; less needs less memory")
        ->type_name("N")
        ->check(CLI::Range(8, 65535));
    command->add_option("--overlap", o->overlap, "Pixels that neighbouring tiles share")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    command->add_option("--quality", o->quality, "Of a JPEG, 1 to 100")->capture_default_str()->check(CLI::Range(1, 100));
    command->add_option("--compare", o->compare, "Also write a picture of before and after, side by side")
        ->type_name("FILE");
    add_device_options(*command, o->choice);
    add_json_option(*command, run);
    command->footer(
        "Examples:\n  backplane upscale photo.jpg large.png\n  backplane upscale photo.png x4.png --model thick --scale 4 "
        "--device cpu --threads 2\n"
        "  backplane upscale huge.png huge-x2.png --tile 128");
    command->callback([o, &run] { upscale(*o, run); });
}

}  // namespace backplane::cli
