#include "base/json.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <utility>

namespace backplane::base {

struct Json::Held {
    std::string text;
    std::vector<std::string> names;  // of an object, one for each value
    std::vector<Json> values;
};

Json::Json() noexcept = default;
Json::Json(std::nullptr_t) noexcept {}
Json::Json(bool value) noexcept : kind_(Kind::truth), word_{.truth = value} {}
Json::Json(int value) noexcept : Json(static_cast<long long>(value)) {}
Json::Json(unsigned value) noexcept : Json(static_cast<unsigned long long>(value)) {}
Json::Json(long value) noexcept : Json(static_cast<long long>(value)) {}
Json::Json(unsigned long value) noexcept : Json(static_cast<unsigned long long>(value)) {}
Json::Json(unsigned long long value) noexcept : kind_(Kind::natural), word_{.natural = value} {}
Json::Json(long long value) noexcept {
    if (value < 0) {
        kind_ = Kind::negative;
        word_.negative = value;
    } else {
        kind_ = Kind::natural;
        word_.natural = static_cast<uint64_t>(value);
    }
}
Json::Json(double value) noexcept : kind_(Kind::fraction), word_{.fraction = value} {}
Json::Json(const char* text) : Json(std::string(text)) {}
Json::Json(std::string_view text) : Json(std::string(text)) {}
Json::Json(std::string text) : kind_(Kind::text) { held().text = std::move(text); }
Json::Json(const std::vector<std::string>& texts) : kind_(Kind::array) { held().values.assign(texts.begin(), texts.end()); }
Json::Json(const std::vector<int64_t>& numbers) : kind_(Kind::array) {
    held().values.assign(numbers.begin(), numbers.end());
}
Json::Json(const std::vector<double>& numbers) : kind_(Kind::array) { held().values.assign(numbers.begin(), numbers.end()); }
Json::Json(std::initializer_list<Json> values) {
    const auto is_member = [](const Json& value) {
        return value.is_array() && value.size() == 2 && value.begin()->is_string();
    };
    if (!std::all_of(values.begin(), values.end(), is_member)) {
        *this = array(values);
        return;
    }
    kind_ = Kind::object;
    for (const Json& member : values) (*this)[member.begin()->text()] = member.begin()[1];
}
Json::~Json() = default;
Json::Json(const Json& other)
    : kind_(other.kind_), word_(other.word_), held_(other.held_ ? std::make_unique<Held>(*other.held_) : nullptr) {}
Json::Json(Json&& other) noexcept
    : kind_(std::exchange(other.kind_, Kind::null)), word_(other.word_), held_(std::move(other.held_)) {}
Json& Json::operator=(const Json& other) { return *this = Json(other); }
Json& Json::operator=(Json&& other) noexcept {
    Json taken(std::move(other));  // which may be one of the values that this one holds
    kind_ = taken.kind_;
    word_ = taken.word_;
    held_.swap(taken.held_);
    taken.kind_ = Kind::null;
    return *this;
}

Json Json::array(std::initializer_list<Json> values) {
    Json json;
    json.kind_ = Kind::array;
    if (values.size() > 0) json.held().values = values;
    return json;
}
Json Json::object() {
    Json json;
    json.kind_ = Kind::object;
    return json;
}

Json::Held& Json::held() {
    if (!held_) held_ = std::make_unique<Held>();
    return *held_;
}
void Json::expect(Kind kind, const char* what) {
    if (is_null()) kind_ = kind;
    if (kind_ != kind) throw JsonError(std::string("it is no ") + what);
}

// ---- what it holds ----------------------------------------------------------------------------------------------------------

int64_t Json::whole(int64_t least, uint64_t most, const char* name) const {
    const bool fits = is_natural() ? word_.natural <= most : kind_ == Kind::negative && word_.negative >= least;
    if (!fits) throw JsonError(std::string("it is no whole number that fits ") + name);
    return kind_ == Kind::negative ? word_.negative : static_cast<int64_t>(word_.natural);
}

namespace {
template <class T>
constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<T>::max());
}
template <>
bool Json::get<bool>() const {
    if (!is_boolean()) throw JsonError("it is neither true nor false");
    return word_.truth;
}
template <>
int Json::get<int>() const {
    return static_cast<int>(whole(std::numeric_limits<int>::min(), kMost<int>, "int"));
}
template <>
unsigned Json::get<unsigned>() const {
    return static_cast<unsigned>(whole(0, kMost<unsigned>, "unsigned"));
}
template <>
long Json::get<long>() const {
    return static_cast<long>(whole(std::numeric_limits<long>::min(), kMost<long>, "long"));
}
template <>
unsigned long Json::get<unsigned long>() const {
    return static_cast<unsigned long>(whole(0, kMost<unsigned long>, "unsigned long"));
}
template <>
long long Json::get<long long>() const {
    return whole(std::numeric_limits<int64_t>::min(), kMost<int64_t>, "long long");
}
template <>
unsigned long long Json::get<unsigned long long>() const {
    return static_cast<unsigned long long>(whole(0, kMost<uint64_t>, "unsigned long long"));
}
template <>
double Json::get<double>() const {
    if (!is_number()) throw JsonError("it is no number");
    if (kind_ == Kind::fraction) return word_.fraction;
    return is_natural() ? static_cast<double>(word_.natural) : static_cast<double>(word_.negative);
}
template <>
std::string Json::get<std::string>() const {
    return text();
}
const std::string& Json::text() const {
    if (!is_string()) throw JsonError("it is no text");
    return held_->text;
}

