// bench ops: one op at a time at the shapes that networks have, against the limits of the machine; or two devices side by side.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "backplane/ops.hpp"
#include "cli/bench_run.hpp"
#include "cli/cli.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

struct Case {
    std::string name;
    std::string op;
    double flops = 0;   // 0: limited by memory
    double mbytes = 0;  // that must be read and written, 10^6
    std::function<Graph()> graph;
};

double megabytes(DType dtype, const Shape& shape) { return static_cast<double>(bytes(dtype, shape)) / 1e6; }

// "f16 " where it is not the usual type.
std::string said(DType dtype) { return dtype == DType::f32 ? "" : std::string(name_of(dtype)) + " "; }

Case conv(DType dtype, int64_t in, int64_t out, int64_t kernel, int64_t size, int64_t group = 1) {
    Case c;
    c.name = "Conv " + said(dtype) + std::to_string(kernel) + "x" + std::to_string(kernel) + " " + std::to_string(in) +
             "->" + std::to_string(out) + (group > 1 ? " depthwise" : "") + " @" + std::to_string(size);
    c.op = "Conv";
    const int64_t macs = out * (in / group) * kernel * kernel * size * size;
    c.flops = 2 * static_cast<double>(macs);
    c.mbytes = megabytes(dtype, {in + out, size, size}) + megabytes(dtype, {out, in / group, kernel, kernel});
    c.graph = [=] {
        Graph g;
        const TensorId x = g.input("x", dtype, {1, in, size, size});
        const TensorId w = g.weight("w", dtype, {out, in / group, kernel, kernel});
        const int64_t p = kernel / 2;
        g.output(ops::conv(g, x, w, {.pads = {p, p, p, p}, .group = group}), "y");
        return g;
    };
    return c;
}

// One axis, each channel by itself, as speech networks have it.
Case conv_depthwise(DType dtype, int64_t channels, int64_t taps, int64_t steps) {
    Case c;
    c.name = "Conv " + said(dtype) + "1x" + std::to_string(taps) + " " + std::to_string(channels) + " depthwise, " +
             std::to_string(steps) + " steps";
    c.op = "Conv";
    c.flops = 2 * static_cast<double>(channels * taps * steps);
    c.mbytes = megabytes(dtype, {2 * channels, steps}) + megabytes(dtype, {channels, taps});
    c.graph = [=] {
        Graph g;
        const TensorId x = g.input("x", dtype, {1, channels, steps});
        const TensorId w = g.weight("w", dtype, {channels, 1, taps});
        g.output(ops::conv(g, x, w, {.pads = {taps / 2, taps / 2}, .group = channels}), "y");
        return g;
    };
    return c;
}

// Twice as large, with filters of kernel x kernel.
Case conv_transpose(DType dtype, int64_t in, int64_t out, int64_t kernel, int64_t size) {
    Case c;
    c.name = "ConvTranspose " + said(dtype) + std::to_string(kernel) + "x" + std::to_string(kernel) + " " +
             std::to_string(in) + "->" + std::to_string(out) + " @" + std::to_string(size);
    c.op = "ConvTranspose";
    c.flops = 2 * static_cast<double>(in * out * kernel * kernel * size * size);
    c.mbytes = megabytes(dtype, {in + 4 * out, size, size}) + megabytes(dtype, {in, out, kernel, kernel});
    c.graph = [=] {
        Graph g;
        const TensorId x = g.input("x", dtype, {1, in, size, size});
        const TensorId w = g.weight("w", dtype, {in, out, kernel, kernel});
        const int64_t p = kernel / 2 - 1;
        g.output(ops::conv_transpose(g, x, w, {.strides = {2, 2}, .pads = {p, p, p, p}}), "y");
        return g;
    };
    return c;
}

Case matmul(DType given, DType weight, int64_t m, int64_t n, int64_t k) {
    Case c;
    c.name = std::string("MatMul ") + (given == DType::f32 ? "" : said(given) + "x ") + name_of(weight) +
             " m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k);
    c.op = "MatMul";
    c.flops = 2.0 * static_cast<double>(m * n * k);
    c.mbytes = megabytes(weight, {n, k}) + megabytes(given, {m, n + k});
    c.graph = [=] {
        Graph g;
        const TensorId x = g.input("x", given, {m, k});
        const TensorId w = g.weight("w", weight, {n, k});
        g.output(ops::matmul(g, x, w, {.transpose_b = true}), "y");
        return g;
    };
    return c;
}

