#include "backplane/esrgan.hpp"
#include "backplane/weight_file.hpp"
#include "base/file.hpp"
#include "cli/cli.hpp"
#include "cli/onnx_info.hpp"
#include "cli/targets.hpp"
#include "gguf/gguf_contents.hpp"
#include "models/parakeet/convert.hpp"

namespace backplane::cli {

namespace {

std::string text_of(const GgufValue& value) {
    struct Show {
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(int64_t v) const { return std::to_string(v); }
        std::string operator()(uint64_t v) const { return std::to_string(v); }
        std::string operator()(double v) const { return Json(v).dump(); }
        std::string operator()(const std::string& v) const { return v; }
        std::string operator()(const std::vector<int64_t>& v) const { return std::to_string(v.size()) + " integers"; }
        std::string operator()(const std::vector<double>& v) const { return std::to_string(v.size()) + " numbers"; }
        std::string operator()(const std::vector<std::string>& v) const { return std::to_string(v.size()) + " texts"; }
    };
    return std::visit(Show{}, value);
}

// Its name here, or of what graphs do not have the one that ggml gives it.
std::string type_of(const GgufTensor& tensor) {
    return tensor.dtype == DType::unknown ? formats::gguf_type_name(tensor.type) : name_of(tensor.dtype);
}

// After a name: "CTC and TDT, 17 layers of 512, 114.6 million parameters, 1024 pieces".
void print_network(const Safe& name, const parakeet::ModelFile& model) {
    const parakeet::Config& config = model.config();
    std::string heads = config.ctc ? "CTC" : "";
    if (config.transducer)
        heads += std::string(config.ctc ? " and " : "") + (config.transducer->durations.empty() ? "RNN-T" : "TDT");
    int64_t parameters = 0;
    for (const parakeet::Tensor& tensor : model.tensors()) parameters += elements(tensor.shape);
    out("{} {}, {} layers of {}, {} million parameters, {} pieces\n", name, heads, config.encoder.layers,
        config.encoder.d_model, fixed(static_cast<double>(parameters) / 1e6, 1), config.vocab_size);
}

// A package, its model.json, or the weights of an RRDBNet.
void import_esrgan(const std::filesystem::path& from, int scale, const std::filesystem::path& to) {
    if (std::filesystem::is_directory(from) || from.filename() == "model.json") return import_esrgan_tfjs(from, scale, to);
    import_esrgan_rrdb(from, to);
    const int found = Esrgan::open(to).scale();
    if (scale != 0 && found != scale)
        err("note: the network enlarges {} times, not {} times: it is the only one in the file\n", found, scale);
}

void print_tensors(std::vector<std::vector<std::string>> rows) {
    out("\n");
    rows.insert(rows.begin(), {"TENSOR", "TYPE", "SHAPE", "BYTES"});
    print_table(rows);
}

// Weights without a network: safetensors, or the folder of such.
void show_weights(const WeightFile& file, const std::string& path, bool all, const Run& run) {
    uint64_t bytes = 0;
    for (const WeightTensor& t : file.tensors()) bytes += t.bytes;
    if (run.json) {
        Json json{{"path", path},
                  {"format", file.format()},
                  {"metadata", Json::object()},
                  {"tensors", Json::array()},
                  {"tensor_bytes", bytes}};
        for (const auto& [key, value] : file.metadata())
            std::visit([&, k = key](const auto& v) { json["metadata"][k] = v; }, value);
        for (const WeightTensor& t : file.tensors())
            json["tensors"].push_back({{"name", t.name}, {"type", t.type}, {"shape", t.shape}, {"bytes", t.bytes}});
        return print(json);
    }
    constexpr size_t kNames = 24;
    out("{} {}\n", padded("format", kNames), file.format());
    for (const auto& [key, value] : file.metadata()) out("{} {}\n", padded(key, kNames), text_of(value));
    out("{} {}, {}\n", padded("tensors", kNames), file.tensors().size(), human_bytes(bytes));
    if (!all) return;
    std::vector<std::vector<std::string>> rows;
    for (const WeightTensor& t : file.tensors())
        rows.push_back({t.name, t.type, to_string(t.shape), std::to_string(t.bytes)});
    print_tensors(std::move(rows));
}

void info(const std::string& path, bool all, const Run& run) {
    if (is_onnx(path)) return show_onnx(path, all, run);
    if (const std::filesystem::path file = base::path_of(path); file.extension() != ".gguf")
        if (const WeightFile weights = WeightFile::open(file); weights.format() != "GGUF")
            return show_weights(weights, path, all, run);
    const GgufFile file = GgufFile::open(base::path_of(path));
    uint64_t bytes = 0;
    for (const GgufTensor& t : file.tensors()) bytes += t.bytes;
    if (run.json) {
        Json json{{"path", path}, {"metadata", Json::object()}, {"tensors", Json::array()}, {"tensor_bytes", bytes}};
        for (const auto& [key, value] : file.metadata())
            std::visit([&, k = key](const auto& v) { json["metadata"][k] = v; }, value);
        for (const GgufTensor& t : file.tensors())
            json["tensors"].push_back(
                {{"name", t.name}, {"dtype", type_of(t)}, {"shape", t.shape}, {"offset", t.offset}, {"bytes", t.bytes}});
        return print(json);
    }
    constexpr size_t kNames = 24;
    for (const auto& [key, value] : file.metadata()) out("{} {}\n", padded(key, kNames), text_of(value));
    out("{} {}, {}\n", padded("tensors", kNames), file.tensors().size(), human_bytes(bytes));
    const GgufValue* architecture = file.find("general.architecture");
    if (architecture != nullptr && *architecture == GgufValue(std::string("esrgan"))) {
        const Esrgan model = Esrgan::from_gguf(file);
        out("{} {} parameters, scale {}, reads {} pixels around each, {} GFLOP for 128 x 128 pixels\n",
            padded("network", kNames), model.parameters(), model.scale(), model.radius(),
            fixed(model.flops(128, 128) / 1e9, 1));
    }
    if (architecture != nullptr && *architecture == GgufValue(std::string("parakeet")))
        print_network(padded("network", kNames), parakeet::ModelFile::open(base::path_of(path)));
    if (!all) return;
    std::vector<std::vector<std::string>> rows;
    for (const GgufTensor& t : file.tensors())
        rows.push_back({t.name, type_of(t), to_string(t.shape), std::to_string(t.bytes)});
    print_tensors(std::move(rows));
}

}  // namespace

void add_model(const Command& app, Run& run) {
    const Command command = app.subcommand(
        "model", "Fetch a network, bring one into GGUF, show what a file of one holds, or where its nodes would run");
    command.needs_subcommand();
    command.footer(
        "Examples:\n  backplane model fetch esrgan-medium\n  backplane model import packages/medium esrgan-medium-x2.gguf "
        "--scale 2\n  backplane model info "
        "esrgan-medium-x2.gguf");
    struct Options {
        std::string from, to, dtype = "f16";
        int scale = 0;
        bool tensors = false, force = false;
    };
    auto o = std::make_shared<Options>();
    const Command importing =
        command.subcommand("import", "An ESRGAN to GGUF: TensorFlow.js layers model of a package, or Real-ESRGAN's network");
    importing
        .option(
            "FROM", o->from,
            "Folder of an unpacked @upscalerjs/esrgan-* package, or a model.json; or an RRDBNet as .safetensors or .onnx")
        .required();
    importing.option("OUT", o->to, "The .gguf file to write").required();
    importing.option("--scale", o->scale, "Which of the package's models: 2, 3, 4 or 8").type("N").in_range(1, 16);
    importing.flag("--force", o->force, "Write over a file that is read-only");
    importing.footer(
        "Examples:\n  backplane model import build/packages/medium esrgan-medium-x2.gguf --scale 2\n  backplane model "
        "import "
        "RealESRGAN_x4plus.safetensors x4plus.gguf");
    importing.runs([o] {
        check_target("OUT", o->to, o->from, o->force);
        check_gguf_name("OUT", o->to);
        import_esrgan(base::path_of(o->from), o->scale, base::path_of(o->to));
        out("{}: {}\n", o->to, Esrgan::open(base::path_of(o->to)).name());
    });
    const Command converting =
        command.subcommand("convert", "Parakeet network, a transformers folder or a GGUF file, to GGUF");
    converting
        .option("FROM", o->from,
                "Folder with config.json, model.safetensors and tokenizer.json, its model.safetensors, or a .gguf file")
        .required();
    converting.option("--output,-o", o->to, "The .gguf file to write").type("OUT").required();
    converting
        .option("--dtype", o->dtype,
                "Of the matrices; norms, biases and small kernels stay f32. Rows that are no whole blocks of 256 become "
                "blocks of 32")
        .shows_default()
        .one_of({"f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_0", "q4_k", "q4_0"});
    converting.flag("--force", o->force, "Write over a file that is read-only");
    converting.footer("Example:\n  backplane model convert parakeet-tdt-0.6b-v3 -o parakeet-tdt-0.6b-v3.gguf --dtype q8_0");
    converting.runs([o] {
        check_target("--output", o->to, o->from, o->force);
        check_gguf_name("--output", o->to);
        const std::vector<std::string> notes = parakeet::write_gguf(parakeet::ModelFile::open(base::path_of(o->from)),
                                                                    dtype_from_name(o->dtype), base::path_of(o->to));
        for (const std::string& note : notes) err("note: {}\n", note);
        print_network(padded(o->to + ":", 0), parakeet::ModelFile::open(base::path_of(o->to)));
    });
    const Command show = command.subcommand(
        "info", "Metadata and tensors of a GGUF or safetensors file; inputs, outputs and operators of an ONNX file");
    show.option("FILE", o->from, "A .gguf, .safetensors or .onnx file, or a folder with model.safetensors").required();
    show.flag("--tensors", o->tensors, "List every tensor; of an ONNX file, every operator");
    add_json_option(show, run);
    show.footer(
        "Examples:\n  backplane model info build/models/esrgan-medium-x2.gguf --tensors\n  backplane model info "
        "silero_vad.onnx");
    show.runs([o, &run] { info(o->from, o->tensors, run); });
    add_model_quantize(command, run);
    add_model_check(command, run);
    add_model_fetch(command, run);
}

}  // namespace backplane::cli
