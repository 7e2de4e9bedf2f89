// Any text as a tokenizer.json of a network with as many pieces as the first byte says: only Error may come of it, and what is read is text.
#include <cstdint>
#include <numeric>

#include "backplane/error.hpp"
#include "base/visible_text.hpp"
#include "models/parakeet/tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace backplane;
    if (size == 0) return 0;
    const int64_t vocab_size = data[0];
    try {
        const std::vector<std::string> pieces =
            parakeet::parse_tokenizer({reinterpret_cast<const char*>(data) + 1, size - 1}, "fuzz", vocab_size);
        parakeet::check_pieces(pieces, vocab_size, "fuzz");
        std::vector<int32_t> ids(pieces.size() + 1);
        std::iota(ids.begin(), ids.end(), 0);
        if (!base::is_utf8(parakeet::text_of(pieces, ids))) __builtin_trap();
    } catch (const Error&) {  // NOLINT: what is wanted
    }
    return 0;
}
