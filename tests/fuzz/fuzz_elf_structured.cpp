// Well-formed, extreme ELF shared objects, made by the fuzzer's choices: judging each keeps to its limits of steps.
#include <cstdio>

#include "structured_elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    const fuzz::File file = fuzz::structured_elf(fuzz::Choices(std::as_bytes(std::span(data, size))));
    const std::string broken = fuzz::judged(file, discovery::read_elf);
    if (broken.empty()) return 0;
    std::fprintf(stderr, "judging a file of %zu bytes: %s\n", file.size(), broken.c_str());
    __builtin_trap();
}
