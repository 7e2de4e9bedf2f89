// The values of a descriptor's JSON, one after the other in one list: a start reads one for each module file, and a tree of allocations for
// each would be a tenth of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::discovery {

enum class ValueKind : uint8_t { nothing, truth, natural, negative, fraction, text, list, object };

class Value;

class Values {
public:
    // Nothing: it is not JSON (RFC 8259), or it is empty.
    static std::optional<Values> parse(std::string_view json);
    [[nodiscard]] Value whole() const;

private:
    friend class Value;
    friend class ValueReader;
    struct Item {
        std::string name;  // in an object
        std::string text;
        int64_t number = 0;
        size_t end = 0;  // the place after the last of what it holds
        ValueKind kind = ValueKind::nothing;
    };
    std::vector<Item> items_;  // each before what it holds
};

// One of them; the Values outlive it.
class Value {
public:
    Value(const Values& all, size_t place) : all_(&all), place_(place) {}
    [[nodiscard]] ValueKind kind() const { return item().kind; }
    [[nodiscard]] std::string_view name() const { return item().name; }
    [[nodiscard]] const std::string& text() const { return item().text; }
    [[nodiscard]] bool is_whole_number() const { return kind() == ValueKind::natural || kind() == ValueKind::negative; }
    [[nodiscard]] int64_t number() const { return item().number; }  // of a natural one over 2^63 the same bits
    // What an object or a list holds, in the order of the text.
    [[nodiscard]] std::vector<Value> items() const;
    // Of an object; of two of one name the last. Nothing where it is none.
    [[nodiscard]] std::optional<Value> find(std::string_view name) const;

private:
    [[nodiscard]] const Values::Item& item() const { return all_->items_[place_]; }
    const Values* all_;
    size_t place_;
};

}  // namespace backplane::discovery
