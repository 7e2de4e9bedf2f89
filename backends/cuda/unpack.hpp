// Texts of PTX as the module carries them, packed: those of one source differ in little, and together take a tenth of what each would alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace backplane::cuda {

// The text of a file of xz ("The .xz File Format" 1.2, one block of LZMA2 without other filters, as the build makes it). At most `most` bytes.
// Throws sdk::Failure for what is no such file; sums of checks are not looked at, for the bytes are the module's own.
std::string unpacked(std::span<const unsigned char> file, size_t most);

}  // namespace backplane::cuda
