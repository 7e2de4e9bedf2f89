// Which model a command takes, which file its short name means, and how it is stored.
#pragma once

#include <filesystem>
#include <string>

#include "backplane/esrgan.hpp"
#include "cli/command.hpp"

namespace backplane::cli {

// Options of every command that takes a model.
struct ModelChoice {
    std::string model = "medium", models;  // a file or a short name; the folder of the models' files
    int scale = 2;
};
void add_model_options(const Command& command, ModelChoice& choice);  // --model, --scale, --models

// `model`: a file, or "slim", "medium", "thick", which are looked for as esrgan-NAME-xSCALE.gguf in `models` when it is given, else in
// BACKPLANE_MODELS, in folders beside the program, and in the user's own. Throws Error(not_found) that says where it looked and how to get it.
std::filesystem::path find_model(const ModelChoice& choice);

// Where `model fetch` keeps what it fetches: BACKPLANE_MODELS, else backplane/models in the user's data folder; empty: there is neither.
std::filesystem::path own_models_folder();

// Of the commands that run or plan one.
struct StoredModelChoice : ModelChoice {
    std::string dtype = "f32";  // of weights and feature maps, "f16" too; "auto": f16 where only that has room
};
// Those of a model, --dtype. `may_choose`: that may be auto.
void add_stored_model_options(const Command& command, StoredModelChoice& choice, bool may_choose = false);
Esrgan open_model(const StoredModelChoice& choice);  // of auto in f32; throws as find_model() and Esrgan::open() do

}  // namespace backplane::cli
