#include "program.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "common/query.hpp"

namespace backplane::ggml {

using backend::aligned;
using backend::invalid;

namespace {

// Does it write to the memory of an operand, in a release that does in place what others do not? Copies and clamps are made for that.
bool in_place_by_surprise(const BaseLibrary& base, const Tensor* op) {
    constexpr std::string_view kViews[] = {"VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE", "CPY", "CLAMP"};
    return op->view_src != nullptr && std::find(std::begin(kViews), std::end(kViews), base.op_desc(op)) == std::end(kViews);
}

// Does a device with memory of its own copy such elements? ggml's Vulkan module says that it copies any, has kernels for two and four bytes, and
// ends the process over others.
bool copies(const OpenDevice& device, const Tensor* elements) {
    const size_t size = device.base.type_size(elements->type);
    return device.host_memory || size == 2 || size == 4;
}

bool is_refused(const OpenDevice& device, const Tensor* op) {
    constexpr std::string_view kCopies[] = {"CPY", "CONT", "DUP"};
    const bool copy = std::find(std::begin(kCopies), std::end(kCopies), device.base.op_desc(op)) != std::end(kCopies);
    return in_place_by_surprise(device.base, op) || (copy && !copies(device, op->src[0])) ||
           !device.base.backend_dev_supports_op(device.found.device, op);
}

// The first op from node `first` of a ggml graph on that the device does not take; null: it takes them all.
const Tensor* first_refused(const OpenDevice& device, Graph* graph, int first) {
    for (int i = first; i < device.base.graph_n_nodes(graph); ++i) {
        const Tensor* op = device.base.graph_node(graph, i);
        if (is_refused(device, op)) return op;
    }
    return nullptr;
}

uint32_t reason_of(const OpenDevice& device, const sdk::GraphView& view, uint32_t index) {
    const size_t room = tensors_of(view, view.node(index));
    const ContextHandle context(device.base, room, room);
    Graph* graph = device.base.new_graph_custom(context.get(), room, false);
    Lowering lowering(device.base, view, context.get(), graph, false);
    try {
        lowering.lower(index);
    } catch (const Refusal& refusal) {
        return refusal.reason;
    }
    // As the result of a graph it may have to be copied.
    const Tensor* result = lowering.known_value(view.output(view.node(index), 0));
    if (result != nullptr && !copies(device, result)) return BP_WHY_DTYPE;
    return first_refused(device, graph, 0) == nullptr ? BP_WHY_NONE : BP_WHY_DRIVER;
}

Tensor* root_of(Tensor* t) { return t->view_src != nullptr ? t->view_src : t; }

bool is_bound_role(const bp_tensor& t) {
    return t.role == BP_ROLE_INPUT || t.role == BP_ROLE_WEIGHT || (t.role == BP_ROLE_STATE && t.state_in == 0);
}

}  // namespace

void OpenDevice::query(const bp_graph& graph, const bp_array& answers) const {
    const sdk::GraphView view(&graph);
    view.validate();
    if (view.nodes() != 0 && (answers.first == nullptr || answers.count < view.nodes()))
        invalid("query: there is room for " + std::to_string(answers.count) + " answers, the graph has " +
                std::to_string(view.nodes()) + " nodes");
    const bool symbols = backend::has_symbols(view);
    for (uint32_t i = 0; i < view.nodes(); ++i)
        backend::answer(answers, i, {symbols ? uint32_t{BP_WHY_SYMBOLIC} : reason_of(*this, view, i), {}});
}

Program::Program(OpenDevice& device, const bp_graph& graph, const bp_compile& how)
    : device_(device),
      base_(device.base),
      plan_only_((how.flags & BP_COMPILE_PLAN_ONLY) != 0),
      native_(how.math == BP_MATH_RELAXED || device.native) {
    const sdk::GraphView view(&graph);
    view.validate();
    if (backend::has_symbols(view))
        throw sdk::Failure(BP_UNSUPPORTED, "compile for ggml: the graph has symbolic dimensions; give numbers");
    lower(view, how, native_);
    if (how.workspace_limit != 0 && workspace_ > how.workspace_limit)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "compile for ggml: the graph needs a workspace of " +
                                                    std::to_string(workspace_) + " bytes, " +
                                                    std::to_string(how.workspace_limit) + " are allowed");
}

