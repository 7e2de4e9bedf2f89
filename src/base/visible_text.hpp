// Text from outside (file names, what modules and drivers say, what models hold), made fit for a terminal and for JSON.
#pragma once

#include <string>
#include <string_view>

namespace backplane::base {

class Json;

// The text with everything that could act on a terminal, or make a line read as what it is not, written out: control characters
// (\n, \x1b, \u009b), bytes that are no UTF-8 (\xff), and what changes the direction of writing or ends a line (\u202e, \u2028). No line
// ends in it. Text without any of them comes back as it is.
std::string visible(std::string_view text);

bool is_utf8(std::string_view text) noexcept;

// What a dump of JSON has inside its texts and visible() would write out is written as an escape of JSON: \u009b. A parser reads the same.
std::string visible_json(std::string_view dumped);

// JSON can hold UTF-8 only. Beside each member KEY whose text is something else comes KEY_bytes, its bytes in hexadecimal, so that no name
// of a file is lost; the text itself gets U+FFFD when it is dumped. Elements of arrays get that only.
void carry_bytes(Json& json);

}  // namespace backplane::base
