#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>

#include "backplane/esrgan.hpp"
#include "base/elapsed.hpp"
#include "base/file.hpp"
#include "base/terminal.hpp"
#include "cli/batch_command.hpp"
#include "cli/cli.hpp"
#include "cli/dtype_choice.hpp"
#include "cli/memory_options.hpp"
#include "cli/model_files.hpp"
#include "cli/place_options.hpp"
#include "cli/predicted.hpp"
#include "cli/soonest.hpp"
#include "cli/targets.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

struct UpscaleChoice : StoredModelChoice {
    DeviceChoice choice;
    MemoryChoice memory;
    PlaceChoice place;
    BatchChoice many;
    std::vector<std::string> files;  // IN and OUT, or with --output and --manifest all that are read
    std::string in, out, compare;
    int64_t tile = 0, overlap = 0;
    int quality = 95;
};

// All that can be wrong with names is said before anything is loaded, and nothing that is read is ever written to unasked.
void check_names(const UpscaleChoice& o) {
    ImageWriter::check_name(base::path_of(o.out));
    check_target("OUT", o.out, o.in, o.many.force);
    if (o.compare.empty()) return;
    ImageWriter::check_name(base::path_of(o.compare));
    if (is_same_file(o.compare, o.in))
        throw UsageError("--compare '" + o.compare + "' is the input, which would be lost; name another file");
    if (is_same_file(o.compare, o.out))
        throw UsageError("--compare '" + o.compare + "' is OUT, the result, which would be lost; name another file");
    check_target("--compare", o.compare, o.in, o.many.force);
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

// Nobody says where it is to be done, or with what memory.
bool may_choose(const UpscaleChoice& o) {
    return names_no_device(o.choice) && o.place.place.empty() && o.memory.memory.empty() && o.many.devices.empty();
}
double pixels_of(const ImageInfo& picture) { return static_cast<double>(picture.width) * picture.height; }

// On the device of this id.
UpscaleOptions upscale_options(const UpscaleChoice& o, const std::map<std::string, uint64_t>& budgets,
                               const std::string& device) {
    UpscaleOptions how;
    how.memory = budget_of(budgets, device);
    how.streaming = streaming_of(o.memory);
    how.tile = o.tile;
    how.overlap = o.overlap;
    how.image.jpeg_quality = o.quality;
    return how;
}

class UpscaleWorker : public batch::OneByOne {
public:
    UpscaleWorker(const UpscaleChoice& o, const std::map<std::string, uint64_t>& budgets, const std::vector<Device>& devices,
                  const std::shared_ptr<const Esrgan>& model)
        : o_(o),
          budgets_(budgets),
          device_(devices.front().info().id),
          model_(model->name()),
          upscaler_(devices, model, o.dtype == "auto") {}

protected:
    Json run(const batch::Task& task, const std::atomic<uint32_t>& cancel,
             const std::function<void(double fraction)>& progress) override {
        const auto in = ImageReader::open(base::path_of(task.name));
        UpscaleOptions how = upscale_options(o_, budgets_, device_);
        how.cancel = &cancel;
        how.progress = progress;
        UpscaleResult result = upscaler_.with_room(in->info(), how).run(*in, task.target, how);
        if (!upscaler_.note().empty()) result.placement.notes.push_back(upscaler_.note());
        return {{"file", task.name},
                {"output", task.target.string()},
                {"width", result.width},
                {"height", result.height},
                {"channels", result.channels},
                {"model", model_},
                {"device", device_},
                {"tiles", result.tiles},
                {"tile", result.tile},
                {"seconds", result.seconds},
                {"placement", placement_json(result.placement)}};
    }

private:
    const UpscaleChoice& o_;
    const std::map<std::string, uint64_t>& budgets_;
    std::string device_, model_;
    AnyDtype upscaler_;
};

std::vector<batch::Task> tasks_of(const UpscaleChoice& o) {
    constexpr std::string_view kEndings[] = {".png", ".jpg", ".jpeg"};
    std::vector<batch::Input> inputs = batch::named_inputs(o.files, {kEndings, "picture", "PNG or JPEG files"});
    if (!o.many.manifest.empty())
        for (batch::Input& input : batch::listed_inputs(o.many.manifest)) inputs.push_back(std::move(input));
    if (inputs.empty()) throw UsageError("upscale: say which pictures, or a list of them with --manifest");
    if (!batch::is_folder(o.many.output))
        throw UsageError("--output '" + o.many.output + "' must be a folder that is there; for one picture say IN and OUT");
    std::vector<batch::Task> tasks;
    for (const batch::Input& input : inputs)
        tasks.push_back({input.name, base::path_of(o.many.output) / base::path_of(input.name).filename(), 0});
    check_targets(o.many, tasks);
    for (batch::Task& task : tasks) {
        try {
            const auto picture = ImageReader::open(base::path_of(task.name));
            task.work = pixels_of(picture->info());
        } catch (const Error&) {
            // It is said when its turn comes.
        }
    }
    return tasks;
}

BatchWords upscale_words(int scale) {
    BatchWords words;
    words.doing = "upscaling";
    words.speed = [](double pixels, double took) {
        return fixed(pixels / 1e6 / std::max(1e-9, took), 2).text + " million pixels a second";
    };
    words.json = [](const batch::News& news) { return news.report; };
    words.line = [scale](const batch::News& news) {
        const Json& report = news.report;
        return base::visible(report["output"].get<std::string>()) + ": " +
               std::to_string(report["width"].get<int64_t>() / scale) + " x " +
               std::to_string(report["height"].get<int64_t>() / scale) + " to " +
               std::to_string(report["width"].get<int64_t>()) + " x " + std::to_string(report["height"].get<int64_t>()) +
               " in " + fixed(report["seconds"].get<double>(), 2).text + " s on " + news.device;
    };
    return words;
}

void upscale_many(UpscaleChoice o, Run& run) {
    run.if_cancelled = ": nothing was written";
    if (!o.compare.empty()) throw UsageError("--compare is for one picture: say IN and OUT");
    if (o.place.is_auto())
        throw UsageError("--place is for one picture: of several, all devices take theirs (--devices), each by its speed");
    batch::Options options;
    options.ranks = batch::ranks_of(o.many.ranks);
    options.folder = base::path_of(o.many.output);
    const std::vector<batch::Task> tasks = tasks_of(o);
    const std::filesystem::path file = find_model(o);
    ContextOptions context_of = context_options(o.choice);
    if (may_choose(o) && options.ranks.size < 2) {  // little work: by one device, if that is the CPU
        double pixels = 0;
        for (const batch::Task& task : tasks) pixels += task.work;
        const std::vector<WholeTime> times = Soonest(o.choice, context_of, work_of(o)).times(pixels, run);
        if (!times.empty() && times.front().is_cpu) o.choice.device = context_of.device_filter = times.front().device;
    }
    options.how = how_of("upscale " + o.dtype + "," + std::to_string(o.tile) + "," + std::to_string(o.overlap) + "," +
                             std::to_string(o.quality),
                         file);
    const auto model = std::make_shared<const Esrgan>(open_model(o));
    const Context context(context_of);
    std::string why;
    const std::vector<std::string> devices = devices_for(context, o.choice, o.many, options.ranks, why);
    if (!run.json && options.ranks.rank == 0)
        out("{} {}, model {}; {}\n", tasks.size(), tasks.size() == 1 ? "picture" : "pictures", model->name(), why);
    const std::map<std::string, uint64_t> budgets = budgets_of(context, o.memory);
    std::vector<batch::Station> stations;
    for (const std::string& device : devices)
        stations.push_back({device, [&o, &context, &model, &budgets, device] {
                                DeviceChoice choice = o.choice;
                                choice.device = device;
                                return std::make_unique<UpscaleWorker>(o, budgets, open_with_fallback(context, choice),
                                                                       model);
                            }});
    run_batch(tasks, stations, o.many, options, upscale_words(model->scale()), run);
}

// Where tiles of the picture would be done first: of as many pixels as are likely to be taken.
Placed placed_for(const Context& context, const UpscaleChoice& o, CostModel& costs, const Esrgan& model,
                  const ImageInfo& picture, const std::map<std::string, uint64_t>& budgets, Run& run) {
    const int64_t most = o.tile != 0 ? o.tile : 256;
    const auto along = [&](uint32_t length) { return std::min<int64_t>(length, most); };
    PlacedGraph what{model.graph(along(picture.height), along(picture.width)), {}, 1, 1, o.place.among()};
    const FitOptions how = fit_options(o.memory, budgets, &run.interrupted);
    what.ways = [&](const Device& device) { return fits({device}, what.graph, how); };
    return place_by_costs(context, o.choice, costs, what, run);
}

struct Chosen {
    std::unique_ptr<const Context> context;
    std::map<std::string, uint64_t> budgets;
    Placed placed;  // with the reason
    std::optional<Soonest> soonest;
    std::vector<WholeTime> times;  // of the whole command, where it was chosen by these
    bool by_preference = false;    // since these are not known
};

Chosen chosen_for(const UpscaleChoice& o, const Esrgan& model, const ImageInfo& picture, Run& run) {
    Chosen chosen;
    const ContextOptions options = context_options(o.choice);
    chosen.soonest.emplace(o.choice, options, work_of(o));
    if (may_choose(o)) chosen.times = chosen.soonest->times(pixels_of(picture), run);
    OpenedSoonest opened = open_soonest(o.choice, options, chosen.times);
    chosen.context = std::move(opened.context);
    const Context& context = *chosen.context;
    chosen.budgets = budgets_of(context, o.memory);
    if (!chosen.times.empty()) {
        chosen.placed.devices = std::move(opened.devices);
        chosen.placed.why = why_of(chosen.times);
        return chosen;
    }
    if (o.place.is_auto()) {
        CostModel costs(context);
        chosen.placed = placed_for(context, o, costs, model, picture, chosen.budgets, run);
        return chosen;
    }
    DeviceChoice choice = o.choice;
    if (choice.device.empty() || choice.device == "auto") choice.device = tuned_for(context, model);
    const bool tuned = choice.device != o.choice.device && !choice.device.empty();
    chosen.placed = open_placed(context, choice, o.place);
    chosen.placed.why = tuned ? choice.device + " was the fastest when it was tuned" : context.why();
    chosen.by_preference = !tuned && may_choose(o);
    return chosen;
}

// For the next command, when this one is done: where another device stands beside the preferred one, which takes its time to start.
void measure_whole(const UpscaleChoice& o, const Esrgan& model, const Chosen& chosen, const Run& run) {
    const std::vector<Device>& devices = chosen.placed.devices;
    if (!chosen.by_preference || devices.size() < 2 || devices.front().info().kind == DeviceKind::cpu) return;
    static_cast<void>(base::flush_output());
    const Soonest::Network network{[&](int64_t edge) { return model.graph(edge, edge); }, model.weights()};
    const std::string problem = chosen.soonest->measure(devices, network, run);
    if (o.choice.verbose && !problem.empty()) err("what whole commands take is not known: {}\n", problem);
}

Predicted tile_beside(CostModel& costs, const UpscaleChoice& o, const std::map<std::string, uint64_t>& budgets,
                      const Device& device, const Esrgan& model, const UpscaleResult& result, bool shown) {
    const Graph graph = model.graph(result.tile_height, result.tile_width);
    return predicted_beside(costs, {"a tile", device, graph, fit_options(o.memory, budgets), result.tile_seconds}, shown);
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
    const Chosen chosen = chosen_for(o, *model, in->info(), run);
    const std::map<std::string, uint64_t>& budgets = chosen.budgets;
    CostModel costs(*chosen.context);
    const std::vector<Device>& devices = chosen.placed.devices;
    const Device& device = devices.front();
    if (!run.json)
        out("{}: {} x {} pixels\nmodel: {}\ndevice: {} ({}); {}\n", o.in, in->info().width, in->info().height, model->name(),
            device.info().id, device.info().name, chosen.placed.why);
    UpscaleOptions how = upscale_options(o, budgets, device.info().id);
    how.cancel = &run.interrupted;
    UpscaleResult result;
    Predicted predicted;
    std::string dtype;
    {
        Progress progress("upscaling", o.many.progress);
        how.tiles_done = [&](int64_t done, int64_t of) {
            progress.show(static_cast<double>(done) / static_cast<double>(of),
                          std::to_string(done) + "/" + std::to_string(of) + (of == 1 ? " tile" : " tiles"));
        };
        AnyDtype upscaler(devices, model, o.dtype == "auto");
        result = upscaler.with_room(in->info(), how).run(*in, base::path_of(o.out), how);
        if (!upscaler.note().empty()) result.placement.notes.push_back(upscaler.note());
        dtype = name_of(upscaler.model().dtype());
        predicted = tile_beside(costs, o, budgets, device, upscaler.model(), result, run.json || o.choice.verbose);
    }
    run.if_cancelled = ": " + o.out + " is written" + (o.compare.empty() ? "" : ", " + o.compare + " is not");
    if (before) write_comparison(o, model->scale(), o.compare, before);
    const double total = base::seconds_since(started);
    if (run.json) {
        print({{"output", o.out},
               {"width", result.width},
               {"height", result.height},
               {"channels", result.channels},
               {"model", model->name()},
               {"dtype", dtype},
               {"device", device.info().id},
               {"why", chosen.placed.why},
               {"whole", json_of(chosen.times)},
               {"tiles", result.tiles},
               {"tile", result.tile},
               {"seconds", result.seconds},
               {"total_seconds", total},
               {"placement", placement_json(result.placement)},
               {"predicted", json_of(predicted)},
               {"place", o.place.is_auto() ? placed_json(chosen.placed) : Json()},
               {"compare", o.compare}});
        return measure_whole(o, *model, chosen, run);
    }
    out("{}: {} x {} in {} s ({} s with loading; {} {} of {} pixels)\n", o.out, result.width, result.height,
        fixed(result.seconds, 2), fixed(total, 2), result.tiles, result.tiles == 1 ? "tile" : "tiles", result.tile);
    if (!o.compare.empty()) out("{}: before and after\n", o.compare);
    print_placement(result.placement, o.choice.verbose);
    if (o.choice.verbose) out("{}\n", line_of(predicted));
    measure_whole(o, *model, chosen, run);
}

void upscale_what(UpscaleChoice& o, Run& run) {
    if (!o.many.output.empty() || !o.many.manifest.empty()) {
        if (o.many.output.empty()) throw UsageError("upscale: name the folder for the pictures of --manifest with --output");
        return upscale_many(o, run);
    }
    if (o.files.size() != 2)
        throw UsageError(o.files.size() < 2
                             ? "upscale: say IN and OUT, or with --output which pictures go into that folder"
                             : "upscale: more than IN and OUT; name the folder for several pictures with --output");
    o.in = o.files[0];
    o.out = o.files[1];
    upscale(o, run);
}

}  // namespace

