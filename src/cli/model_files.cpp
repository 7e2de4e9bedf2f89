#include "cli/model_files.hpp"

#include <vector>

#include "backplane/error.hpp"
#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/user_folder.hpp"

namespace backplane::cli {

namespace fs = std::filesystem;

void add_model_options(const Command& command, ModelChoice& choice) {
    command
        .option("--model", choice.model, "slim, medium, thick, or a file: .gguf, or Real-ESRGAN's as .safetensors or .onnx")
        .shows_default()
        .type("MODEL");
    command.option("--scale", choice.scale, "How many times larger; a .gguf file has its own")
        .shows_default()
        .one_of({"2", "3", "4", "8"});
    command.option("--models", choice.models, "Folder of the models' files").type("DIR");
}

fs::path own_models_folder() {
    if (const auto variable = base::environment("BACKPLANE_MODELS")) return base::path_of(*variable);
    const fs::path data = base::user_data_folder();
    return data.empty() ? fs::path() : data / "backplane" / "models";
}

fs::path find_model(const ModelChoice& choice) {
    const auto& [model, folder, scale] = choice;
    std::error_code failed;
    fs::path file = base::path_of(model);
    if (file != file.filename() || model.find('.') != std::string::npos) {
        if (fs::exists(file, failed)) return file;
        throw Error(Code::not_found, "cannot open the model " + model + ": there is no such file");
    }
    std::vector<fs::path> folders;
    if (!folder.empty()) {
        folders = {base::path_of(folder)};
    } else {
        if (const auto variable = base::environment("BACKPLANE_MODELS")) folders.push_back(base::path_of(*variable));
        const fs::path program = base::executable_file().parent_path();
        folders.push_back(program / "models");
        folders.push_back(program.parent_path() / "share" / "backplane" / "models");
        // The build tree, whose programs are in build/PRESET/bin; an installed program has nothing of its own up there.
        const fs::path build = program.parent_path().parent_path();
        if (build.filename() == "build") folders.push_back(build / "models");
        if (const fs::path own = own_models_folder(); !own.empty()) folders.push_back(own);
    }
    const std::string name = "esrgan-" + model + "-x" + std::to_string(scale) + ".gguf";
    std::string places;
    for (const fs::path& place : folders) {
        if (fs::exists(place / name, failed)) return place / name;
        places += (places.empty() ? "" : ", ") + place.string();
    }
    throw Error(Code::not_found, "there is no model '" + model + "' of scale " + std::to_string(scale) + " (" + name +
                                     ") in " + places + "; `backplane model fetch esrgan-" + model +
                                     "` fetches it; or name another folder with --models, or give a .gguf "
                                     "file");
}

void add_stored_model_options(const Command& command, StoredModelChoice& choice, bool may_choose) {
    add_model_options(command, choice);
    const std::string text = "Of weights and feature maps: f16 needs half the memory; sums are float32";
    std::vector<std::string> names{"f32", "f16"};
    if (may_choose) names.emplace_back("auto");
    command.option("--dtype", choice.dtype, text + (may_choose ? "; auto: f32 where it has room, else f16" : ""))
        .shows_default()
        .one_of(names);
}

Esrgan open_model(const StoredModelChoice& choice) {
    return Esrgan::open(find_model(choice)).stored_as(computed_in(choice.dtype));
}

}  // namespace backplane::cli