void Program::lower(const sdk::GraphView& view, const bp_compile& how, bool native) {
    size_t room = 64 + 2 * size_t{view.tensors()};
    for (uint32_t i = 0; i < view.nodes(); ++i) room += tensors_of(view, view.node(i));
    context_ = std::make_unique<ContextHandle>(base_, room, room);
    graph_ = base_.new_graph_custom(context_->get(), room, false);
    Lowering lowering(base_, view, context_->get(), graph_, native);
    for (uint32_t i = 0; i < view.nodes(); ++i) {
        if (how.cancel != nullptr && *how.cancel != 0) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
        const int before = base_.graph_n_nodes(graph_);
        const std::string node =
            "compile for ggml: node " + std::to_string(i) + " (" + sdk::op_name(view.node(i).op) + ") is not supported: ";
        try {
            lowering.lower(i);
        } catch (const Refusal& refusal) {
            throw sdk::Failure(BP_UNSUPPORTED, node + refusal.text);
        }
        if (const Tensor* op = first_refused(device_, graph_, before))
            throw sdk::Failure(BP_UNSUPPORTED,
                               node + "ggml device " + device_.found.props.name + " does not take its " + base_.op_desc(op));
    }
    const int computed = base_.graph_n_nodes(graph_);
    bind_outputs(view, lowering);
    if (const Tensor* op = first_refused(device_, graph_, computed))
        throw sdk::Failure(BP_UNSUPPORTED, std::string("compile for ggml: a result needs a copy, and ggml device ") +
                                               device_.found.props.name + " does not take its " + base_.op_desc(op));
    list_slots(view, lowering);
    plan_workspace(lowering);
    collect_views();
    if (!plan_only_) keep_constants(lowering);
    summary_ = std::to_string(view.nodes()) + " nodes as " + std::to_string(base_.graph_n_nodes(graph_)) + " of " +
               base_.version_text();
}

// An output is the very tensor of the op that makes it, where that is no view and nobody else's; else a copy. New values of states are
// copied at the end, so that every node reads the old one.
void Program::bind_outputs(const sdk::GraphView& view, Lowering& lowering) {
    std::set<const Tensor*> taken;
    for (uint32_t i = 0; i < view.tensors(); ++i) {
        const bp_tensor t = view.tensor(i);
        Tensor* value = lowering.known_value(i);
        if (t.role != BP_ROLE_OUTPUT && is_bound_role(t)) taken.insert(value);
    }
    for (const ConstantBytes& c : lowering.constants()) taken.insert(c.leaf);
    for (uint32_t i = 0; i < view.tensors(); ++i) {
        const bp_tensor t = view.tensor(i);
        Tensor* value = lowering.known_value(i);
        if (value == nullptr || t.role != BP_ROLE_OUTPUT) continue;
        const uint64_t bytes = view.bytes(t);
        const bool own = value->view_src == nullptr && taken.insert(value).second &&
                         base_.backend_buft_get_alloc_size(device_.type, value) <= bytes;
        if (!own && bytes != 0) value = lowering.copy_to_leaf(i);
        bound_.push_back({i, bytes, value});
    }
    for (uint32_t i = 0; i < view.tensors(); ++i) {
        const bp_tensor t = view.tensor(i);
        if (t.state_in == 0 || lowering.known_value(i) == nullptr) continue;
        Tensor* state = lowering.value(t.state_in - 1);
        Tensor* value = lowering.known_value(i);
        if (value != state && view.bytes(t) != 0) lowering.schedule(base_.cpy(context_->get(), value, state));
    }
}

