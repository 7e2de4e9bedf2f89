#include "models/parakeet/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "backplane/error.hpp"
#include "base/visible_text.hpp"
#include "formats/json_file.hpp"
#include "formats/json_view.hpp"
#include "gguf/printable.hpp"

namespace backplane::parakeet {

namespace {

using formats::JsonView;
using formats::printable;

constexpr std::string_view kReplacement = "\uFFFD";

class Pieces {
public:
    explicit Pieces(int64_t vocab_size) : pieces_(static_cast<size_t>(vocab_size)) {}

    // An id that is there already may come again as the same text: added tokens say more of pieces of the model.
    void put(const JsonView& json, int64_t id, const std::string& text) {
        if (id >= static_cast<int64_t>(pieces_.size())) return;
        std::optional<std::string>& piece = pieces_[static_cast<size_t>(id)];
        if (piece && *piece != text)
            json.fail("id " + std::to_string(id) + " is both " + printable(*piece) + " and " + printable(text));
        piece = text;
    }

    std::vector<std::string> take(const JsonView& root) {
        std::vector<std::string> all;
        for (std::optional<std::string>& piece : pieces_) {
            if (!piece)
                root.fail("id " + std::to_string(all.size()) + " has no piece, the network gives ids 0 to " +
                          std::to_string(pieces_.size() - 1) + ": is it another network's tokenizer?");
            all.push_back(std::move(*piece));
        }
        return all;
    }

private:
    std::vector<std::optional<std::string>> pieces_;
};

void check_kind(const JsonView& root) {
    const JsonView model = root.at("model");
    if (model.has("type")) {
        const std::string& type = model.at("type").text();
        if (type != "BPE" && type != "Unigram")
            model.fail("its type is " + printable(type) + "; BPE and Unigram are supported", Code::unsupported);
    }
    if (root.has("decoder") && root.at("decoder").has("type") && root.at("decoder").at("type").text() == "ByteLevel")
        root.fail("its pieces write bytes as letters (ByteLevel); only pieces as SentencePiece writes them are supported",
                  Code::unsupported);
}

// Unigram: [[piece, score], ...] in the order of ids; BPE: {piece: id}.
void put_vocabulary(const base::Json& vocabulary, const JsonView& json, const std::string& file, int64_t vocab_size,
                    Pieces& pieces) {
    const auto beyond = [&](int64_t id) {
        // Blank itself may be a piece of the model.
        if (id > vocab_size)
            json.fail("it has an id " + std::to_string(id) + ", the network gives ids 0 to " + std::to_string(vocab_size));
    };
    if (vocabulary.is_object()) {
        for (const std::string& piece : vocabulary.names()) {
            const int64_t id =
                JsonView(*vocabulary.find(piece), "'" + file + "', piece " + printable(piece)).count(0, INT32_MAX);
            beyond(id);
            pieces.put(json, id, piece);
        }
        return;
    }
    for (size_t i = 0; i < json.size(); ++i) {
        beyond(static_cast<int64_t>(i));
        pieces.put(json, static_cast<int64_t>(i), json[i][0].text());
    }
}

std::optional<unsigned char> byte_of(std::string_view piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
    unsigned value = 0;
    for (const char c : piece.substr(3, 2)) {
        value *= 16;
        if (c >= '0' && c <= '9') {
            value += static_cast<unsigned>(c - '0');
        } else if (c >= 'A' && c <= 'F') {
            value += static_cast<unsigned>(c - 'A') + 10;
        } else {
            return std::nullopt;
        }
    }
    return static_cast<unsigned char>(value);
}

// Pieces that stand for no text.
bool is_control(std::string_view piece) {
    constexpr std::array<std::string_view, 7> kControls{"<unk>", "<s>", "</s>", "<pad>", "<blank>", "<mask>", "<blk>"};
    const bool named = std::find(kControls.begin(), kControls.end(), piece) != kControls.end();
    return named || (piece.size() > 4 && piece.starts_with("<|") && piece.ends_with("|>"));
}

}  // namespace

std::vector<std::string> parse_tokenizer(std::string_view json, const std::string& file, int64_t vocab_size) {
    const base::Json document = formats::parse_json(json, file);
    const JsonView root(document, "'" + file + "'");
    check_kind(root);
    const JsonView vocabulary = root.at("model").at("vocab");
    Pieces pieces(vocab_size);
    put_vocabulary(*document.at("model").find("vocab"), vocabulary, file, vocab_size, pieces);
    if (root.has("added_tokens")) {
        const JsonView added = root.at("added_tokens");
        for (size_t i = 0; i < added.size(); ++i)
            pieces.put(added[i], added[i].at("id").count(0, INT32_MAX), added[i].at("content").text());
    }
    return pieces.take(root);
}

void check_pieces(const std::vector<std::string>& pieces, int64_t vocab_size, const std::string& file) {
    const auto fail = [&](const std::string& why) {
        throw Error(Code::corrupt, "cannot use the pieces of '" + file + "': " + why);
    };
    if (pieces.size() != static_cast<size_t>(vocab_size))
        fail("there are " + std::to_string(pieces.size()) + ", the network gives " + std::to_string(vocab_size) +
             ": are they another network's?");
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].empty()) fail("piece " + std::to_string(i) + " is empty");
        if (!base::is_utf8(pieces[i])) fail("piece " + std::to_string(i) + ", " + printable(pieces[i]) + ", is no UTF-8");
    }
}

std::string text_of(const std::vector<std::string>& pieces, std::span<const int32_t> ids) {
    std::string text, bytes;
    // What bytes of pieces in a row spell, or as many signs of what cannot be read.
    const auto flush = [&] {
        if (base::is_utf8(bytes)) {
            text += bytes;
        } else {
            for (size_t i = 0; i < bytes.size(); ++i) text += kReplacement;
        }
        bytes.clear();
    };
    for (const int32_t id : ids) {
        if (id < 0 || static_cast<size_t>(id) > pieces.size())
            throw Error(Code::invalid,
                        "id " + std::to_string(id) + " is none of " + std::to_string(pieces.size()) + " pieces");
        if (static_cast<size_t>(id) == pieces.size() || is_control(pieces[static_cast<size_t>(id)])) continue;
        std::string_view piece = pieces[static_cast<size_t>(id)];
        if (const auto byte = byte_of(piece)) {
            bytes += static_cast<char>(*byte);
            continue;
        }
        flush();
        for (size_t at = piece.find(kSpace); at != std::string_view::npos; at = piece.find(kSpace)) {
            text.append(piece.substr(0, at)).append(" ");
            piece.remove_prefix(at + kSpace.size());
        }
        text.append(piece);
    }
    flush();
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace backplane::parakeet
