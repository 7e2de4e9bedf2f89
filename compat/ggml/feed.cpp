#include "feed.h"

#include "chooser.hpp"

extern "C" __attribute__((visibility("default"))) int backplane_ggml_feed(void* (*load)(const char*), const char* base,
                                                                          const char* folder,
                                                                          void (*say)(void*, const char*), void* arg) {
    try {
        if (load == nullptr || base == nullptr || folder == nullptr) return 0;
        backplane::compat::Search search;
        search.base = backplane::base::real_path(base);
        search.probe = backplane::compat::find_probe();
        search.state = backplane::compat::state_folder();
        search.prefix = BACKPLANE_GGML_PREFIX;
        const backplane::compat::Choice choice = backplane::compat::choose(std::filesystem::absolute(folder), search);
        int loaded = 0;
        if (say != nullptr)
            for (const std::string& refusal : choice.refusals) say(arg, refusal.c_str());
        for (const auto& kind : choice.kinds)
            for (const auto& module : kind.usable)
                if (load(module.path.string().c_str()) != nullptr) {
                    ++loaded;
                    break;
                }
        return loaded;
    } catch (...) {
        return 0;
    }
}
