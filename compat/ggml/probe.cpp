// backplane-ggml-probe BASE FILE: loads a ggml module beside this libggml-base, asks its score, initialises it, compares its tables with what
// the base expects, and says on descriptor 3 how far it came: "step NAME" before each step, "score N", then "good" or "failed TEXT", "end".
#include <cstring>
#include <string>

#include "backplane/sdk.hpp"
#include "base/process.hpp"
#include "installation.hpp"

namespace {

using namespace backplane;

void say(const std::string& line) {
    std::string text = line;
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    base::write_record(text + "\n");
}

void probe(const std::filesystem::path& base_file, const std::filesystem::path& file) {
    say("step load libggml-base");
    const ggml::BaseLibrary base(base_file.parent_path());
    base.log_set([](int32_t, const char*, void*) {}, nullptr);
    say("step load");
    ggml::Library library(file);
    const auto init = reinterpret_cast<ggml::ModuleInit>(library.symbol("ggml_backend_init"));
    if (init == nullptr) throw sdk::Failure(BP_INVALID, "it is no backend module: it has no ggml_backend_init");
    const auto ask = reinterpret_cast<ggml::ModuleScore>(library.symbol("ggml_backend_score"));
    library.keep();
    int score = 1;
    if (ask != nullptr) {
        say("step score");
        score = ask();
    }
    say("score " + std::to_string(score));
    if (score > 0) {
        say("step init");
        ggml::Registration* registration = init();
        if (registration == nullptr) throw sdk::Failure(BP_UNSUPPORTED, "it found nothing it can use");
        say("step devices");
        static_cast<void>(ggml::check_module(base, registration, std::filesystem::canonical(file)));
    }
    say("good");
    say("end");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    base::limit_this_process(30);
    try {
        probe(argv[1], argv[2]);
    } catch (const std::exception& error) {
        say(std::string("failed ") + error.what());
        say("end");
    } catch (...) {
        say("failed something was thrown out of it");
        say("end");
    }
    base::leave_process(0);
}