// `relative`: with positions and biases as Transformer-XL and the encoders of speech recognisers have them.
Case attention(DType dtype, int64_t heads, int64_t size, int64_t tokens, bool relative) {
    Case c;
    c.name = "Attention " + said(dtype) + std::to_string(heads) + " heads of " + std::to_string(size) + ", " +
             std::to_string(tokens) + " tokens" + (relative ? ", relative" : "");
    c.op = "Attention";
    c.flops = (relative ? 6.0 : 4.0) * static_cast<double>(heads * tokens * tokens * size);
    c.mbytes = (relative ? 6 : 4) * megabytes(dtype, {heads, tokens, size});
    c.graph = [=] {
        Graph g;
        const Shape shape{1, heads, tokens, size};
        std::vector<TensorId> inputs{g.input("q", dtype, shape), g.input("k", dtype, shape), g.input("v", dtype, shape)};
        if (relative)
            inputs.insert(inputs.end(),
                          {no_tensor, no_tensor, g.input("positions", dtype, {heads, 2 * tokens - 1, size}),
                           g.weight("pos_bias_u", dtype, {heads, size}), g.weight("pos_bias_v", dtype, {heads, size})});
        g.output(g.add(Op::attention, inputs), "y");
        return g;
    };
    return c;
}

// The same with its scores written, as three ops: what a network without the op does.
Case attention_in_ops(DType dtype, int64_t heads, int64_t size, int64_t tokens) {
    Case c = attention(dtype, heads, size, tokens, false);
    c.name += ", as products and a softmax";
    c.graph = [=] {
        Graph g;
        const Shape shape{1, heads, tokens, size};
        const TensorId q = ops::mul(g, g.input("q", dtype, shape), g.weight("scale", dtype, {}));
        const TensorId scores = ops::matmul(g, q, g.input("k", dtype, shape), {.transpose_b = true});
        g.output(ops::matmul(g, ops::softmax(g, scores, {.axis = -1}), g.input("v", dtype, shape)), "y");
        return g;
    };
    return c;
}

Case row_op(DType dtype, const char* name, Op op, int64_t rows, int64_t columns, bool scale,
            const std::vector<Attribute>& attributes) {
    Case c;
    c.name = std::string(name) + " " + said(dtype) + std::to_string(rows) + "x" + std::to_string(columns);
    c.op = name_of(op);
    c.mbytes = megabytes(dtype, {2, rows, columns});
    c.graph = [=] {
        Graph g;
        std::vector<TensorId> inputs{g.input("x", dtype, {rows, columns})};
        if (scale) inputs.push_back(g.weight("scale", dtype, {columns}));
        g.output(g.add(op, inputs, attributes), "y");
        return g;
    };
    return c;
}

Case binary(DType dtype, const char* name, Op op, const Shape& shape) {
    Case c;
    c.name = std::string(name) + " " + said(dtype) + to_string(shape);
    c.op = name_of(op);
    c.mbytes = 3 * megabytes(dtype, shape);
    c.graph = [=] {
        Graph g;
        const TensorId a = g.input("a", dtype, shape);
        const TensorId b = g.input("b", dtype, shape);
        g.output(g.add(op, {a, b}), "y");
        return g;
    };
    return c;
}

// Batch 1: the weights of the recurrence are read once a step.
Case recurrent(Op op, DType dtype, int64_t steps, int64_t hidden) {
    Case c;
    c.name = std::string(name_of(op)) + " " + said(dtype) + std::to_string(hidden) + " units, " + std::to_string(steps) +
             " steps";
    c.op = name_of(op);
    const int64_t rows = (op == Op::lstm ? 4 : 3) * hidden;
    c.flops = 4.0 * static_cast<double>(steps * rows * hidden);
    c.mbytes = megabytes(dtype, {steps + 1, rows, hidden});
    c.graph = [=] {
        Graph g;
        const Shape weights{1, rows, hidden};
        const std::vector<TensorId> operands{g.input("x", dtype, {steps, 1, hidden}), g.weight("w", dtype, weights),
                                             g.weight("r", dtype, weights), g.weight("b", dtype, {1, 2 * rows})};
        g.output(g.add_all(op, operands)[0], "y");
        return g;
    };
    return c;
}

