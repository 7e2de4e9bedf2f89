// As ggml's own registry does: each module is opened and asked, whatever happens then. Only where no child process could be asked instead.
#include <algorithm>

#include "abi.hpp"
#include "chooser.hpp"

namespace backplane::compat {

namespace {

// 0: it is not for this processor, or cannot be asked.
int score_of(Usable& module, std::vector<Message>& messages) {
    const std::string what = "cannot use " + module.path + ": ";
    try {
        module.open = std::make_shared<base::DynamicLibrary>(module.path);
        if (const auto ask = reinterpret_cast<ggml::ModuleScore>(module.open->symbol("ggml_backend_score")))
            return std::max(ask(), 0);
        return module.variant ? 0 : 1;
    } catch (const std::exception& error) {
        messages.push_back({false, what + error.what()});
    } catch (...) {
        messages.push_back({true, what + "something was thrown out of it"});
    }
    return 0;
}

}  // namespace

void ask_scores(Kind& kind, std::vector<Message>& messages) {
    bool asked = false;
    for (Usable& module : kind.usable) {
        if (module.source != Source::nobody) continue;
        asked = true;
        module.score = score_of(module, messages);
    }
    if (!asked) return;
    std::erase_if(kind.usable, [](const Usable& module) { return module.score <= 0; });
    std::stable_sort(kind.usable.begin(), kind.usable.end(), [](const Usable& a, const Usable& b) {
        return a.variant != b.variant ? a.variant : a.score > b.score;
    });
}

}  // namespace backplane::compat
