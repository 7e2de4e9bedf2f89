// Handles of the models library that more than one of its C headers takes.
#pragma once

#include "backplane/weight_file.hpp"

struct backplane_weight_file {
    backplane::WeightFile file;
};
