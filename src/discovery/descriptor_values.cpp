#include "discovery/descriptor_values.hpp"

#include "base/json.hpp"

namespace backplane::discovery {

// Makes the list. A text that was refused is not looked at.
class ValueReader final : public base::JsonEvents {
public:
    explicit ValueReader(Values& into) : items_(into.items_) { items_.reserve(kUsual); }
    void null() override { add(ValueKind::nothing); }
    void truth(bool) override { add(ValueKind::truth); }
    void negative(int64_t value) override { add(ValueKind::negative, {}, value); }
    void natural(uint64_t value) override { add(ValueKind::natural, {}, static_cast<int64_t>(value)); }
    void fraction(double) override { add(ValueKind::fraction); }
    void text(std::string&& value) override { add(ValueKind::text, std::move(value)); }
    void begin_object() override { begin(ValueKind::object); }
    void begin_array() override { begin(ValueKind::list); }
    void end() override {
        items_[open_.back()].end = items_.size();
        open_.pop_back();
    }
    void name(std::string&& name) override { name_ = std::move(name); }

private:
    static constexpr size_t kUsual = 64;

    void add(ValueKind kind, std::string text = {}, int64_t number = 0) {
        items_.push_back({std::move(name_), std::move(text), number, items_.size() + 1, kind});
        name_.clear();
    }
    void begin(ValueKind kind) {
        open_.push_back(items_.size());
        add(kind);
    }
    std::vector<Values::Item>& items_;
    std::vector<size_t> open_;
    std::string name_;
};

std::optional<Values> Values::parse(std::string_view json) try {
    Values values;
    ValueReader reader(values);
    base::read_json(json, reader);
    return values;
} catch (const base::JsonError&) {
    return std::nullopt;
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