// `dtype`: of all but the products, which have their own.
std::vector<Case> cases(DType dtype) {
    std::vector<Case> all{
        conv(dtype, 64, 64, 3, 128),          conv(dtype, 64, 64, 3, 256),        conv(dtype, 128, 64, 1, 128),
        conv(dtype, 64, 64, 5, 128),          conv(dtype, 3, 64, 3, 128),         conv(dtype, 64, 12, 3, 128),
        conv(dtype, 64, 64, 3, 128, 64),      conv_depthwise(dtype, 512, 9, 400), conv_transpose(dtype, 256, 128, 4, 32),
        conv_transpose(dtype, 64, 64, 2, 128)};
    for (const DType weight : {DType::f32, DType::f16, DType::q8_0, DType::q4_0})
        for (const int64_t m : {1, 32, 512}) all.push_back(matmul(DType::f32, weight, m, 2048, 2048));
    for (const int64_t tokens : {128, 512, 2048}) all.push_back(attention(dtype, 8, 64, tokens, false));
    all.push_back(attention(dtype, 8, 64, 512, true));
    for (const Op op : {Op::lstm, Op::gru}) all.push_back(recurrent(op, dtype, 400, 640));
    all.push_back(row_op(dtype, "Softmax", Op::softmax, 512, 2048, false, {{Attr::axis, 1}}));
    all.push_back(row_op(dtype, "LayerNorm", Op::layer_norm, 512, 2048, true, {{Attr::axis, 1}}));
    all.push_back(row_op(dtype, "RMSNormalization", Op::rms_norm, 512, 2048, true, {{Attr::axis, 1}}));
    all.push_back(row_op(dtype, "Gelu", Op::gelu, 512, 2048, false, {}));
    all.push_back(row_op(dtype, "Silu", Op::silu, 512, 2048, false, {}));
    all.push_back(row_op(dtype, "Transpose", Op::transpose, 1024, 1024, false, {{Attr::perm, {1, 0}}}));
    all.push_back(row_op(dtype, "ReduceSum", Op::reduce_sum, 512, 2048, false, {{Attr::axes, {1}}}));
    all.push_back(binary(dtype, "Add", Op::add, {1024, 1024}));
    all.push_back(binary(dtype, "Mul", Op::mul, {1024, 1024}));
    return all;
}

// One product with weights of each kind that the depth allows, or of those in `only`, and all in f16.
std::vector<Case> products(const std::vector<int64_t>& mnk, const std::vector<std::string>& only) {
    std::vector<DType> weights{DType::f32,  DType::f16,  DType::bf16, DType::q8_0,  DType::q4_0,
                               DType::q4_1, DType::q5_0, DType::q5_1, DType::iq4_nl};
    constexpr int64_t kLargeBlock = 256;
    if (mnk[2] % kLargeBlock == 0)
        weights.insert(weights.end(),
                       {DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_xs, DType::q8_k});
    std::vector<Case> all;
    for (const DType weight : weights)
        if (only.empty() || std::find(only.begin(), only.end(), name_of(weight)) != only.end())
            all.push_back(matmul(DType::f32, weight, mnk[0], mnk[1], mnk[2]));
    if (only.empty()) all.push_back(matmul(DType::f16, DType::f16, mnk[0], mnk[1], mnk[2]));
    return all;
}

