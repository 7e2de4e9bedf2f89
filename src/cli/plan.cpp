#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backplane/esrgan.hpp"
#include "backplane/fit.hpp"
#include "backplane/weight_file.hpp"
#include "cli/cli.hpp"
#include "cli/dtype_choice.hpp"
#include "cli/measure_costs.hpp"
#include "cli/memory_options.hpp"
#include "cli/model_files.hpp"
#include "cli/place_options.hpp"
#include "cli/plan_placed.hpp"
#include "cli/soonest.hpp"
#include "cli/usage.hpp"
#include "cli/what_if.hpp"
#include "models/parakeet/recognizer.hpp"

namespace backplane::cli {

namespace {

struct PlanChoice : StoredModelChoice {
    DeviceChoice choice;
    MemoryChoice memory;
    PlaceChoice place;
    std::string what_if;
    int64_t size = 128, seconds = 30, batch = 1;
    bool size_given = false, seconds_given = false, batch_given = false;
};

// Of the other kind of network: of what is named it says nothing.
void check_asked(const PlanChoice& o, bool speech) {
    if (speech && o.size_given)
        throw UsageError("--size is for networks of pictures, " + o.model +
                         " is one of speech: --seconds and --batch are for those");
    if (!speech && (o.seconds_given || o.batch_given))
        throw UsageError(std::string(o.seconds_given ? "--seconds" : "--batch") + " is for networks of speech, " + o.model +
                         " is one of pictures: --size is for those");
}

std::vector<Asked> asked_about(const Context& context, const PlanChoice& o, std::map<std::string, uint64_t>& budgets) {
    budgets = budgets_of(context, o.memory);
    if (!o.what_if.empty() && !o.memory.memory.empty())
        throw UsageError("--what-if with --memory: the file says what memory there is, leave one of them out");
    if (!o.what_if.empty()) return described(context, o.what_if);
    std::vector<Asked> all;
    for (const Device& device : open_with_fallback(context, o.choice)) all.push_back({device, device.info().id, 0, {}});
    return all;
}

// Of the whole command, as `upscale` chooses. Before this process starts a driver.
std::vector<WholeTime> whole_times(const PlanChoice& o, const ContextOptions& options, const Run& run) {
    if (!names_no_device(o.choice) || !o.place.place.empty() || !o.memory.memory.empty() || !o.what_if.empty()) return {};
    return Soonest(o.choice, options, work_of(o)).times(static_cast<double>(o.size * o.size), run);
}

// What `less` of it comes to: `how` to ask about it where that fits, else what `it` takes.
std::string with_less(const std::vector<Fit>& less, Streaming streaming, const std::string& how, const std::string& it) {
    return best_fit(less, streaming) != nullptr ? "; " + how : "; " + it + ": " + what_would_fit(less);
}

// A column for each stage in the order of running, or for some.
std::string time_of(const Json& plan) {
    constexpr size_t kColumns = 60;
    const size_t stages = plan["stages"].size();
    std::string line;
    for (size_t c = 0; c < std::min(stages, kColumns); ++c)
        line += plan["stages"][c * stages / std::min(stages, kColumns)]["weights"] == "streamed" ? "▓" : "█";
    return line;
}

const char* word_for(const Fit& way) {
    if (!way.possible) return "no";
    if (way.available == 0) return way.fits ? "not known" : "no";
    return way.fits ? "yes" : "no";
}

// How long a way takes by what work costs there.
Prediction predicted(const CostModel& costs, const Asked& one, const Graph& graph, const Fit& fit) {
    if (one.costs) return predict(*one.costs, graph, fit);
    return one.memory == 0 ? costs.predict(one.device, graph, fit)
                           : Prediction{};  // one that is described is another device
}

void print_ways(const std::vector<Fit>& ways, const std::vector<Prediction>& times, const Fit* chosen) {
    const auto amount = [](uint64_t bytes) { return bytes == 0 ? std::string("-") : human_bytes(bytes); };
    std::vector<std::vector<std::string>> rows{{"  DEVICE", "WEIGHTS ARE", "NEEDS", "THERE", "FITS", "WEIGHTS", "RING",
                                                "STATE", "VALUES", "WORKSPACE", "MOVED A RUN", "TIME", "CORRECTED BY"}};
    for (size_t i = 0; i < ways.size(); ++i) {
        const Fit& way = ways[i];
        rows.push_back({(&way == chosen ? "> " : "  ") + way.device, way.streamed ? "streamed" : "resident",
                        amount(way.needs), amount(way.available), word_for(way), amount(way.weights), amount(way.ring),
                        amount(way.state), amount(way.values), amount(way.workspace), amount(way.moved),
                        milliseconds(times[i]), corrected_by(times[i])});
    }
    print_table(rows);
    if (std::ranges::none_of(times, &Prediction::known))
        out("What work costs there is not known, so no times: --place auto and `backplane devices --measure` find out\n");
    for (const Fit& way : ways)
        if (!way.possible) out("{} {}: {}\n", way.device, way.streamed ? "streamed" : "resident", way.problem);
    out("\n");
    for (const Fit& way : ways)
        if (way.possible)
            out("  {} {} {} {}\n", padded(way.device, 12), way.streamed ? "streamed" : "resident", Safe{bar_of(way)},
                way.available == 0 ? "of what it needs" : "of " + human_bytes(std::max(way.available, way.needs)));
    out("  {} weights  {} ring  {} state, values  {} workspace  {} free  ! beyond what is there\n", Safe{"█"}, Safe{"▓"},
        Safe{"▒"}, Safe{"░"}, Safe{"·"});
}

Json way_json(const Fit& way, const Prediction& time, bool chosen) {
    return {{"seconds", time.known ? Json(time.seconds) : Json()},
            {"learnt", time.learnt},
            {"runs", time.runs},
            {"networks", time.networks},
            {"device", way.device},
            {"streamed", way.streamed},
            {"fits", way.fits},
            {"chosen", chosen},
            {"possible", way.possible},
            {"problem", way.problem},
            {"available", way.available},
            {"budget", way.budget},
            {"needs", way.needs},
            {"weights", way.weights},
            {"ring", way.ring},
            {"state", way.state},
            {"values", way.values},
            {"workspace", way.workspace},
            {"moved", way.moved}};
}

std::vector<Fit> ways_of(const std::vector<Asked>& asked, const Graph& graph, const FitOptions& options,
                         const CostModel& costs, std::vector<Prediction>& times) {
    std::vector<Fit> ways;
    for (const Asked& one : asked) {
        FitOptions own = options;
        if (one.memory != 0) own.memory[one.device.info().id] = one.memory;
        for (Fit& way : fits({one.device}, graph, own)) {
            times.push_back(predicted(costs, one, graph, way));
            way.device = one.name;
            ways.push_back(std::move(way));
        }
    }
    return ways;
}

// A folder, or a GGUF file that says so. Files of other formats are Real-ESRGAN's.
bool is_speech(const std::filesystem::path& model) {
    if (std::filesystem::is_directory(model)) return true;
    const WeightFile file = WeightFile::open(model);
    return file.format() == "GGUF" && std::ranges::any_of(file.metadata(), [](const auto& entry) {
               return entry.first == "general.architecture" && entry.second == GgufValue(std::string("parakeet"));
           });
}

// Of --dtype auto, by ways on the device that is taken first: with the type in place of auto.
PlanChoice with_dtype(const PlanChoice& o, Streaming streaming,
                      const std::function<std::vector<Fit>(const PlanChoice&)>& ways_in) {
    if (o.dtype != "auto") return o;
    PlanChoice settled = o;
    std::map<DType, std::vector<Fit>> known;
    const auto has_room = [&](DType dtype, Streaming how) {
        settled.dtype = name_of(dtype);
        if (!known.contains(dtype)) known[dtype] = ways_in(settled);
        return std::ranges::any_of(known[dtype], [&](const Fit& way) {
            return way.fits && way.device == known[dtype].front().device &&
                   (how == Streaming::automatic || way.streamed == (how == Streaming::always));
        });
    };
    settled.dtype = name_of(dtype_with_room(streaming, has_room));
    return settled;
}

// What would do is told of streaming, too, where that is turned off. `ways_by`: by options other than those of `ways`.
std::vector<Fit> with_streaming(const std::vector<Fit>& ways, FitOptions how,
                                const std::function<std::vector<Fit>(const FitOptions&)>& ways_by) {
    if (how.streaming != Streaming::never) return ways;
    how.streaming = Streaming::automatic;
    return ways_by(how);
}

// Exit code 1, and what would fit. `smaller`: what takes less, and how to ask about that.
void refuse(const std::string& model, const std::string& would_do, const std::string& smaller, Streaming streaming,
            Run& run) {
    err("backplane: {} does not fit: {}{}{}\n", model, would_do,
        streaming == Streaming::never ? "; streaming is turned off" : "", smaller);
    run.exit_code = kFailed;
}

parakeet::Recognizer recognizer_on(std::vector<Device> devices, const PlanChoice& o, const std::filesystem::path& path,
                                   const Placed& placed) {
    parakeet::ModelFile file = parakeet::ModelFile::open(path);
    const parakeet::Head head = file.config().transducer ? parakeet::Head::transducer : parakeet::Head::ctc;
    return {std::move(devices),           std::move(file), computed_in(o.dtype), head,
            parakeet::Lengths::by_device, false,           placed.places()};
}

size_t samples_of(const PlanChoice& o, const parakeet::Recognizer& recognizer) {
    return static_cast<size_t>(o.seconds * recognizer.config().preprocessor.sample_rate);
}

// The encoder's batches where they would be done first; what each device would take for them is in `ways`.
Placed speech_by_costs(const Context& context, const PlanChoice& o, const std::filesystem::path& path, CostModel& costs,
                       Run& run) {
    const FitOptions how = fit_options(o.memory, budgets_of(context, o.memory), &run.interrupted);
    const parakeet::Recognizer any = recognizer_on({context.choose()}, o, path, {});
    constexpr int64_t kBatches = 8;  // a stream of them
    PlacedGraph what{any.encoder(o.batch, samples_of(o, any)), {}, kBatches, 3, o.place.among()};
    what.ways = [&](const Device& device) {
        return recognizer_on({device}, o, path, {}).ways(o.batch, samples_of(o, any), how);
    };
    return place_by_costs(context, o.choice, costs, what, run);
}

void print_title(const std::string& name, const PlanChoice& o) {
    out("{} in {}, {} of {} s at once\n", name, o.dtype, o.batch == 1 ? "a window" : std::to_string(o.batch) + " windows",
        o.seconds);
}

void show_speech_placed(const Context& context, const PlanChoice& o, const std::filesystem::path& path, CostModel& costs,
                        Run& run) {
    if (!o.what_if.empty() || (o.place.is_named() && !o.memory.memory.empty()))
        throw UsageError("--place with --what-if or --memory: leave one of them out");
    const Placed placed =
        o.place.is_auto() ? speech_by_costs(context, o, path, costs, run) : open_placed(context, o.choice, o.place);
    const parakeet::Recognizer recognizer = recognizer_on(placed.devices, o, path, placed);
    const parakeet::Recognizer::Shown shown = recognizer.plan(o.batch, samples_of(o, recognizer));
    Json json = Json::parse(shown.json);
    if (run.json) {
        json["model"] = recognizer.config().name;
        json["dtype"] = o.dtype;
        json["seconds"] = o.seconds;
        json["batch"] = o.batch;
        json["place"] = o.place.is_auto() ? placed_json(placed) : Json(o.place.place);
        return print(json);
    }
    print_title(recognizer.config().name, o);
    out("{}\n", placed.why.empty() ? "placed by name: " + o.place.place : placed.why);
    print_placed_plan(json);
    out_lines(shown.text);
}

std::vector<Fit> speech_ways(const std::vector<Asked>& asked, const PlanChoice& o, const std::filesystem::path& path,
                             const FitOptions& how, const CostModel& costs, std::vector<Prediction>& times,
                             std::string& name) {
    std::vector<Fit> ways;
    for (const Asked& one : asked) {
        FitOptions own = how;
        if (one.memory != 0) own.memory[one.device.info().id] = one.memory;
        const parakeet::Recognizer recognizer = recognizer_on({one.device}, o, path, {});
        name = recognizer.config().name;
        const Graph encoder = recognizer.encoder(o.batch, samples_of(o, recognizer));
        for (Fit& way : recognizer.ways(o.batch, samples_of(o, recognizer), own)) {
            times.push_back(predicted(costs, one, encoder, way));
            way.device = one.name;
            ways.push_back(std::move(way));
        }
    }
    return ways;
}

// An encoder and a decoder, beside each other on one device, or as --memory and --what-if say.
void show_speech_plan(const PlanChoice& given, const std::filesystem::path& path, Run& run) {
    const Context context(context_options(given.choice));
    CostModel costs(context);
    if (!given.place.place.empty()) return show_speech_placed(context, given, path, costs, run);
    FitOptions how = fit_options(given.memory, {}, &run.interrupted);
    const std::vector<Asked> asked = asked_about(context, given, how.memory);
    std::vector<Prediction> times;
    std::string name;
    const PlanChoice o = with_dtype(given, how.streaming, [&](const PlanChoice& one) {
        std::vector<Prediction> ignored;
        return speech_ways(asked, one, path, how, costs, ignored, name);
    });
    const std::vector<Fit> ways = speech_ways(asked, o, path, how, costs, times, name);
    const Fit* chosen = best_fit(ways, how.streaming);
    if (run.json) {
        Json json = chosen != nullptr ? Json::parse(chosen->plan_json) : Json::object();
        json["model"] = name;
        json["dtype"] = o.dtype;
        json["seconds"] = o.seconds;
        json["batch"] = o.batch;
        json["ways"] = Json::array();
        for (size_t i = 0; i < ways.size(); ++i) json["ways"].push_back(way_json(ways[i], times[i], &ways[i] == chosen));
        if (chosen == nullptr) json["problem"] = what_would_fit(ways);
        print(json);
    } else {
        print_title(name, o);
        print_ways(ways, times, chosen);
        if (chosen != nullptr) {
            const Json json = Json::parse(chosen->plan_json);
            for (const Json& part : json["components"])
                if (part["stages"].size() > 1)
                    out("  {} in the order of running: the {}'s weights there, or {} copied\n", Safe{time_of(part)},
                        part["name"].get<std::string>(), Safe{"▓"});
            out("\n");
            out_lines(chosen->plan_text);
        }
    }
    if (chosen != nullptr) return;
    constexpr int64_t kShortest = 10;
    std::string smaller;
    if (o.batch > 1 || o.seconds > kShortest) {
        PlanChoice less = o;
        less.batch = 1;
        less.seconds = std::min(o.seconds, kShortest);
        smaller = with_less(speech_ways(asked, less, path, how, costs, times, name), how.streaming,
                            "transcribe takes fewer and shorter windows then: see --batch 1 --seconds 10",
                            "a window of 10 seconds, the shortest");
    }
    std::vector<Fit> in_f16;
    if (o.dtype == "f32") {
        PlanChoice half = o;
        half.dtype = "f16";
        in_f16 = speech_ways(asked, half, path, how, costs, times, name);
    }
    const std::vector<Fit> all =
        with_streaming(ways, how, [&](const FitOptions& by) { return speech_ways(asked, o, path, by, costs, times, name); });
    refuse(name, what_would_fit(all, in_f16), smaller, how.streaming, run);
}

// Nothing runs: no weights are copied, and no memory of the device is taken.
void show_plan(const PlanChoice& given, Run& run) {
    const std::filesystem::path path = find_model(given);
    const bool speech = is_speech(path);
    check_asked(given, speech);
    if (speech) return show_speech_plan(given, path, run);
    if (given.place.is_named())
        throw UsageError("--place by names is for speech networks, " + given.model + " is none: --place auto is for both");
    if (given.place.is_auto() && !given.what_if.empty()) throw UsageError("--place with --what-if: leave one of them out");
    const ContextOptions options_of_context = context_options(given.choice);
    const std::vector<WholeTime> whole = whole_times(given, options_of_context, run);
    const Context context(options_of_context);
    FitOptions how = fit_options(given.memory, {}, &run.interrupted);
    CostModel costs(context);
    Placed placed;
    std::vector<Asked> asked = asked_about(context, given, how.memory);
    const auto ways_in = [&](const PlanChoice& one) {
        std::vector<Prediction> ignored;
        return ways_of(asked, open_model(one).graph(one.size, one.size), how, costs, ignored);
    };
    const PlanChoice o = with_dtype(given, how.streaming, ways_in);
    const Esrgan model = open_model(o);
    const Graph graph = model.graph(o.size, o.size);
    if (!whole.empty())
        std::stable_partition(asked.begin(), asked.end(),
                              [&](const Asked& one) { return one.name == whole.front().device; });
    if (o.place.is_auto()) {
        const PlacedGraph what{graph, [&](const Device& device) { return fits({device}, graph, how); }, 1, 1,
                               o.place.among()};
        placed = place_by_costs(context, o.choice, costs, what, run);
        asked.clear();
        for (const Device& device : placed.devices) asked.push_back({device, device.info().id, 0, {}});
    }
    std::vector<Prediction> times;
    const std::vector<Fit> ways = ways_of(asked, graph, how, costs, times);
    const Fit* chosen = best_fit(ways, how.streaming);
    std::string text, json_text;
    std::vector<std::string> notes;
    if (chosen != nullptr && (chosen->streamed || chosen->device != asked.front().name || !o.what_if.empty())) {
        text = chosen->plan_text;
        json_text = chosen->plan_json;
    } else {
        // As the first device does it, with what the next ones do for it.
        SpreadOptions options;
        options.compile.plan_only = true;
        options.compile.cancel = &run.interrupted;
        std::vector<Device> devices;
        for (const Asked& one : asked) devices.push_back(one.device);
        const SpreadSession session(std::make_shared<SpreadDevices>(devices, model.weights()), graph, options);
        text = session.describe();
        json_text = session.plan_json();
        notes = session.report().notes;
    }
    // What no device runs alone, several may.
    const bool none =
        chosen == nullptr && std::any_of(ways.begin(), ways.end(), [](const Fit& way) { return way.possible; });
    Json json = Json::parse(json_text);
    if (run.json) {
        json["model"] = model.name();
        json["dtype"] = o.dtype;
        json["scale"] = model.scale();
        json["size"] = o.size;
        json["notes"] = notes;
        json["whole"] = json_of(whole);
        if (o.place.is_auto()) json["place"] = placed_json(placed);
        json["ways"] = Json::array();
        for (size_t i = 0; i < ways.size(); ++i) json["ways"].push_back(way_json(ways[i], times[i], &ways[i] == chosen));
        if (none) json["problem"] = what_would_fit(ways);
        print(json);
    } else {
        out("{} in {}, {} x {} pixels\n", model.name(), o.dtype, o.size, o.size);
        if (!placed.why.empty()) out("{}\n", placed.why);
        if (!whole.empty()) out("{}\n", why_of(whole));
        print_ways(ways, times, chosen);
        if (!none) {
            if (json["stages"].size() > 1)
                out("  {} in the order of running: weights there, or {} copied\n", Safe{time_of(json)}, Safe{"▓"});
            out("\n");
            out_lines(text);
        }
        for (const std::string& note : notes) out("note: {}\n", note);
    }
    if (!none) return;
    constexpr int64_t kSmallest = 64;
    std::string smaller;
    if (o.size > kSmallest)
        smaller = with_less(ways_of(asked, model.graph(kSmallest, kSmallest), how, costs, times), how.streaming,
                            "upscale takes tiles of 64 pixels then: see --size 64", "tiles of 64 pixels, the smallest");
    PlanChoice half = o;
    half.dtype = "f16";
    const std::vector<Fit> all =
        with_streaming(ways, how, [&](const FitOptions& by) { return ways_of(asked, graph, by, costs, times); });
    refuse(model.name(), what_would_fit(all, o.dtype == "f32" ? ways_in(half) : std::vector<Fit>()), smaller, how.streaming,
           run);
}

}  // namespace

void add_plan(const Command& app, Run& run) {
    const Command command = app.subcommand("plan", "Show what would run where, and how many bytes it would take");
    auto o = std::make_shared<PlanChoice>();
    add_stored_model_options(command, *o, true);
    command.option("--size", o->size, "Width and height of the input in pixels")
        .shows_default()
        .in_range(1, 4096)
        .noted_in(o->size_given);
    command.option("--seconds", o->seconds, "Of a window of a speech network")
        .shows_default()
        .in_range(1, 1200)
        .noted_in(o->seconds_given);
    command.option("--batch", o->batch, "Windows of a speech network at once")
        .shows_default()
        .in_range(1, 1024)
        .noted_in(o->batch_given);
    add_place_option(command, o->place);
    add_memory_options(command, o->memory);
    command
        .option("--what-if", o->what_if,
                "Plan for the devices that this JSON file describes, in place of those of this machine")
        .type("FILE");
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "Each device with all weights there and with weights streamed, what that takes of its memory, and the one that "
        "would be\n"
        "taken, with its stages in the order of running. Nothing of the network runs. The exit code is 1 where nothing "
        "fits.\n"
        "Examples:\n  backplane plan --model medium --size 256 --device cpu\n"
        "  backplane plan --model thick --size 512 --memory cpu=8GiB    # would this run on 8 GiB?\n"
        "  backplane plan --what-if cards.json\n"
        "  backplane plan --model thick --size 256 --place auto         # where would it be done first?\n"
        "  backplane plan --model parakeet.gguf --dtype f16 --batch 8 --memory discrete=2GiB\n"
        "  backplane plan --model parakeet.gguf --place encoder=rows:cuda:0+cuda:1");
    command.runs([o, &run] { show_plan(*o, run); });
}

}  // namespace backplane::cli