void Program::list_slots(const sdk::GraphView& view, const Lowering& lowering) {
    for (uint32_t i = 0; i < view.tensors(); ++i)
        if (is_bound_role(view.tensor(i)) && lowering.known_value(i) != nullptr)
            bound_.push_back({i, view.bytes(view.tensor(i)), lowering.known_value(i)});
    std::sort(bound_.begin(), bound_.end(), [](const Bound& a, const Bound& b) { return a.tensor < b.tensor; });
    for (Bound& b : bound_) {
        bp_slot slot{};
        slot.struct_size = BP_SIZE(bp_slot, last_use);
        slot.tensor = b.tensor;
        slot.bytes = b.bytes;
        slot.alignment = device_.alignment;
        const bp_tensor t = view.tensor(b.tensor);
        const uint64_t wanted = b.bytes == 0 ? 0 : base_.backend_buft_get_alloc_size(device_.type, b.leaf);
        if (wanted > b.bytes) {  // room behind the last row, for kernels that read past it
            if (t.role != BP_ROLE_WEIGHT)
                throw sdk::Failure(BP_UNSUPPORTED, "compile for ggml: tensor " + std::to_string(b.tensor) +
                                                       " needs more room than it has bytes on this device");
            slot.bytes = wanted;
            slot.layout = 1;
        }
        slots_.push_back(slot);
    }
}

void Program::keep_constants(const Lowering& lowering) {
    uint64_t total = 0;
    for (const ConstantBytes& c : lowering.constants())
        total += aligned(base_.backend_buft_get_alloc_size(device_.type, c.leaf), device_.alignment);
    if (total == 0) return;
    constants_ = std::make_unique<DeviceBuffer>(device_, total);
    uint64_t offset = 0;
    for (const ConstantBytes& c : lowering.constants()) {
        place(c.leaf, constants_->buffer, constants_->start + offset);
        base_.backend_tensor_set(c.leaf, c.bytes.data(), 0, c.bytes.size());
        offset += aligned(base_.backend_buft_get_alloc_size(device_.type, c.leaf), device_.alignment);
    }
}

void Program::plan_workspace(const Lowering& lowering) {
    std::set<const Tensor*> elsewhere;
    for (const Bound& b : bound_) elsewhere.insert(b.leaf);
    for (const ConstantBytes& c : lowering.constants()) elsewhere.insert(c.leaf);
    std::map<const Tensor*, size_t> known;
    const auto touch = [&](Tensor* t, size_t node) {
        Tensor* root = root_of(t);
        if (elsewhere.contains(root)) return;
        const auto [at, added] = known.emplace(root, temporaries_.size());
        if (added) temporaries_.push_back({root, {}});
        temporaries_[at->second].life.touch(
            node, aligned(base_.backend_buft_get_alloc_size(device_.type, root), device_.alignment));
    };
    const int nodes = base_.graph_n_nodes(graph_);
    for (int i = 0; i < nodes; ++i) {
        Tensor* node = base_.graph_node(graph_, i);
        touch(node, static_cast<size_t>(i));
        for (Tensor* source : node->src)
            if (source != nullptr) touch(source, static_cast<size_t>(i));
    }
    std::vector<backend::Life*> lives;
    for (Temporary& t : temporaries_) lives.push_back(&t.life);
    workspace_ = backend::place(lives).bytes;
}

