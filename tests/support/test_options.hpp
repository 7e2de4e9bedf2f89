// The options for modules under test that the build was given: BACKPLANE_TEST_OPTIONS, "NAME=VALUE;NAME=VALUE".
#pragma once

#include <algorithm>
#include <map>
#include <string>

namespace backplane::test {

inline std::map<std::string, std::string> options_in(const std::string& text) {
    std::map<std::string, std::string> options;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(';', at), text.size());
        const size_t split = text.find('=', at);
        if (split < end) options[text.substr(at, split - at)] = text.substr(split + 1, end - split - 1);
        at = end + 1;
    }
    return options;
}

}  // namespace backplane::test
