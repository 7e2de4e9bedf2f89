// JSON: a value, read and written. One small class and no template in it, for many files use it and each would pay for those; json.cpp alone
// includes the parser's library (nlohmann/json).
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::base {

// A text that is not JSON, or a value that is not what it was taken for. what() says which and where.
class JsonError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What is done with a text whose bytes are no UTF-8, which JSON cannot hold.
enum class BadText { refuse, replace };  // throw JsonError; write U+FFFD in their place

// null, true or false, a number, a text, an array of values, or an object: named values in the order in which they were put in.
//
// A list in braces is an object when each of its elements is a list of two that begins with a text, and an array otherwise:
// {{"a", 1}, {"b", {1, 2}}} is {"a":1,"b":[1,2]}. One thread at a time; several may read. What is taken for another kind of value than it
// is throws JsonError.
class Json {
public:
    static constexpr size_t kDeepest = 100;  // of what is read: text of strangers must not use up the stack

    Json() noexcept;
    Json(std::nullptr_t) noexcept;
    Json(bool value) noexcept;
    Json(int value) noexcept;
    Json(unsigned value) noexcept;
    Json(long value) noexcept;
    Json(unsigned long value) noexcept;
    Json(long long value) noexcept;
    Json(unsigned long long value) noexcept;
    Json(double value) noexcept;  // written as null where it is no finite number
    Json(const char* text);
    Json(std::string_view text);
    Json(std::string text);
    Json(const std::vector<std::string>& texts);
    Json(const std::vector<int64_t>& numbers);
    Json(const std::vector<double>& numbers);
    Json(std::initializer_list<Json> values);
    Json(const void*) = delete;  // else a pointer would be `true`
    ~Json();
    Json(const Json& other);
    Json(Json&& other) noexcept;
    Json& operator=(const Json& other);
    Json& operator=(Json&& other) noexcept;

    static Json array(std::initializer_list<Json> values = {});
    static Json object();

    // RFC 8259, nothing before or after but white space. Of two members of one name the last counts. Throws JsonError with line and column
    // where the text is no JSON, nested deeper than kDeepest, or has a number beyond the range of a double.
    static Json parse(std::string_view text);
    // With indent < 0 in one line; else with this many spaces a level. Numbers are written so that they are read as the same.
    [[nodiscard]] std::string dump(int indent = -1, BadText bad = BadText::refuse) const;

    [[nodiscard]] bool is_null() const noexcept { return kind_ == Kind::null; }
    [[nodiscard]] bool is_boolean() const noexcept { return kind_ == Kind::truth; }
    [[nodiscard]] bool is_number() const noexcept { return is_whole() || kind_ == Kind::fraction; }
    [[nodiscard]] bool is_whole() const noexcept { return kind_ == Kind::natural || kind_ == Kind::negative; }
    [[nodiscard]] bool is_natural() const noexcept { return kind_ == Kind::natural; }  // whole, and 0 or more
    [[nodiscard]] bool is_string() const noexcept { return kind_ == Kind::text; }
    [[nodiscard]] bool is_array() const noexcept { return kind_ == Kind::array; }
    [[nodiscard]] bool is_object() const noexcept { return kind_ == Kind::object; }

    // bool, int, unsigned, long, unsigned long, long long, unsigned long long, double (of any number), std::string. Throws JsonError where
    // it is no such value, or does not fit.
    template <class T>
    [[nodiscard]] T get() const;
    [[nodiscard]] const std::string& text() const;

    // Of arrays and objects how many values they hold; else 0.
    [[nodiscard]] size_t size() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    // The values of an array or an object, in order; none of anything else. Anything put in ends what these point to.
    [[nodiscard]] const Json* begin() const noexcept;
    [[nodiscard]] const Json* end() const noexcept;
    [[nodiscard]] Json* begin() noexcept;
    [[nodiscard]] Json* end() noexcept;
    // The names of an object's values, in the order of those; none of anything else.
    [[nodiscard]] std::span<const std::string> names() const noexcept;

    // Of an object; null where there is none of this name, or it is no object.
    [[nodiscard]] const Json* find(std::string_view name) const noexcept;
    [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
    [[nodiscard]] const Json& at(std::string_view name) const;  // throws JsonError where there is none
    [[nodiscard]] Json value(std::string_view name, Json otherwise) const;
    [[nodiscard]] const Json& operator[](std::string_view name) const { return at(name); }
    Json& operator[](std::string_view name);  // made where there is none; null becomes an object
    // Of an array.
    [[nodiscard]] const Json& operator[](size_t place) const;
    [[nodiscard]] const Json& operator[](int place) const { return (*this)[static_cast<size_t>(place)]; }
    [[nodiscard]] Json& operator[](size_t place);
    [[nodiscard]] Json& operator[](int place) { return (*this)[static_cast<size_t>(place)]; }
    void push_back(Json value);         // null becomes an array
    void update(const Json& other);     // each member of that object, in place of its own of that name
    void erase(std::string_view name);  // of an object, if it is there
    void erase(size_t place);           // of an array

    // Numbers by what they are worth, objects whatever the order of their members.
    friend bool operator==(const Json& a, const Json& b) noexcept;
    // Numbers; of other values only whether they are equal.
    friend std::partial_ordering operator<=>(const Json& a, const Json& b) noexcept;
    friend std::ostream& operator<<(std::ostream& out, const Json& json);

private:
    friend class JsonBuilder;
    enum class Kind : uint8_t { null, truth, natural, negative, fraction, text, array, object };
    struct Held;  // what is not in a word
    union Word {
        bool truth;
        uint64_t natural;
        int64_t negative;
        double fraction;
    };

    Held& held();
    void expect(Kind kind, const char* what);  // null becomes one
    void dump_to(std::string& out, int indent, size_t depth, BadText bad) const;
    [[nodiscard]] std::string line(BadText bad) const;  // of what holds no other value
    [[nodiscard]] int64_t whole(int64_t least, uint64_t most, const char* name) const;

    Kind kind_ = Kind::null;
    Word word_{.natural = 0};
    std::unique_ptr<Held> held_;
};

template <>
bool Json::get<bool>() const;
template <>
int Json::get<int>() const;
template <>
unsigned Json::get<unsigned>() const;
template <>
long Json::get<long>() const;
template <>
unsigned long Json::get<unsigned long>() const;
template <>
long long Json::get<long long>() const;
template <>
unsigned long long Json::get<unsigned long long>() const;
template <>
double Json::get<double>() const;
template <>
std::string Json::get<std::string>() const;

// For readers that keep no tree: what stands in a text, in its order. A name comes before its value.
class JsonEvents {
public:
    JsonEvents() = default;
    virtual ~JsonEvents() = default;
    JsonEvents(const JsonEvents&) = delete;
    JsonEvents& operator=(const JsonEvents&) = delete;

    virtual void null() = 0;
    virtual void truth(bool value) = 0;
    virtual void natural(uint64_t value) = 0;
    virtual void negative(int64_t value) = 0;
    virtual void fraction(double value) = 0;
    virtual void text(std::string&& value) = 0;
    virtual void name(std::string&& name) = 0;
    virtual void begin_object() = 0;
    virtual void begin_array() = 0;
    virtual void end() = 0;  // of the object or array that began last
};

// Throws JsonError as Json::parse does, and what the events throw; the events up to there have been told. Any depth: the reader itself does
// not recurse.
void read_json(std::string_view text, JsonEvents& events);

}  // namespace backplane::base
