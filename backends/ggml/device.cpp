#include <algorithm>
#include <thread>

#include "handles.hpp"

namespace backplane::ggml {

namespace {

template <typename Function>
Function from_registration(const BaseLibrary& base, Registration* registration, const char* name) {
    return reinterpret_cast<Function>(base.backend_reg_get_proc_address(registration, name));
}

}  // namespace

OpenDevice::OpenDevice(const Module& module_, const FoundDevice& found_)
    : module(module_), base(module_.installation->base()), found(found_) {
    const std::string what = std::string("cannot open ggml device ") + found.props.name + " of " + found.module + ": ";
    backend_ = base.backend_dev_init(found.device, nullptr);
    if (backend_ == nullptr)
        throw sdk::Failure(BP_NOT_FOUND, what + "its module gives no backend; its driver may be missing or busy");
    try {
        check_backend_table(base, backend_, found.device);
    } catch (const sdk::Failure& e) {
        throw sdk::Failure(e.code(), what + e.what());
    }
    type = base.backend_dev_buffer_type(found.device);
    host_memory = base.backend_buft_is_host(type);
    alignment = std::max<size_t>(base.backend_buft_get_alignment(type), 1);
    largest = base.backend_buft_get_max_size(type);
    constexpr uint64_t kMostSpareBytes = uint64_t{64} << 20;
    if (!host_memory) most_spare_bytes_ = is_software(found.props) ? UINT64_MAX : kMostSpareBytes;
    set_n_threads_ = from_registration<SetThreads>(base, found.registration, "ggml_backend_set_n_threads");
    if (const auto set = from_registration<SetAbortCallback>(base, found.registration, "ggml_backend_set_abort_callback"))
        set(backend_, cancelled, this);
    if (!has_threads()) return;
    threads_ = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, static_cast<unsigned>(kMostThreads)));
    if (const std::string wanted = module.host.option("ggml.threads"); !wanted.empty()) {
        const bool number = wanted.size() < 4 && wanted.find_first_not_of("0123456789") == std::string::npos;
        const int value = number ? std::stoi(wanted) : 0;
        if (value < 1 || value > kMostThreads)
            throw sdk::Failure(BP_INVALID, "option ggml.threads is '" + wanted + "'; give a number from 1 to " +
                                               std::to_string(kMostThreads));
        threads_ = value;
    }
}

OpenDevice::~OpenDevice() {
    drop_spares();
    base.backend_free(backend_);
    if (pool_ != nullptr) from_registration<ThreadpoolFree>(base, found.registration, "ggml_threadpool_free")(pool_);
}

std::vector<bp_heap> OpenDevice::heaps() const {
    size_t available = 0, total = 0;
    base.backend_dev_memory(found.device, &available, &total);
    bp_heap heap{};
    if (total != 0) heap.flags |= BP_MEM_BUDGET;
    if (host_memory) heap.flags |= BP_MEM_UNIFIED | BP_MEM_HOST_VISIBLE;
    heap.total = total;
    heap.available = available;
    heap.used_by_us = bytes_used;
    heap.largest_block = std::min(available, largest);
    heap.alignment = alignment;
    return {heap};
}

std::vector<bp_option> OpenDevice::options() const {
    bp_option rounding{};
    rounding.type = BP_OPTION_BOOL;
    rounding.name = "native-rounding";
    rounding.help =
        "Programs compiled from now on round activations to the type of the weights, as ggml does by itself, outside "
        "the conformance bounds.";
    rounding.integer = native ? 1 : 0;
    bp_option lanes{};
    lanes.type = BP_OPTION_INT;
    lanes.name = "threads";
    lanes.help = "Threads that compute; they live as long as the device is open.";
    lanes.integer = threads();
    lanes.integer_least = 1;
    lanes.integer_most = kMostThreads;
    return has_threads() ? std::vector{rounding, lanes} : std::vector{rounding};
}

