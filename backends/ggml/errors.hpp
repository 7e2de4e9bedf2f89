// ggml's own words: what it logs as errors, and what it says before it ends the process, for the hosts of this process.
#pragma once

#include "base_library.hpp"
#include "common/host.hpp"

namespace backplane::ggml {

// While it lives, `host` is told in its log. ggml speaks through one function for the whole process and does not say for whom: with
// several hosts the last is told. [any]
class ErrorListener {
public:
    explicit ErrorListener(const backend::Host& host);
    ~ErrorListener();
    ErrorListener(const ErrorListener&) = delete;
    ErrorListener& operator=(const ErrorListener&) = delete;

private:
    const backend::Host& host_;
};

// What speaks to the listeners, of a ggml that is told to call it; without listeners it is silent.
Ears ears_for_errors();

}  // namespace backplane::ggml