struct OpsChoice {
    DeviceChoice choice;
    std::string op, against, math, dtype = "f32";
    std::vector<std::string> weights;
    std::vector<int64_t> product, conv, heads;
    [[nodiscard]] std::vector<Case> cases() const {
        const DType type = computed_in(dtype);
        if (!heads.empty())
            return {cli::attention(type, heads[0], heads[1], heads[2], false),
                    cli::attention_in_ops(type, heads[0], heads[1], heads[2]),
                    cli::attention(type, heads[0], heads[1], heads[2], true)};
        if (!conv.empty()) return {cli::conv(type, conv[0], conv[1], conv[2], conv[3])};
        if (product.empty()) return cli::cases(type);
        if (type == DType::f16) return {matmul(type, type, product[0], product[1], product[2])};
        return products(product, weights);
    }
    double seconds = 0.3;
    bool resident = false;
};

// Zero runs: the device does not do it.
Timings time_case(const Device& device, const Case& c, const OpsChoice& o, Timed timed, Run& run, std::string& why) {
    try {
        TimedHow how;
        how.least_seconds = o.seconds;
        how.cancel = &run.interrupted;
        how.math = o.math == "relaxed" ? Math::relaxed : Math::standard;
        how.timed = timed;
        return time_graph(device, c.graph(), how);
    } catch (const Error& error) {
        // What does not fit is like what is not done: the other rows still are.
        if (error.code() != Code::unsupported && error.code() != Code::no_device_memory) throw;
        why = error.what();
        return {};
    }
}

// A table and its JSON, a case at a time.
class OpsReport {
public:
    OpsReport(const Peak& peak, const OpsChoice& o, const Device& other)
        : peak_(peak), resident_(o.resident), against_(other) {
        rows.push_back({"OP", "MS", "GFLOP/S", "GB/S", "OF ITS LIMIT"});
        if (resident_)
            rows[0].insert(rows[0].end(),
                           {"RESIDENT MS", "OF ITS LIMIT", "IN A ROW MS", "OF ITS LIMIT", "IN A GRAPH MS", "OF ITS LIMIT"});
        if (other) rows[0].insert(rows[0].end(), {other.info().id + " MS", "TIMES FASTER"});
        if (other && resident_) rows[0].insert(rows[0].end(), {other.info().id + " RESIDENT MS", "TIMES FASTER"});
    }

    void add(const Case& c, const Timings& t, const Timings& u, const std::string& why) {
        Json row{{"name", c.name}, {"op", c.op}};
        std::vector<std::string> cells{c.name};
        add_host(c, t.host, row, cells);
        if (resident_) add_resident(c, t.resident, "resident", row, cells);
        if (resident_) add_resident(c, t.in_a_row, "in_a_row", row, cells);
        if (resident_) add_resident(c, t.in_graph, "in_graph", row, cells);
        if (against_) compare(t.host, u.host, "against", "ratio", row, cells);
        if (against_ && resident_) compare(t.resident, u.resident, "against_resident", "resident_ratio", row, cells);
        if (t.host.runs > 0 && u.host.runs > 0) {
            log_sum_ += std::log(u.host.median_ms / t.host.median_ms);
            ++compared;
        }
        if (!why.empty()) row["unsupported"] = why;
        rows.push_back(std::move(cells));
        json.push_back(std::move(row));
    }
    [[nodiscard]] double geometric_mean() const { return compared > 0 ? std::exp(log_sum_ / compared) : 0; }

