#include <algorithm>

#include "backplane/quantize.hpp"
#include "base/file.hpp"
#include "cli/cli.hpp"
#include "cli/progress.hpp"
#include "cli/targets.hpp"

namespace backplane::cli {

namespace {

struct QuantizeChoice {
    std::string from, to, dtype = "q8_0";
    std::vector<std::string> keep;
    int threads = 0;
    bool embeddings = false, tensors = false, force = false;
};

void print_quantized(const std::vector<QuantizedTensor>& all, const QuantizeChoice& o, const Run& run) {
    uint64_t before = 0, after = 0;
    size_t changed = 0;
    const QuantizedTensor* worst = nullptr;
    for (const QuantizedTensor& t : all) {
        before += t.bytes_before;
        after += t.bytes_after;
        changed += t.error > 0 || t.bytes_before != t.bytes_after ? 1 : 0;
        if (t.error > 0 && (worst == nullptr || t.error > worst->error)) worst = &t;
    }
    if (run.json) {
        Json json{{"output", o.to},
                  {"dtype", o.dtype},
                  {"bytes_before", before},
                  {"bytes_after", after},
                  {"tensors", Json::array()}};
        for (const QuantizedTensor& t : all)
            json["tensors"].push_back({{"name", t.name},
                                       {"from", t.from},
                                       {"to", name_of(t.to)},
                                       {"shape", t.shape},
                                       {"bytes_before", t.bytes_before},
                                       {"bytes_after", t.bytes_after},
                                       {"error", t.error},
                                       {"why", t.why}});
        return print(json);
    }
    if (o.tensors) {
        std::vector<std::vector<std::string>> rows{{"TENSOR", "SHAPE", "FROM", "TO", "ERROR", "WHY"}};
        for (const QuantizedTensor& t : all)
            rows.push_back(
                {t.name, to_string(t.shape), t.from, name_of(t.to), t.error > 0 ? fixed(t.error, 4).text : "", t.why});
        print_table(rows);
        out("\n");
    }
    out("{}: {} of {} tensors changed, {} to {}\n", o.to, changed, all.size(), human_bytes(before), human_bytes(after));
    if (worst != nullptr)
        out("largest error {} of the root of the mean square, {} ({})\n", fixed(worst->error, 4), worst->name,
            name_of(worst->to));
}

void quantize_file(const QuantizeChoice& o, Run& run) {
    check_target("OUT", o.to, o.from, o.force);
    check_gguf_name("OUT", o.to);
    QuantizeOptions options;
    options.dtype = dtype_from_name(o.dtype);
    options.keep = o.keep;
    options.embeddings = o.embeddings;
    options.threads = static_cast<uint32_t>(o.threads);
    options.cancel = &run.interrupted;
    const WeightFile file = WeightFile::open(base::path_of(o.from));
    std::vector<QuantizedTensor> all;
    {
        Progress progress("quantizing");
        options.progress = [&](double done) { progress.show(done); };
        all = quantize(file, base::path_of(o.to), options);
    }
    print_quantized(all, o, run);
}

}  // namespace

void add_model_quantize(const Command& app, Run& run) {
    const Command command = app.subcommand("quantize", "The weights of any network in fewer bits, as GGUF");
    auto o = std::make_shared<QuantizeChoice>();
    command
        .option("IN", o->from,
                "A .gguf, .safetensors or .onnx file, an index of several, or a folder with model.safetensors")
        .required();
    command.option("OUT", o->to, "The .gguf file to write").required();
    command.option("--dtype", o->dtype, "Of the matrices. Rows that are no whole blocks of 256 become blocks of 32")
        .shows_default()
        .one_of({"f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_0", "q4_k", "q4_0"});
    command.option("--keep", o->keep, "Names that stay as they are, with * and ?; may be given several times")
        .type("PATTERN")
        .once_each();
    command.flag("--embeddings", o->embeddings, "Embeddings too, which otherwise stay as they are");
    command.option("--threads", o->threads, "How many work on it").type("N").in_range(1, 1024);
    command.flag("--tensors", o->tensors, "List every tensor, with its error or why it stays as it is");
    command.flag("--force", o->force, "Write over a file that is read-only, or over IN itself");
    add_json_option(command, run);
    command.footer(
        "Norms, biases, embeddings and what has no rows of whole blocks stay as they are. OUT is replaced when the new file "
        "is whole.\n"
        "Examples:\n"
        "  backplane model quantize model.safetensors model-q4_k.gguf --dtype q4_k --keep 'lm_head*'\n"
        "  backplane model quantize f16.gguf q8_0.gguf --tensors");
    command.runs([o, &run] { quantize_file(*o, run); });
}

}  // namespace backplane::cli
