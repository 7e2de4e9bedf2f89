// JSON that may lack anything: every look-up checks, and says which file and member it was about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/error.hpp"
#include "base/json.hpp"
#include "gguf/printable.hpp"

namespace backplane::formats {

// A value inside a JSON document that outlives it.
class JsonView {
public:
    JsonView(const base::Json& value, std::string where) : value_(&value), where_(std::move(where)) {}

    [[noreturn]] void fail(const std::string& why, Code code = Code::corrupt) const {
        throw Error(code, "cannot read " + where_ + ": " + why);
    }

    // A copy that messages call `what`.
    [[nodiscard]] JsonView named(const std::string& what) const { return {*value_, where_ + ", " + what}; }

    [[nodiscard]] bool has(const char* key) const {
        const base::Json* const found = value_->find(key);
        return found != nullptr && !found->is_null();
    }
    [[nodiscard]] JsonView at(const char* key) const {
        if (!value_->is_object()) fail("it is no object, so that it has no '" + std::string(key) + "'");
        const base::Json* const found = value_->find(key);
        if (found == nullptr) fail("'" + std::string(key) + "' is missing");
        return {*found, where_ + ", '" + key + "'"};
    }

    [[nodiscard]] size_t size() const {  // of an array
        if (!value_->is_array()) fail("it is no array");
        return value_->size();
    }
    [[nodiscard]] JsonView operator[](size_t i) const {
        if (i >= size()) fail("it has " + std::to_string(size()) + " elements, more are needed");
        return {(*value_)[i], where_ + " [" + std::to_string(i) + "]"};
    }

    [[nodiscard]] const std::string& text() const {
        if (!value_->is_string()) fail("it is no text");
        return value_->text();
    }
    void require_text(const std::string& wanted) const {
        if (text() != wanted) fail("it is " + printable(text()) + "; only '" + wanted + "' is supported", Code::unsupported);
    }
    [[nodiscard]] bool truth() const {
        if (!value_->is_boolean()) fail("it is neither true nor false");
        return value_->get<bool>();
    }
    [[nodiscard]] double number() const {
        if (!value_->is_number()) fail("it is no number");
        return value_->get<double>();
    }
    // From `least` to `most`, both 0 or more.
    [[nodiscard]] int64_t count(int64_t least, int64_t most) const {
        const bool fits = value_->is_natural() && *value_ >= least && *value_ <= most;
        if (!fits) fail("it is no whole number from " + std::to_string(least) + " to " + std::to_string(most));
        return value_->get<int64_t>();
    }
    [[nodiscard]] std::vector<int64_t> counts(int64_t least, int64_t most) const {
        std::vector<int64_t> values;
        for (size_t i = 0; i < size(); ++i) values.push_back((*this)[i].count(least, most));
        return values;
    }

private:
    const base::Json* value_;
    std::string where_;
};

}  // namespace backplane::formats