    std::vector<std::vector<std::string>> rows;
    Json json = Json::array();
    int compared = 0;

private:
    // The slower of computing it all and moving it all.
    [[nodiscard]] double limit_ms(const Case& c) const {
        return std::max(peak_.gflops > 0 ? c.flops / peak_.gflops / 1e6 : 0, peak_.gbytes > 0 ? c.mbytes / peak_.gbytes : 0);
    }
    [[nodiscard]] std::string of_limit(const Case& c, const Timing& t) const {
        return limit_ms(c) > 0 ? fixed(limit_ms(c) / t.median_ms, 2).text : "-";
    }
    void add_host(const Case& c, const Timing& t, Json& row, std::vector<std::string>& cells) const {
        if (t.runs == 0) return void(cells.insert(cells.end(), 4, "-"));
        const double gflops = c.flops / t.median_ms / 1e6;
        const double gbytes = c.mbytes / t.median_ms;
        cells.insert(cells.end(), {fixed(t.median_ms, 3).text, c.flops > 0 ? fixed(gflops, 0).text : "-",
                                   fixed(gbytes, 1).text, of_limit(c, t)});
        row.update({{"median_ms", t.median_ms},
                    {"least_ms", t.least_ms},
                    {"runs", t.runs},
                    {"gflops", gflops},
                    {"gbytes", gbytes},
                    {"of_limit", limit_ms(c) / t.median_ms}});
    }
    void add_resident(const Case& c, const Timing& t, const std::string& how, Json& row,
                      std::vector<std::string>& cells) const {
        if (t.runs == 0) return void(cells.insert(cells.end(), 2, "-"));
        cells.insert(cells.end(), {fixed(t.median_ms, 3).text, of_limit(c, t)});
        row.update({{how + "_ms", t.median_ms},
                    {how + "_least_ms", t.least_ms},
                    {how + "_runs", t.runs},
                    {how + "_of_limit", limit_ms(c) / t.median_ms}});
    }
    static void compare(const Timing& t, const Timing& u, const std::string& what, const char* ratio, Json& row,
                        std::vector<std::string>& cells) {
        const bool both = t.runs > 0 && u.runs > 0;
        cells.push_back(u.runs > 0 ? fixed(u.median_ms, 3).text : "-");
        cells.push_back(both ? fixed(u.median_ms / t.median_ms, 2).text : "-");
        if (u.runs > 0) row.update({{what + "_ms", u.median_ms}, {what + "_least_ms", u.least_ms}});
        if (both) row[ratio] = u.median_ms / t.median_ms;
    }

    Peak peak_;
    bool resident_;
    Device against_;
    double log_sum_ = 0;
};

// Of two devices side by side the one may have threads to set and the other not. Throws Error(not_found) where none has; says which has not.
std::vector<std::string> set_threads(Device device, Device other, int64_t threads) {
    if (threads == 0) return {};
    std::vector<std::string> without;
    for (Device* one : {&device, &other}) {
        if (!*one) continue;
        const std::vector<Option> options = one->options();
        const bool known = std::any_of(options.begin(), options.end(), [](const Option& o) { return o.name == "threads"; });
        if (known)
            one->set_option("threads", threads);
        else
            without.push_back(one->info().id + " has no threads to set: --threads " + std::to_string(threads) +
                              " is not for it");
    }
    // Nobody heeds what was asked for: the device says which options there are.
    if (without.size() == (other ? 2U : 1U)) device.set_option("threads", threads);
    return without;
}

// Throws UsageError where --op names an op that none of the cases is of.
std::vector<Case> cases_asked_for(const OpsChoice& o) {
    std::vector<Case> cases = o.cases();
    if (o.op.empty()) return cases;
    std::string all;
    for (const Case& c : cases)
        if ((", " + all + ",").find(", " + c.op + ",") == std::string::npos) all += (all.empty() ? "" : ", ") + c.op;
    const Op op = op_from_name(o.op);
    std::erase_if(cases, [&](const Case& c) { return op_from_name(c.op) != op; });
    if (cases.empty())
        throw UsageError("--op " + o.op + ": none of what would be timed is of it; there are cases of " + all);
    return cases;
}

void bench_ops(const OpsChoice& o, Run& run) {
    const std::vector<Case> cases = cases_asked_for(o);
    const Context context(context_options(o.choice));
    const Device device = context.choose(o.choice.device);
    const Device other = o.against.empty() ? Device() : context.choose(o.against);
    const std::vector<std::string> notes = set_threads(device, other, o.choice.threads);
    const Peak peak = measure_peak(device);
    OpsReport report(peak, o, other);
    for (const Case& c : cases) {
        std::string why;
        const Timings t = time_case(device, c, o, o.resident ? Timed::all : Timed::host, run, why);
        // Of the other device what is compared alone.
        const Timed compared = o.resident ? Timed::resident : Timed::host;
        report.add(c, t, other ? time_case(other, c, o, compared, run, why) : Timings{}, why);
    }
    if (run.json)
        return print({{"device", device.info().id},
                      {"name", device.info().name},
                      {"against", other ? other.info().id : ""},
                      {"peak_gflops", peak.gflops},
                      {"peak_read_gbytes", peak.gbytes},
                      {"ops", report.json},
                      {"geometric_mean", report.geometric_mean()},
                      {"notes", notes}});
    out("{} ({}), FMA peak {} GFLOP/s, memory read {} GB/s, both measured now\n\n", device.info().id, device.info().name,
        fixed(peak.gflops, 0), fixed(peak.gbytes, 1));
    for (const std::string& note : notes) out("Note: {}\n", note);
    print_table(report.rows);
    if (report.compared > 0)
        out("\nGeometric mean of {} ratios: {} times as fast as {}\n", report.compared, fixed(report.geometric_mean(), 2),
            other.info().id);
}

}  // namespace

