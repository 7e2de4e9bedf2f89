// "Did you mean ...?": the known word that a misspelt one is closest to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace backplane::base {

// The nearest of `known` by letters put in, left out, changed or swapped; empty when none is near: over a third of the letters, at least
// two, would have to change. A known word that `word` is the start of, or the part behind a dot, is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// "; did you mean 'X'?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace backplane::base
