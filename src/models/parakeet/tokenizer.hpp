// Pieces of text by id, as SentencePiece writes them: U+2581 for a space, <0xNN> for a byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::parakeet {

inline constexpr std::string_view kSpace = "\u2581";

// The pieces with ids below `vocab_size` in a tokenizer.json of Hugging Face's tokenizers: models BPE and Unigram over SentencePiece pieces. Added
// tokens count; ids from `vocab_size` on are blank, padding and what the network cannot give. `file` is for messages. Throws Error: corrupt (no JSON,
// an id without a piece or with two, a model with ids beyond the network's), unsupported (another model, bytes as letters).
std::vector<std::string> parse_tokenizer(std::string_view json, const std::string& file, int64_t vocab_size);

// Throws Error(corrupt) where a piece is empty or no UTF-8, or there are not `vocab_size`.
void check_pieces(const std::vector<std::string>& pieces, int64_t vocab_size, const std::string& file);

// As ModelFile::text_of(). Ids are those of pieces, or pieces.size(), which is blank.
std::string text_of(const std::vector<std::string>& pieces, std::span<const int32_t> ids);

}  // namespace backplane::parakeet