void add_bench_ops(const Command& app, Run& run) {
    const Command command = app.subcommand("ops", "Time ops at the shapes of real networks, against the machine's limits");
    auto o = std::make_shared<OpsChoice>();
    command.option("--op", o->op, "Only this op").type("OP");
    command
        .option("--product", o->product,
                "Only this matrix product: rows, columns and depth, with weights of each kind and all in f16. Depth: a "
                "multiple of 32; of 256 for K-quants, too")
        .separated(3, ',')
        .type("M,N,K")
        .in_range(1, 1 << 16);
    command.option("--weights", o->weights, "Only weights of this type in the product (may be repeated)")
        .type("TYPE")
        .once_each()
        .one_of({"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "q2_k", "q3_k", "q4_k", "q5_k",
                 "q6_k", "iq4_xs", "q8_k"});
    command
        .option("--conv", o->conv,
                "Only this convolution: channels in, channels out, extent of the filters and of the picture")
        .separated(4, ',')
        .type("IN,OUT,KERNEL,SIZE")
        .in_range(1, 1 << 14);
    command
        .option(
            "--attention", o->heads,
            "Only this attention: heads, their size, and tokens; the op, what it is made of, and with relative positions")
        .separated(3, ',')
        .type("HEADS,SIZE,TOKENS")
        .in_range(1, 1 << 16);
    command
        .option("--dtype", o->dtype, "Type of convolutions, attention and ops on rows; f16 of a product: all of it in f16")
        .one_of({"f32", "f16"})
        .shows_default();
    command.option("--against", o->against, "A second device to compare with, in the same run").type("FILTER");
    command
        .option("--math", o->math,
                "default: results within the conformance bounds; relaxed: each device rounds as it likes. With "
                "--against: relaxed")
        .one_of({"default", "relaxed"});
    command.option("--seconds", o->seconds, "Time spent on each op").shows_default().between(0.01, 60.0);
    command.flag(
        "--resident", o->resident,
        "Time each op also with inputs and outputs that stay on the device, beside host to host: a call and its wait, "
        "of many handed over in a row, and of copies in one graph");
    add_device_options(command, o->choice);
    add_json_option(command, run);
    command.footer(
        "Data that fits the caches can pass the limit of memory.\nExamples:\n  backplane bench ops --device cpu --threads "
        "1\n"
        "  backplane bench ops --op MatMul --resident --json\n"
        "  backplane bench ops --product 4096,4096,4096 --dtype f16 --resident\n"
        "  backplane bench ops --product 1,4096,14336 --weights q4_k --weights q8_0 --resident\n"
        "  backplane bench ops --conv 64,64,3,512 --dtype f16 --resident");
    command.runs([o, &run] {
        if (!o->op.empty() && op_from_name(o->op) == Op::unknown)
            throw Error(Code::invalid, "there is no op '" + o->op + "'");
        if (!o->weights.empty() && (o->product.empty() || o->cases().empty()))
            throw Error(Code::invalid, o->product.empty() ? "--weights is of a product: give --product M,N,K, too"
                                                          : "K-quants need a depth that is a multiple of 256, not " +
                                                                std::to_string(o->product[2]));
        if (o->math.empty()) o->math = o->against.empty() ? "default" : "relaxed";
        bench_ops(*o, run);
    });
}

}  // namespace backplane::cli
