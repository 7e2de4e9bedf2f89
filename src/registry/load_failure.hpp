// Why a module that was judged good could not be used.
#pragma once

#include <string>

#include "backplane/context.hpp"

namespace backplane::registry {

struct LoadFailure {
    ReasonCode code;
    std::string text;
    std::string remedy = {};
};

}  // namespace backplane::registry
