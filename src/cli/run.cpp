#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "backplane/model.hpp"
#include "base/file.hpp"
#include "cli/cli.hpp"
#include "cli/model_inputs.hpp"
#include "cli/place_options.hpp"
#include "cli/predicted.hpp"
#include "cli/targets.hpp"
#include "cli/usage.hpp"
#include "formats/npy.hpp"
#include "graph/element_types.hpp"

namespace backplane::cli {

namespace {

struct RunChoice {
    ModelInputChoice input;
    DeviceChoice choice;
    PlaceChoice place;
    std::string model;
    std::vector<std::string> outputs;
    int64_t repeat = 0;
    bool force = false;
};

// Least, most and mean of its numbers.
Json figures_of(const ModelResult& result) {
    double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
    size_t finite = 0;
    const std::vector<double> values = graph::decode(result.bytes, result.dtype);
    const double range = result.dtype == DType::i32 ? 0x1p32 : 0x1p64;
    for (double value : values) {
        if (result.is_unsigned && value < 0) value += range;
        if (!std::isfinite(value)) continue;
        least = std::min(least, value);
        most = std::max(most, value);
        sum += value;
        ++finite;
    }
    Json json{{"not_finite", values.size() - finite}};
    if (finite == 0) return json;
    json.update({{"least", least}, {"most", most}, {"mean", sum / static_cast<double>(finite)}});
    return json;
}

struct Target {
    std::string output, file;
};

std::vector<Target> targets_of(const RunChoice& o, const Model& model) {
    std::vector<Target> targets;
    for (const std::string& given : o.outputs) {
        const NamedText named = named_text("--output", given, model.outputs(), "output");
        if (named.text.size() < 5 || named.text.rfind(".npy") != named.text.size() - 4)
            throw UsageError("--output " + given + ": it takes a file whose name ends in .npy");
        std::vector<std::string> read{o.model};
        for (const std::string& input : o.input.inputs)
            read.push_back(named_text("--input", input, model.inputs(), "input").text);
        check_target_beside("--output", named.text, read, o.force);
        for (const Target& other : targets)
            if (is_same_file(other.file, named.text))
                throw UsageError("--output " + given + ": that is the file of output '" + other.output + "', too");
        targets.push_back({named.name, named.text});
    }
    return targets;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Of runs behind the first: each takes the same inputs and room.
std::vector<double> times_of(ModelSession& session, const std::vector<ModelInput>& inputs, std::vector<ModelResult>& results,
                             const RunChoice& o, const Run& run) {
    std::vector<Output> rooms;
    for (ModelResult& result : results) rooms.emplace_back(result.name, std::span(result.bytes));
    std::vector<double> times;
    for (int64_t i = 0; i < o.repeat; ++i) {
        const auto start = std::chrono::steady_clock::now();
        session.run(inputs, rooms, &run.interrupted);
        times.push_back(milliseconds_since(start));
    }
    return times;
}

void print_results(const std::vector<ModelResult>& results, const std::vector<Target>& targets, const Json& figures) {
    std::vector<std::vector<std::string>> rows{{"OUTPUT", "TYPE", "SHAPE", "LEAST", "MOST", "MEAN", "FILE"}};
    for (size_t i = 0; i < results.size(); ++i) {
        const ModelResult& result = results[i];
        const auto number = [&](const char* name) {
            return figures[i].contains(name) ? figures[i][name].dump() : std::string("-");
        };
        const auto target =
            std::find_if(targets.begin(), targets.end(), [&](const Target& one) { return one.output == result.name; });
        rows.push_back({result.name, element_name(result.dtype, result.is_unsigned), to_string(result.shape),
                        number("least"), number("most"), number("mean"), target == targets.end() ? "-" : target->file});
    }
    print_table(rows);
}

Placed placed_for(const Context& context, const RunChoice& o, CostModel& costs, const Model& model,
                  const std::vector<ModelInput>& inputs, Run& run) {
    if (!o.place.is_auto()) return open_placed(context, o.choice, o.place);
    PlacedGraph what{model.graph(inputs), {}, 1, 1, o.place.among()};
    what.ways = [&](const Device& device) { return fits({device}, what.graph); };
    return place_by_costs(context, o.choice, costs, what, run);
}

void run_model(const RunChoice& o, Run& run) {
    run.if_cancelled = ": nothing was written";
    const Model model = Model::from_onnx(base::path_of(o.model));
    const std::vector<Target> targets = targets_of(o, model);
    const std::vector<ModelArray> arrays = arrays_for(model, o.input);
    for (const ModelArray& array : arrays)
        if (array.shape_only)
            throw UsageError("--input " + array.name + ": say what is in it: a file, zeros:SHAPE or random:SHAPE");
    const std::vector<ModelInput> inputs = inputs_of(arrays);
    const Context context(context_options(o.choice));
    CostModel costs(context);
    const Placed placed = placed_for(context, o, costs, model, inputs, run);
    const std::vector<Device>& devices = placed.devices;
    ModelSession session(devices, model);
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(session.prepare(inputs));
    const auto compiled = std::chrono::steady_clock::now();
    std::vector<ModelResult> results = session.run(inputs, &run.interrupted);
    const double once = milliseconds_since(compiled), first = milliseconds_since(start);
    const std::vector<double> times = times_of(session, inputs, results, o, run);
    const Graph graph = model.graph(inputs);
    const Predicted predicted =
        predicted_beside(costs, {"a run", devices.front(), graph, {}, (times.empty() ? once : median(times)) / 1e3},
                         run.json || o.choice.verbose);
    for (const Target& target : targets)
        for (const ModelResult& result : results)
            if (result.name == target.output)
                formats::write_npy(base::path_of(target.file), result.dtype, result.shape, result.bytes, result.is_unsigned);
    Json figures = Json::array();
    for (const ModelResult& result : results) figures.push_back(figures_of(result));
    Json json{{"model", o.model},         {"device", devices.front().info().id},
              {"first_ms", first},        {"predicted", json_of(predicted)},
              {"outputs", Json::array()}, {"ran", Json::array()}};
    if (!times.empty())
        json.update({{"median_ms", median(times)},
                     {"least_ms", *std::min_element(times.begin(), times.end())},
                     {"runs", times.size()}});
    for (const StageRuns& one : session.runs())
        json["ran"].push_back({{"device", one.device}, {"nodes", one.nodes}, {"ops", one.ops}, {"runs", one.runs}});
    json["notes"] = session.notes();
    if (o.place.is_auto()) json["place"] = placed_json(placed);
    if (run.json) {
        for (size_t i = 0; i < results.size(); ++i) {
            Json one{{"name", results[i].name},
                     {"dtype", element_name(results[i].dtype, results[i].is_unsigned)},
                     {"shape", results[i].shape}};
            one.update(figures[i]);
            json["outputs"].push_back(std::move(one));
        }
        return print(json);
    }
    print_results(results, targets, figures);
    for (const std::string& note : session.notes()) err("note: {}\n", note);
    out("\n{} ({}): {} ms with compiling", devices.front().info().id, devices.front().info().name, fixed(first, 2));
    if (!times.empty()) out(", then {} ms (the median of {} runs)", fixed(median(times), 3), times.size());
    out("\n");
    if (!placed.why.empty()) out("{}\n", placed.why);
    if (!o.choice.verbose) return;
    err_lines(session.describe());
    err("{}\n", line_of(predicted));
}

}  // namespace

void add_run(const Command& app, Run& run) {
    const Command command = app.subcommand("run", "Run a network of an ONNX file on arrays, pictures and sounds");
    auto o = std::make_shared<RunChoice>();
    command.option("MODEL", o->model, "An .onnx file").required();
    add_model_input_options(command, o->input);
    command
        .option("--output", o->outputs, "NAME=FILE.npy, once for each output to keep; a model of one output needs no NAME=")
        .type("NAME=FILE")
        .once_each();
    command.option("--repeat", o->repeat, "Run so many times more, and tell how long that takes").in_range(0, 1000000000);
    command.flag("--force", o->force, "Write over a file that is read-only");
    add_device_options(command, o->choice);
    add_place_auto_option(command, o->place);
    add_json_option(command, run);
    command.footer(
        "`backplane model info MODEL` lists inputs and outputs; `backplane model check MODEL` says what runs where.\n"
        "Examples:\n  backplane run classifier.onnx --input photo.png --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225\n"
        "  backplane run det.onnx --input x=page.npy --output probability.npy --device vulkan\n"
        "  backplane run silero_vad.onnx --input input=window.npy --input state=zeros:2x1x128 --input sr=16000\n"
        "  backplane run det.onnx --input random:1x3x640x640 --repeat 20 --device cpu --threads 2");
    command.runs([o, &run] { run_model(*o, run); });
}

}  // namespace backplane::cli