void OpenDevice::set_option(const bp_option& option) {
    const std::string name = option.name;
    if (name == "native-rounding") {
        if (option.type != BP_OPTION_BOOL) backend::invalid("option native-rounding takes true or false");
        native = option.integer != 0;
    } else if (name == "threads" && has_threads()) {
        if (option.type != BP_OPTION_INT || option.integer < 1 || option.integer > kMostThreads)
            backend::invalid("option threads takes a whole number from 1 to " + std::to_string(kMostThreads));
        set_threads(static_cast<int>(option.integer));
    } else {
        throw sdk::Failure(BP_NOT_FOUND, "this ggml device has no option '" + name + "'; it has: native-rounding" +
                                             (has_threads() ? ", threads" : ""));
    }
}

Buffer* OpenDevice::take_buffer(uint64_t bytes) {
    {
        const std::lock_guard lock(spare_mutex_);
        auto best = spares_.end();
        for (auto it = spares_.begin(); it != spares_.end(); ++it)
            if (it->bytes >= bytes && it->bytes / 2 <= bytes && (best == spares_.end() || it->bytes < best->bytes))
                best = it;
        if (best != spares_.end()) {
            Buffer* buffer = best->buffer;
            spare_bytes_ -= best->bytes;
            spares_.erase(best);
            return buffer;
        }
    }
    if (Buffer* made = base.backend_buft_alloc_buffer(type, bytes); made != nullptr) return made;
    drop_spares();
    return base.backend_buft_alloc_buffer(type, bytes);
}

void OpenDevice::give_buffer(Buffer* buffer) noexcept {
    const uint64_t bytes = base.backend_buffer_get_size(buffer);
    if (bytes > most_spare_bytes_) return base.backend_buffer_free(buffer);
    const std::lock_guard lock(spare_mutex_);
    for (; bytes > most_spare_bytes_ - spare_bytes_; spares_.erase(spares_.begin())) {
        spare_bytes_ -= spares_.front().bytes;
        base.backend_buffer_free(spares_.front().buffer);
    }
    spares_.push_back({buffer, bytes});
    spare_bytes_ += bytes;
}

void OpenDevice::drop_spares() noexcept {
    const std::lock_guard lock(spare_mutex_);
    for (const Spare& spare : spares_) base.backend_buffer_free(spare.buffer);
    spares_.clear();
    spare_bytes_ = 0;
}

void OpenDevice::set_threads(int threads) { threads_ = threads; }

// A pool that lives as long as the device, as ggml's own applications keep one: without it ggml starts threads for every graph.
void OpenDevice::apply_threads() {
    const int threads = threads_;
    if (!has_threads() || threads == pool_threads_) return;
    set_n_threads_(backend_, threads);
    const auto make = from_registration<ThreadpoolNew>(base, found.registration, "ggml_threadpool_new");
    const auto release = from_registration<ThreadpoolFree>(base, found.registration, "ggml_threadpool_free");
    const auto use = from_registration<SetThreadpool>(base, found.registration, "ggml_backend_cpu_set_threadpool");
    if (make != nullptr && release != nullptr && use != nullptr) {
        ThreadpoolParams params{};
        params.threads = threads;
        params.poll = 50;  // what ggml's own applications use
        use(backend_, nullptr);
        if (pool_ != nullptr) release(pool_);
        pool_ = threads > 1 ? make(&params) : nullptr;
        if (pool_ != nullptr) use(backend_, pool_);
    }
    pool_threads_ = threads;
}

bool OpenDevice::cancelled(void* self) {
    const volatile uint32_t* cancel = static_cast<OpenDevice*>(self)->cancel_;
    return cancel != nullptr && *cancel != 0;
}

void OpenDevice::compute(Graph* graph, const volatile uint32_t* cancel) {
    apply_threads();
    cancel_ = cancel;
    const int32_t status = base.backend_graph_compute(backend_, graph);
    cancel_ = nullptr;
    if (status == kSuccess) return;
    const std::string what = std::string("run on ggml device ") + found.props.name + ": ";
    if (status == kAborted) throw sdk::Failure(BP_CANCELLED, what + "cancelled", status);
    if (status == kAllocFailed) throw sdk::Failure(BP_NO_DEVICE_MEMORY, what + "no memory for its work buffers", status);
    throw sdk::Failure(BP_INTERNAL, what + "ggml answers status " + std::to_string(status), status);
}

}  // namespace backplane::ggml
