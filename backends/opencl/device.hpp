// An open device: queue, memory, kernels, copies.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "common/gpu/compile.hpp"
#include "common/gpu/kernel_table.hpp"
#include "common/host.hpp"
#include "machine_code.hpp"
#include "memory.hpp"

namespace backplane::opencl {

class Device {
public:
    Device(const backend::Host& host, const Instance& instance, const PhysicalDevice& physical);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    const backend::Host& host;
    const Instance& instance;
    const PhysicalDevice& physical;
    const Functions& cl;
    Handle<cl_context> context;
    Handle<cl_command_queue> queue;  // in order
    std::unique_ptr<Memory> memory;

    [[nodiscard]] const Abilities& can() const { return can_; }
    // The same, less what does_without() has found out. [any]
    [[nodiscard]] Abilities abilities() const;
    // A kernel could not be built. True: abilities() says now what makes plans without it, and the log why. [any]
    bool does_without(uint32_t kernel, const sdk::Failure& why);

    // As opencl::check, and remembers a lost device.
    void check(cl_int result, const std::string& attempted);
    // The same for the end of work: running out of resources there is a kernel that failed.
    void check_work(cl_int result, const std::string& attempted);
    // Throws Failure(BP_DEVICE_LOST) when it is.
    void check_lost() const;

    // The program of a kernel with these constants; built, or got from the host's kernel cache, when first asked for. [any]
    cl_program program(uint32_t kernel, const std::vector<uint32_t>& constants);
    // A kernel object of its own: arguments are part of it. [any]
    Handle<cl_kernel> make_kernel(uint32_t kernel, const std::vector<uint32_t>& constants);
    // Hands programs whose binaries grow when they run to the host's kernel cache. Called after a run. [any]
    void remember_programs();
    // Nothing is left to build for now: gives back what building took. [any]
    void end_builds();
    // How many programs came from the kernel cache since the device was opened.
    [[nodiscard]] uint32_t cache_hits() const { return cache_hits_; }

    // Bytes between host and device; return when done. [any]
    void upload(const Buffer& to, uint64_t offset, const std::byte* from, uint64_t bytes);
    void download(const Buffer& from, uint64_t offset, std::byte* to, uint64_t bytes);
    void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes);
    // Where the host sees these bytes until unmap; null: it does not. [any]
    void* map(const Buffer& buffer, uint64_t offset, uint64_t bytes);
    void unmap(const Buffer& buffer);

    // The host wrote into imported memory, or is about to read it: what drivers that keep a copy want to be told.
    void take_from_host(const Buffer& buffer);
    void give_to_host(const Buffer& buffer);

private:
    // A kernel with its constants, on the way to a program.
    struct Build {
        uint32_t kernel;
        std::string options;
        std::string key;  // in the host's cache; empty: there is none
    };
    Handle<cl_program> build(const Build& what);
    Handle<cl_program> load(const Build& what);
    Handle<cl_program> from_binary(const Build& what, const unsigned char* bytes, size_t size);
    Handle<cl_program> compile(const Build& what);
    void remember(const std::string& key, cl_program program);
    // Keeps the machine code of a program whose binary is PTX. False: there is none to be had.
    bool remember_machine_code(const Build& what, cl_program program);
    std::shared_ptr<const MachineCode> machine_code();
    [[nodiscard]] std::vector<unsigned char> binary_of(cl_program program) const;
    [[nodiscard]] std::string build_log(cl_program program) const;
    void sync(const Buffer& buffer, cl_map_flags flags);

    Abilities can_;
    std::mutex unsaved_mutex_, map_mutex_, code_mutex_;
    std::shared_ptr<const MachineCode> machine_code_;
    gpu::KernelTable<Handle<cl_program>> programs_;
    std::multimap<uint64_t, std::pair<cl_mem, void*>> mapped_;  // by the buffer's id
    std::vector<std::pair<std::string, cl_program>> unsaved_;   // key in the host's cache; the program is in programs_
    std::atomic<uint32_t> cache_hits_ = 0;
    std::atomic<bool> lost_ = false, refused_ = false;
};

}  // namespace backplane::opencl