size_t Json::size() const noexcept { return held_ ? held_->values.size() : 0; }
const Json* Json::begin() const noexcept { return held_ ? held_->values.data() : nullptr; }
const Json* Json::end() const noexcept { return begin() + size(); }
Json* Json::begin() noexcept { return held_ ? held_->values.data() : nullptr; }
Json* Json::end() noexcept { return begin() + size(); }
std::span<const std::string> Json::names() const noexcept {
    return held_ ? std::span<const std::string>(held_->names) : std::span<const std::string>();
}

const Json* Json::find(std::string_view name) const noexcept {
    const std::span<const std::string> all = names();
    const auto found = std::find(all.begin(), all.end(), name);
    return found == all.end() ? nullptr : begin() + (found - all.begin());
}
const Json& Json::at(std::string_view name) const {
    const Json* const found = find(name);
    if (found == nullptr)
        throw JsonError((is_object() ? "it has no '" : "it is no object, so that it has no '") + std::string(name) + "'");
    return *found;
}
Json Json::value(std::string_view name, Json otherwise) const {
    const Json* const found = find(name);
    if (found != nullptr) return *found;
    return otherwise;
}
Json& Json::operator[](std::string_view name) {
    expect(Kind::object, "object");
    if (const Json* const found = find(name)) return begin()[found - begin()];
    held().names.emplace_back(name);
    return held_->values.emplace_back();
}
const Json& Json::operator[](size_t place) const {
    if (!is_array() || place >= size()) throw JsonError("it is no array with an element " + std::to_string(place));
    return held_->values[place];
}
Json& Json::operator[](size_t place) {
    static_cast<void>(std::as_const(*this)[place]);
    return held_->values[place];
}
void Json::push_back(Json value) {
    expect(Kind::array, "array");
    held().values.push_back(std::move(value));
}
void Json::update(const Json& other) {
    expect(Kind::object, "object");
    if (!other.is_object()) throw JsonError("it cannot take in what is no object");
    for (size_t i = 0; i < other.size(); ++i) (*this)[other.names()[i]] = other.begin()[i];
}
void Json::erase(std::string_view name) {
    expect(Kind::object, "object");
    const Json* const found = find(name);
    if (found == nullptr) return;
    const auto place = found - begin();
    held_->names.erase(held_->names.begin() + place);
    held_->values.erase(held_->values.begin() + place);
}
void Json::erase(size_t place) {
    static_cast<void>((*this)[place]);
    held_->values.erase(held_->values.begin() + static_cast<std::ptrdiff_t>(place));
}

bool operator==(const Json& a, const Json& b) noexcept {
    using Kind = Json::Kind;
    if (a.is_number() && b.is_number()) return std::is_eq(a <=> b);
    if (a.kind_ != b.kind_) return false;
    switch (a.kind_) {
        case Kind::truth: return a.word_.truth == b.word_.truth;
        case Kind::text: return a.held_->text == b.held_->text;
        case Kind::array: return std::equal(a.begin(), a.end(), b.begin(), b.end());
        case Kind::object: {
            bool same = a.size() == b.size();
            for (size_t i = 0; same && i < a.size(); ++i) {
                const Json* const other = b.find(a.names()[i]);
                same = other != nullptr && a.begin()[i] == *other;
            }
            return same;
        }
        default: return true;
    }
}
std::partial_ordering operator<=>(const Json& a, const Json& b) noexcept {
    using Kind = Json::Kind;
    if (!a.is_number() || !b.is_number())
        return a == b ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
    if (a.kind_ == Kind::fraction || b.kind_ == Kind::fraction) return a.get<double>() <=> b.get<double>();
    if (a.kind_ != b.kind_) return a.is_natural() ? std::partial_ordering::greater : std::partial_ordering::less;
    return a.is_natural() ? a.word_.natural <=> b.word_.natural : a.word_.negative <=> b.word_.negative;
}

// ---- written ----------------------------------------------------------------------------------------------------------------

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.dump(-1, BadText::replace); }

std::string Json::line(BadText bad) const {
    if (is_boolean()) return word_.truth ? "true" : "false";
    if (is_natural()) return std::to_string(word_.natural);
    if (kind_ == Kind::negative) return std::to_string(word_.negative);
    if (is_null()) return "null";
    using Library = nlohmann::json;
    try {
        const Library value = is_string() ? Library(held_->text) : Library(word_.fraction);
        return value.dump(-1, ' ', false,
                          bad == BadText::replace ? Library::error_handler_t::replace : Library::error_handler_t::strict);
    } catch (const Library::exception&) {
        throw JsonError("it holds a text that is not UTF-8");
    }
}

