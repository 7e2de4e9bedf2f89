// Kernels of a device: the instance of a kernel that has these constants, out of a file of machine code that is loaded once for all kernels of it that are
// there: the driver takes milliseconds for a large one, one file after the other.
#include <algorithm>
#include <cstring>

#include "common/gpu/kernel_table.hpp"
#include "device.hpp"
#include "numbers.hpp"
#include "unpack.hpp"

namespace backplane::cuda {

namespace {

constexpr size_t kMostText = size_t{64} << 20;  // of a source, unpacked

std::string text_of(std::span<const uint32_t> constants) {
    std::string out;
    for (const uint32_t c : constants) out += (out.empty() ? "" : ", ") + std::to_string(c);
    return out;
}

// The texts of a source, unpacked once for all its kernels that a program needs.
const std::string& texts_of(Device& device, const Image& image) {
    std::string& texts = device.texts[image.texts.first];
    if (texts.empty()) texts = unpacked({image.texts.first, image.texts.end}, kMostText);
    return texts;
}

// Machine code of a text of PTX, by the driver's compiler. Throws Failure with its words.
std::vector<std::byte> compile(const Device& device, std::string text, const std::string& attempted) {
    const Driver& cu = device.cu;
    std::string log(2048, '\0');
    int options[] = {kErrorLog, kErrorLogSize};
    void* values[] = {log.data(), nullptr};  // the size in place of a pointer
    const uintptr_t room = log.size();
    std::memcpy(static_cast<void*>(&values[1]), &room, sizeof room);
    Link link = nullptr;
    cu.check(cu.link_create(2, options, values, &link), attempted);
    struct End {
        const Driver& cu;
        Link link;
        ~End() { cu.link_destroy(link); }
    } end{cu, link};
    void* made = nullptr;
    size_t size = 0;
    Result result = cu.link_add(link, kInputPtx, text.data(), text.size() + 1, "backplane", 0, nullptr, nullptr);
    if (result == kSuccess) result = cu.link_complete(link, &made, &size);
    log.resize(std::strlen(log.c_str()));
    std::replace(log.begin(), log.end(), '\n', ' ');
    cu.check(result, attempted + (log.empty() ? "" : ": the driver's compiler says: " + log));
    const auto* bytes = static_cast<const std::byte*>(made);
    return {bytes, bytes + size};
}

// The kernel out of a file; `of`: what it was made of. Throws Failure.
void load(Device& device, Kernel& kernel, const void* of, const void* file, const std::string& entry,
          const std::string& attempted) {
    const Driver& cu = device.cu;
    const std::lock_guard lock(device.loading);
    Loaded loaded = device.loaded[of].lock();
    if (loaded == nullptr) {
        Module module = nullptr;
        cu.check(cu.module_load(&module, file), attempted);
        loaded = std::make_shared<const Handle<Module>>(device.own(module, cu.module_unload));
    }
    cu.check(cu.module_function(&kernel.function, loaded->get(), entry.c_str()), attempted + ": " + entry);
    if (kernel.shared != 0)
        cu.check(cu.function_set(kernel.function, kDynamicSharedBytes, static_cast<int>(kernel.shared)), attempted);
    device.loaded[of] = loaded;
    kernel.module = std::move(loaded);
}

}  // namespace

Kernel Api::build(Device& device, uint32_t kernel, std::span<const uint32_t> constants, std::span<const std::byte> binary) {
    const std::string attempted = std::string("load kernel ") + kKernels[kernel].name + " on " + device.physical.name;
    const Image& image = kImages[kernel];
    const size_t index = find_instance(image, constants);
    if (index == image.count)
        throw sdk::Failure(BP_INTERNAL, attempted + ": it was not compiled for the constants " + text_of(constants) +
                                            " (backends/cuda/instances.cmake)");
    const std::string entry = std::string(kKernels[kernel].entry) + "_" + std::to_string(index);
    const Current current(device.cu, device.context.get());
    Kernel built;
    built.number = kernel;
    built.constants.assign(constants.begin(), constants.end());
    size_t open = 0;
    for (size_t i = 0; i < std::min(constants.size(), kConstantWords); ++i)
        if ((image.instances[index].fixed >> i & 1U) == 0) built.open[open++] = constants[i];
    built.shared = image.instances[index].shared;
    if (!device.physical.compiles || image.only != 0) {
        load(device, built, image.code.first, image.code.first, entry, attempted);
        return built;
    }
    const Part& part = image.parts[index];
    if (!binary.empty()) {
        try {
            load(device, built, &part, binary.data(), entry, attempted);
            built.origin = gpu::Origin::binary;
            return built;
        } catch (const sdk::Failure& failure) {
            if (failure.code() == BP_DEVICE_LOST || failure.code() == BP_NO_DEVICE_MEMORY) throw;
            built.origin = gpu::Origin::refused;
        }
    }
    const std::lock_guard lock(device.compiling);
    // One kernel alone: a file of all instances may take the driver half a minute.
    std::vector<std::byte>& code = device.compiled[&part];
    if (code.empty()) {
        const std::string_view text = texts_of(device, image);
        code = compile(device, by_number(text.substr(part.begin, part.end - part.begin)), attempted);
    }
    load(device, built, &part, code.data(), entry, attempted);
    built.made = code;
    return built;
}

std::vector<std::byte> Api::binary(Device&, Kernel& kernel, bool) { return std::exchange(kernel.made, {}); }

void Api::built(Device& device) {
    const std::lock_guard lock(device.compiling);
    device.compiled.clear();
    device.texts.clear();
}

}  // namespace backplane::cuda
