// LSTM and GRU: what expand_recurrent leaves of them. A step of the program does all steps of the sequence; in each of these a task is some blocks of
// units, whose weights it reads for all rows.
#include "common/recurrent.hpp"

#include <cmath>
#include <cstring>

#include "ops/table.hpp"
#include "weights.hpp"

namespace backplane::cpu::ops::recurrent {

namespace {

using backend::Recurrence;
using backend::RecurrentRows;
namespace rules = backplane::ops;

// Rows that share a visit to the weights; their sums stay in the nearest cache.
constexpr int64_t kRows = 24;
// Products that a task makes at least.
constexpr int64_t kGrain = 1 << 16;

// Gates whose products are made together.
struct Panel {
    int64_t first = 0, gates = 0;
    int64_t at = 0;  // elements of packed weights before it, of a direction
};

struct Weights {
    int64_t hidden = 0, gates = 0, directions = 0, lanes = 0;
    uint32_t dtype = BP_F32;
    PackedType type = kPackedF32;
    std::vector<Panel> panels;

    [[nodiscard]] int64_t blocks() const { return (hidden + lanes - 1) / lanes; }
    [[nodiscard]] int64_t elements() const { return blocks() * lanes * hidden * gates; }  // of a direction
    [[nodiscard]] int64_t size() const { return type == kPackedF32 ? 4 : 2; }
    [[nodiscard]] int64_t place(int64_t direction, const Panel& panel, int64_t block) const {
        return direction * elements() + panel.at + block * lanes * hidden * panel.gates;
    }
};

Weights weights_of(const Recurrence& r, uint32_t dtype, const Kernels& k) {
    Weights w{r.hidden, r.gates, r.directions, k.recurrent.lanes, dtype, kPackedF32, {}};
    if (dtype == BP_F16 && k.matmul.converts_f16) w.type = kPackedF16;
    if (dtype == BP_BF16) w.type = kPackedBF16;
    if (r.at_once())
        w.panels = {{0, r.gates, 0}};
    else
        w.panels = {{0, 2, 0}, {2, 1, 2 * w.blocks() * w.lanes * w.hidden}};
    return w;
}

// One block of a panel: [depth][gate][lane].
void pack_block(const Weights& w, const Panel& panel, int64_t block, const std::byte* plain, std::byte* into) {
    std::vector<float> row(static_cast<size_t>(w.hidden));
    const auto source = static_cast<int64_t>(sdk::dtype_info(w.dtype).bytes);
    for (int64_t gate = 0; gate < panel.gates; ++gate)
        for (int64_t lane = 0; lane < w.lanes; ++lane) {
            const int64_t unit = block * w.lanes + lane;
            const bool there = unit < w.hidden;
            const std::byte* from = plain + ((panel.first + gate) * w.hidden + unit) * w.hidden * source;
            const bool decodes = w.type == kPackedF32;
            if (there && decodes) decode(from, w.dtype, w.hidden, row.data());
            const std::byte* elements = decodes ? reinterpret_cast<const std::byte*>(row.data()) : from;
            for (int64_t k = 0; k < w.hidden; ++k) {
                std::byte* to = into + ((k * panel.gates + gate) * w.lanes + lane) * w.size();
                if (there)
                    std::memcpy(to, elements + k * w.size(), static_cast<size_t>(w.size()));
                else
                    std::memset(to, 0, static_cast<size_t>(w.size()));
            }
        }
}

void pack(const Weights& w, const std::byte* plain, std::byte* packed, ThreadPool& pool) {
    const int64_t source = w.gates * w.hidden * w.hidden * static_cast<int64_t>(sdk::dtype_info(w.dtype).bytes);
    pool.run(static_cast<uint32_t>(w.directions * w.blocks()), [&](uint32_t i, std::byte*) {
        const int64_t direction = i / w.blocks();
        const int64_t block = i % w.blocks();
        for (const Panel& panel : w.panels)
            pack_block(w, panel, block, plain + direction * source, packed + w.place(direction, panel, block) * w.size());
    });
}

RecurrentFunction function_of(uint32_t op) {
    return op == BP_OP_relu ? kRecurrentRelu : op == BP_OP_tanh ? kRecurrentTanh : kRecurrentSigmoid;
}

struct Operands {
    ValueId inputs = kNone, weights = kNone, bias = kNone, h = kNone, c = kNone, peepholes = kNone, out = kNone;
    WholeNumbers lengths;
};

// All that is known when the program is made; at() and what follows it are of one run.
struct Plans {
    Recurrence r;
    Weights w;
    Operands o;
    const RecurrentKernels* k = nullptr;

