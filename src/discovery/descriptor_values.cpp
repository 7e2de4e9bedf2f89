#include "discovery/descriptor_values.hpp"

#include <nlohmann/json.hpp>

namespace backplane::discovery {

// Events of nlohmann's parser. A parse that was refused is not looked at.
class ValueReader {
public:
    explicit ValueReader(Values& into) : items_(into.items_) { items_.reserve(kUsual); }
    bool null() { return add(ValueKind::nothing); }
    bool boolean(bool) { return add(ValueKind::truth); }
    bool number_integer(int64_t value) { return add(ValueKind::negative, {}, value); }
    bool number_unsigned(uint64_t value) { return add(ValueKind::natural, {}, static_cast<int64_t>(value)); }
    bool number_float(double, const std::string&) { return add(ValueKind::fraction); }
    bool string(std::string& value) { return add(ValueKind::text, std::move(value)); }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(size_t) { return begin(ValueKind::object); }
    bool start_array(size_t) { return begin(ValueKind::list); }
    bool end_object() { return end(); }
    bool end_array() { return end(); }
    bool key(std::string& name) {
        name_ = std::move(name);
        return true;
    }
    bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) { return false; }

private:
    static constexpr size_t kUsual = 64;

    bool add(ValueKind kind, std::string text = {}, int64_t number = 0) {
        items_.push_back({std::move(name_), std::move(text), number, items_.size() + 1, kind});
        name_.clear();
        return true;
    }
    bool begin(ValueKind kind) {
        open_.push_back(items_.size());
        return add(kind);
    }
    bool end() {
        items_[open_.back()].end = items_.size();
        open_.pop_back();
        return true;
    }
    std::vector<Values::Item>& items_;
    std::vector<size_t> open_;
    std::string name_;
};

std::optional<Values> Values::parse(std::string_view json) {
    Values values;
    ValueReader reader(values);
    if (!nlohmann::json::sax_parse(json, &reader)) return std::nullopt;
    return values;
}

Value Values::whole() const { return {*this, 0}; }

std::vector<Value> Value::items() const {
    std::vector<Value> held;
    if (kind() == ValueKind::list || kind() == ValueKind::object)
        for (size_t at = place_ + 1; at < item().end; at = all_->items_[at].end) held.emplace_back(*all_, at);
    return held;
}

std::optional<Value> Value::find(std::string_view name) const {
    std::optional<Value> found;
    if (kind() != ValueKind::object) return found;
    for (size_t at = place_ + 1; at < item().end; at = all_->items_[at].end)
        if (all_->items_[at].name == name) found.emplace(*all_, at);
    return found;
}

}  // namespace backplane::discovery
