// What `--input NAME=WHAT` means: arrays for a model out of files and words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backplane/model.hpp"
#include "cli/command.hpp"

namespace backplane::cli {

struct ModelInputChoice {
    std::vector<std::string> inputs;  // "x=FILE.npy"
    double pixel_scale = 1.0 / 255;
    std::string mean, deviation;  // of red, green and blue: "0.485,0.456,0.406"
    int64_t rate = 16000;
};
void add_model_input_options(const Command& command, ModelInputChoice& choice);

// An array for an input of the model.
struct ModelArray {
    std::string name;
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> bytes;
    bool shape_only = false;  // "x=1x3x640x640"
};

// One for each. Throws UsageError (no such input, words that say nothing), and Error as what reads the file does; invalid: a picture or sound that is
// not of the shape that the model wants.
std::vector<ModelArray> arrays_for(const Model& model, const ModelInputChoice& choice);
std::vector<ModelInput> inputs_of(const std::vector<ModelArray>& arrays);  // which outlive them

// "NAME=REST" among these names; where there is one name alone, "REST" does. Throws UsageError.
struct NamedText {
    std::string name, text;
};
NamedText named_text(const std::string& option, const std::string& given, const std::vector<ModelValue>& values,
                     const char* what);

std::string shape_text(const ModelValue& value);  // "batch x 3 x ? x ?"

}  // namespace backplane::cli
