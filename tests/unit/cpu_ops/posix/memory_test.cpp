// Kernels on memory behind which there is none: an instruction set without masked access must not read a whole vector there.
#include <sys/mman.h>
#include <unistd.h>

#include "unit/cpu_ops/run_op.hpp"

namespace harness {
namespace {

// Floats whose last one ends a page; the next page may not be touched.
class AtTheEnd {
public:
    explicit AtTheEnd(size_t floats) : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))), bytes_(floats * sizeof(float)) {
        void* memory = ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no memory");
        start_ = static_cast<char*>(memory);
        ::mprotect(start_ + page_, page_, PROT_NONE);
    }
    ~AtTheEnd() { ::munmap(start_, 2 * page_); }
    AtTheEnd(const AtTheEnd&) = delete;
    AtTheEnd& operator=(const AtTheEnd&) = delete;
    [[nodiscard]] float* get() const { return reinterpret_cast<float*>(start_ + page_ - bytes_); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }

private:
    size_t page_, bytes_;
    char* start_;
};

// `op` on host memory that the device uses in place.
void run_in_place(Device& device, uint32_t op, const std::vector<const AtTheEnd*>& inputs, const AtTheEnd& output,
                  int64_t n) {
    Graph g;
    std::vector<uint32_t> ids;
    for (size_t i = 0; i < inputs.size(); ++i) ids.push_back(g.tensor(BP_ROLE_INPUT, {n}));
    ids.push_back(g.add(op, ids, {n}));
    g.output(ids.back());
    const bp_graph view = g.view();
    bp_compile how{};
    how.struct_size = sizeof how;
    bp_program* program = nullptr;
    Check check;
    check(device.api->compile(device.device, &view, &how, &program, check));
    std::vector<bp_binding> bindings;
    for (size_t i = 0; i < ids.size(); ++i) {
        const AtTheEnd& memory = i < inputs.size() ? *inputs[i] : output;
        bp_binding b{};
        b.struct_size = sizeof b;
        b.tensor = ids[i];
        b.bytes = memory.bytes();
        check(device.api->buffer_import(device.device, memory.get(), memory.bytes(), &b.buffer, check));
        bindings.push_back(b);
    }
    bp_run run{};
    run.struct_size = sizeof run;
    run.bindings = {bindings.data(), static_cast<uint32_t>(bindings.size()), sizeof(bp_binding)};
    check(device.api->run(program, &run, check));
    for (const bp_binding& b : bindings) device.api->buffer_close(b.buffer);
    device.api->program_close(program);
}

class Memory : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Memory, testing::ValuesIn(masks()));

TEST_P(Memory, IsReadAndWrittenNoFurtherThanItGoes) {
    Device device(options("1"));
    for (int64_t n = 2; n <= 34; n += 2) {  // memory that is used in place is aligned to 8 bytes
        const AtTheEnd x(static_cast<size_t>(n)), y(static_cast<size_t>(n)), out(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) x.get()[i] = static_cast<float>(i % 3) - 1, y.get()[i] = 2;
        run_in_place(device, BP_OP_add, {&x, &y}, out, n);
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out.get()[i], x.get()[i] + 2) << i << " of " << n;
        run_in_place(device, BP_OP_relu, {&x}, out, n);
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out.get()[i], std::max(x.get()[i], 0.0F)) << i << " of " << n;
    }
}

}  // namespace
}  // namespace harness