void Json::dump_to(std::string& out, int indent, size_t depth, BadText bad) const {
    if (!is_array() && !is_object()) return void(out += line(bad));
    out += is_array() ? '[' : '{';
    const auto new_line = [&](size_t level) {
        if (indent >= 0) out.append(1, '\n').append(level * static_cast<size_t>(indent), ' ');
    };
    for (size_t i = 0; i < size(); ++i) {
        if (i > 0) out += ',';
        new_line(depth + 1);
        if (is_object()) out.append(Json(held_->names[i]).line(bad)).append(indent >= 0 ? ": " : ":");
        begin()[i].dump_to(out, indent, depth + 1, bad);
    }
    if (!empty()) new_line(depth);
    out += is_array() ? ']' : '}';
}

std::string Json::dump(int indent, BadText bad) const {
    std::string out;
    dump_to(out, indent, 0, bad);
    return out;
}

// ---- read -------------------------------------------------------------------------------------------------------------------

namespace {

// From the library's events to ours.
class Reader {
public:
    explicit Reader(JsonEvents& to) : to_(to) {}
    bool null() { return to_.null(), true; }
    bool boolean(bool value) { return to_.truth(value), true; }
    bool number_integer(int64_t value) { return to_.negative(value), true; }
    bool number_unsigned(uint64_t value) { return to_.natural(value), true; }
    bool number_float(double value, const std::string&) { return to_.fraction(value), true; }
    bool string(std::string& value) { return to_.text(std::move(value)), true; }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(size_t) { return to_.begin_object(), true; }
    bool key(std::string& name) { return to_.name(std::move(name)), true; }
    bool end_object() { return to_.end(), true; }
    bool start_array(size_t) { return to_.begin_array(), true; }
    bool end_array() { return to_.end(), true; }
    bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: ...", of which the first word is nobody's business.
        const std::string_view text = error.what();
        why = text.substr(std::min(text.find("] "), text.size() - 2) + 2);
        return false;
    }

    std::string why;

private:
    JsonEvents& to_;
};

}  // namespace

void read_json(std::string_view text, JsonEvents& events) {
    Reader reader(events);
    if (!nlohmann::json::sax_parse(text, &reader)) throw JsonError(reader.why);
}

// Makes a tree of events.
class JsonBuilder final : public JsonEvents {
public:
    void null() override { put({}); }
    void truth(bool value) override { put(value); }
    void natural(uint64_t value) override { put(value); }
    void negative(int64_t value) override { put(value); }
    void fraction(double value) override { put(value); }
    void text(std::string&& value) override { put(std::move(value)); }
    void name(std::string&& name) override { open_.back()->held().names.push_back(std::move(name)); }
    void begin_object() override { begin(Json::object()); }
    void begin_array() override { begin(Json::array()); }
    void end() override {
        if (open_.back()->size() > 1 && open_.back()->is_object()) keep_last_of_a_name(*open_.back()->held_);
        open_.pop_back();
    }

    Json whole;

private:
    Json& put(Json value) {
        if (open_.empty()) return whole = std::move(value);
        return open_.back()->held().values.emplace_back(std::move(value));
    }
    void begin(Json value) {
        if (open_.size() == Json::kDeepest)
            throw JsonError("it is nested deeper than " + std::to_string(Json::kDeepest) + " levels");
        open_.push_back(&put(std::move(value)));
    }
    // Where the first of them stands. An object of a stranger may have a million members: they are sorted, not looked for.
    static void keep_last_of_a_name(Json::Held& held) {
        std::vector<size_t> places(held.names.size());
        std::iota(places.begin(), places.end(), size_t{0});
        std::sort(places.begin(), places.end(), [&](size_t a, size_t b) {
            const int order = held.names[a].compare(held.names[b]);
            return order != 0 ? order < 0 : a < b;
        });
        std::vector<bool> dropped(places.size(), false);
        size_t first = 0;
        for (size_t i = 1; i < places.size(); ++i) {
            if (held.names[places[i]] != held.names[places[first]]) {
                first = i;
                continue;
            }
            held.values[places[first]] = std::move(held.values[places[i]]);
            dropped[places[i]] = true;
        }
        size_t kept = 0;
        for (size_t i = 0; i < places.size(); ++i) {
            if (dropped[i]) continue;
            if (kept != i) {
                held.names[kept] = std::move(held.names[i]);
                held.values[kept] = std::move(held.values[i]);
            }
            ++kept;
        }
        held.names.resize(kept);
        held.values.resize(kept);
    }

    std::vector<Json*> open_;  // none of them moves before it ends: it is the last of what holds it
};

Json Json::parse(std::string_view text) {
    JsonBuilder builder;
    read_json(text, builder);
    return std::move(builder.whole);
}

}  // namespace backplane::base