void add_upscale(const Command& app, Run& run) {
    const Command command = app.subcommand("upscale", "Enlarge a photograph with an ESRGAN network");
    auto o = std::make_shared<UpscaleChoice>();
    command.option(
        "IN OUT", o->files,
        "PNG or JPEG file, and the file to write; .png, .jpg or .jpeg. With --output: pictures and folders of them");
    command.option("--output", o->many.output, "Folder for the results of many pictures, each under its own name")
        .type("DIR");
    add_stored_model_options(command, *o, true);
    command.option("--tile", o->tile, "Pixels of input worked on at once; less needs less memory")
        .type("N")
        .in_range(8, 65535);
    command.option("--overlap", o->overlap, "Pixels that neighbouring tiles share").type("N").in_range(1, 4096);
    add_memory_options(command, o->memory);
    command.option("--quality", o->quality, "Of a JPEG, 1 to 100").shows_default().in_range(1, 100);
    command.option("--compare", o->compare, "Also write a picture of before and after, side by side").type("FILE");
    add_batch_options(command, o->many);
    add_device_options(command, o->choice);
    add_place_auto_option(command, o->place);
    add_json_option(command, run);
    command.footer(
        "A file OUT that is there is replaced when the new one is whole; the input never is without --force.\n"
        "Of many pictures a journal is kept in the folder of --output: the same command goes on where it was ended, and one "
        "that\n"
        "cannot be done ends nothing; the exit code is then 1.\n"
        "Examples:\n  backplane upscale photo.jpg large.png\n  backplane upscale photo.png x4.png --model thick --scale 4 "
        "--device cpu --threads 2\n"
        "  backplane upscale huge.png huge-x2.png --tile 128\n  backplane upscale photos/ --output large/\n"
        "  srun -n 4 backplane upscale photos/ --output large/    # the ranks share them; so with mpirun -n 4");
    command.runs([o, &run] { upscale_what(*o, run); });
}

}  // namespace backplane::cli