    [[nodiscard]] int64_t state_size() const { return r.directions * r.batch * r.hidden; }
    [[nodiscard]] float* row(const Run& run, int64_t row) const { return run.at<float>(o.out) + row * state_size(); }
    [[nodiscard]] int64_t length(const Run& run, int64_t n) const {
        return o.lengths.given() ? std::clamp<int64_t>(o.lengths.in(run)[n], 0, r.steps) : r.steps;
    }
    static const float* given(const Run& run, ValueId id) { return id != kNone ? run.at<float>(id) : nullptr; }
};

void begin(const Plans& p, const Run& run) {
    const RecurrentRows rows(p.r.steps);
    const auto set = [&](int64_t row, ValueId from) {
        float* to = p.row(run, row);
        if (from != kNone)
            std::copy_n(run.at<float>(from), p.state_size(), to);
        else
            std::fill_n(to, p.state_size(), 0.0f);
    };
    set(rows.before(0), p.o.h);
    if (p.r.cells) set(rows.cell, p.o.c);
}

// The cell of block `first / lanes` of row n, but for its sums.
RecurrentCell cell_of(const Plans& p, const Run& run, int64_t step, int64_t d, int64_t n, int64_t first, int64_t t) {
    const Recurrence& r = p.r;
    const RecurrentRows rows(r.steps);
    const int64_t at = (d * r.batch + n) * r.hidden + first;
    const int64_t sums = r.gates * r.hidden;
    RecurrentCell c;
    c.units = std::min(p.w.lanes, r.hidden - first);
    c.inputs = run.at<float>(p.o.inputs) + ((d * r.steps + t) * r.batch + n) * sums + first;
    c.stride = r.hidden;
    if (const float* bias = Plans::given(run, p.o.bias)) {
        c.input_bias = bias + d * 2 * sums + first;
        c.state_bias = c.input_bias + sums;
    }
    if (const float* peepholes = Plans::given(run, p.o.peepholes)) c.peepholes = peepholes + d * 3 * r.hidden + first;
    c.before = p.row(run, rows.before(step)) + at;
    c.after = p.row(run, rows.after(step)) + at;
    c.result = p.row(run, t) + at;
    if (r.cells) c.cell = p.row(run, rows.cell) + at;
    if (!r.at_once()) {
        c.reached = p.row(run, rows.reached) + at;
        c.update = p.row(run, rows.update) + at;
    }
    for (size_t k = 0; k < (r.cells ? 3U : 2U); ++k) c.functions[k] = function_of(r.function(d, k));
    c.clip = r.clip != 0 ? r.clip : HUGE_VALF;
    c.input_forget = r.input_forget;
    return c;
}

// A block of units of some rows: products, then gates. What a row that has ended keeps is copied by the last panel. Blocks are counted over
// the directions; `next` comes after this one.
void do_block(const Plans& p, const Run& run, int64_t step, int64_t which, int64_t next, size_t panel, float* sums) {
    const int64_t d = which / p.w.blocks(), block = which % p.w.blocks();
    const Recurrence& r = p.r;
    const Panel& gates = p.w.panels[panel];
    const bool last = panel + 1 == p.w.panels.size();
    const RecurrentRows rows(r.steps);
    const float* state = p.row(run, panel == 0 ? rows.before(step) : rows.reached) + d * r.batch * r.hidden;
    const auto does = r.cells ? p.k->lstm : r.reset_behind ? p.k->gru : last ? p.k->gru_content : p.k->gru_gates;
    const std::byte* weights = run.at<std::byte>(p.o.weights);
    RecurrentSums task{weights + p.w.place(d, gates, block) * p.w.size(),
                       weights + p.w.place(next / p.w.blocks(), gates, next % p.w.blocks()) * p.w.size(),
                       nullptr,
                       sums,
                       r.hidden,
                       0};
    for (int64_t first = 0; first < r.batch; first += kRows) {
        task.state = state + first * r.hidden;
        task.rows = std::min(kRows, r.batch - first);
        p.k->sums[gates.gates - 1][p.w.type](task);
        for (int64_t i = 0; i < task.rows; ++i) {
            const int64_t length = p.length(run, first + i);
            const bool runs = step < length;
            const int64_t t = runs && r.backwards(d) ? length - 1 - step : step;
            RecurrentCell cell = cell_of(p, run, step, d, first + i, block * p.w.lanes, t);
            cell.sums = sums + i * gates.gates * p.w.lanes;
            if (runs) {
                does(cell);
            } else if (last) {
                std::copy_n(cell.before, cell.units, cell.after);
                std::fill_n(cell.result, cell.units, 0.0f);
            }
        }
    }
}

void compute(const Plans& p, const Run& run) {
    begin(p, run);
    const int64_t blocks = p.w.blocks();
    const int64_t of_block = std::max<int64_t>(1, p.w.lanes * p.r.hidden * p.r.gates * p.r.batch);
    // Few enough tasks that each is worth handing out, and as many to a thread as even out what they cost.
    const int64_t worth = std::max<int64_t>(1, p.r.directions * blocks * of_block / kGrain);
    const int64_t tasks = std::min({p.r.directions * blocks, worth, int64_t{run.pool().threads()} * 2});
    for (int64_t step = 0; step < p.r.steps; ++step)
        for (size_t panel = 0; panel < p.w.panels.size(); ++panel)
            run.parallel(tasks, [&](int64_t number, std::byte* scratch) {
                // To and fro: a step begins with the weights that the one before ended with, which are still in the nearest caches.
                const bool back = step % 2 != 0;
                const int64_t all = p.r.directions * blocks;
                const int64_t task = back ? tasks - 1 - number : number;
                const int64_t first = task * all / tasks, end = (task + 1) * all / tasks;
                for (int64_t i = 0; i < end - first; ++i) {
                    const int64_t which = back ? end - 1 - i : first + i;
                    const int64_t next = std::clamp<int64_t>(back ? which - 1 : which + 1, 0, all - 1);
                    do_block(p, run, step, which, next, panel, reinterpret_cast<float*>(scratch));
                }
            });
}

Verdict check(const Plan& plan, const Node& node) {
    for (const ValueId id : {node.inputs[rules::kRecurrentW], node.inputs[rules::kRecurrentR]})
        if (plan[id].dtype == BP_F64) return {BP_WHY_DTYPE, node.text() + " is not done for " + plan[id].text()};
    return {};
}

void lower(Lowering& to, const Node& node) {
    Plans p;
    p.r = backend::recurrence_of(node, to[node.output]);
    if (to[node.output].elements() == 0) return;
    p.k = &to.kernels.recurrent;
    const ValueId weights = node.inputs[rules::kRecurrentR];
    p.w = weights_of(p.r, to[weights].dtype, to.kernels);
    std::string kind = "recurrent/" + std::to_string(p.w.lanes);
    for (const int64_t n : {p.w.hidden, p.w.gates, p.w.directions, int64_t{p.w.dtype}, int64_t{p.w.type},
                            static_cast<int64_t>(p.w.panels.size())})
        kind += "," + std::to_string(n);
    const auto bytes = static_cast<uint64_t>(p.w.directions * p.w.elements() * p.w.size());
    p.o = {
        node.inputs[rules::kRecurrentX],
        to.packed(weights, layout_id(kind), bytes,
                  [w = p.w](const std::byte* plain, std::byte* packed, ThreadPool& pool) { pack(w, plain, packed, pool); }),
        node.inputs[rules::kRecurrentB],
        node.inputs[rules::kRecurrentH],
        node.inputs[rules::kRecurrentC],
        node.inputs[rules::kRecurrentP],
        node.output,
        WholeNumbers(to, node.inputs[rules::kRecurrentLengths])};
    to.lane_scratch(static_cast<uint64_t>(kRows * p.r.gates * p.w.lanes) * sizeof(float));
    const Operands& o = p.o;
    to.step(step_label(to, node), {o.inputs, o.weights, o.bias, o.lengths.from, o.h, o.c, o.peepholes}, {o.out},
            [p](const Run& run) { compute(p, run); });
}

constexpr uint32_t kOwn = 1U << rules::kRecurrentR | 1U << rules::kRecurrentW;
constexpr OpLowering table[] = {{BP_OP_lstm, Types::judges, Wants::row_major, kOwn, check, lower},
                                {BP_OP_gru, Types::judges, Wants::row_major, kOwn, check, lower}};

}  // namespace

const OpFamily ops_recurrent = {table, std::size(table)};

}  // namespace backplane::cpu::ops::recurrent