void Program::collect_views() {
    std::set<const Tensor*> seen;
    const auto add = [&](Tensor* t) {
        if (t->view_src != nullptr && seen.insert(t).second) views_.emplace_back(t->view_src, t);
    };
    for (int i = 0; i < base_.graph_n_nodes(graph_); ++i) {
        Tensor* node = base_.graph_node(graph_, i);
        for (Tensor* source : node->src)
            if (source != nullptr) add(source);
        add(node);
    }
    std::stable_sort(views_.begin(), views_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

void Program::place(Tensor* tensor, Buffer* buffer, std::byte* address) {
    const auto need_success = [](int32_t status) {
        if (status != kSuccess)
            throw sdk::Failure(BP_NO_DEVICE_MEMORY, "run: ggml does not place a tensor in its buffer", status);
    };
    tensor->buffer = nullptr;
    tensor->data = nullptr;
    need_success(base_.backend_tensor_alloc(buffer, tensor, address));
    const auto range = std::equal_range(views_.begin(), views_.end(), std::pair<Tensor*, Tensor*>{tensor, nullptr},
                                        [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto it = range.first; it != range.second; ++it) {
        it->second->buffer = nullptr;
        it->second->data = nullptr;
        need_success(base_.backend_view_init(it->second));
    }
}

bp_program_info Program::info() const {
    bp_program_info info{};
    info.workspace_bytes = workspace_;
    info.workspace_alignment = device_.alignment;
    info.resident_bytes = constants_ != nullptr ? constants_->size : 0;
    info.kernels = static_cast<uint32_t>(base_.graph_n_nodes(graph_));
    info.slots = {slots_.data(), static_cast<uint32_t>(slots_.size()), sizeof(bp_slot)};
    info.summary = summary_.c_str();
    return info;
}

void Program::pack(uint32_t slot, const bp_copy& request) {
    if (slot >= slots_.size() || slots_[slot].layout == 0) invalid("pack: the slot takes plain bytes");
    static_cast<void>(backend::sides_of_pack(request, slots_[slot], bound_[slot].bytes, buffer_of));
    bp_copy plain = request;
    plain.bytes = bound_[slot].bytes;
    device_.copy(plain);
}

// Checks every binding before anything is placed, so that a refused run has written nothing.
void Program::bind(const bp_run& request) {
    const std::vector<bp_binding> given = backend::bindings_of(request, slots_, buffer_of);
    // Memory the processor reads has views at any element; a device of its own may address by more.
    const uint64_t alignment = device_.host_memory ? 8 : device_.alignment;
    for (const bp_binding& b : given)
        if (b.offset % alignment != 0)
            invalid("run: binding of tensor " + std::to_string(b.tensor) + ": offset " + std::to_string(b.offset) +
                    " is no multiple of " + std::to_string(alignment));
    for (size_t i = 0; i < bound_.size(); ++i) {
        const DeviceBuffer& buffer = *buffer_of(given[i].buffer);
        if (bound_[i].bytes == 0 || (buffer.serial == bound_[i].serial && given[i].offset == bound_[i].offset)) continue;
        bound_[i].serial = 0;
        place(bound_[i].leaf, buffer.buffer, buffer.start + given[i].offset);
        bound_[i].serial = buffer.serial;
        bound_[i].offset = given[i].offset;
    }
}

void Program::place_workspace(const bp_run& request) {
    const DeviceBuffer* workspace = backend::workspace_of(request, workspace_, buffer_of);
    if (workspace == nullptr) return;
    const DeviceBuffer& buffer = *workspace;
    const uint64_t offset = request.workspace_offset;
    if (offset % device_.alignment != 0)
        invalid("run: the workspace is not aligned to " + std::to_string(device_.alignment));
    if (buffer.serial == placed_serial_ && offset == placed_offset_) return;
    placed_serial_ = 0;
    for (const Temporary& t : temporaries_) place(t.tensor, buffer.buffer, buffer.start + offset + t.life.offset);
    placed_serial_ = buffer.serial;
    placed_offset_ = offset;
}

void Program::run(const bp_run& request) {
    if (plan_only_) invalid("run: the program was compiled with BP_COMPILE_PLAN_ONLY; compile it without to run it");
    if (request.wait.count != 0 || request.signal.fence != nullptr)
        invalid("run: this device has no fences to wait for or to signal");
    if (request.symbols.count != 0) invalid("run: symbol values given, but the graph has no symbols");
    bind(request);
    place_workspace(request);
    if (base_.graph_n_nodes(graph_) == 0) return;
    if (request.cancel != nullptr && *request.cancel != 0) throw sdk::Failure(BP_CANCELLED, "the run was cancelled");
    device_.compute(graph_, request.cancel);
}

}  // namespace backplane::ggml
