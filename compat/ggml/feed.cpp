#include "feed.h"

#include <array>

#include "base/file.hpp"
#include "chooser.hpp"

extern "C" __attribute__((visibility("default"))) int backplane_ggml_feed(void* (*load)(const char*), const char* base,
                                                                          const char* folder,
                                                                          void (*say)(void*, const char*), void* arg) {
    try {
        if (load == nullptr || base == nullptr || folder == nullptr) return 0;
        using namespace backplane::compat;
        const Search search = search_with(backplane::base::real_path(base), BACKPLANE_GGML_PREFIX);
        const std::array folders{std::filesystem::absolute(folder)};
        Choice choice = choose(folders, search);
        int loaded = 0;
        for (Kind& kind : choice.kinds) ask_scores(kind, choice.messages);
        if (say != nullptr)
            for (const Message& message : choice.messages) say(arg, message.text.c_str());
        for (const Kind& kind : choice.kinds)
            for (const Usable& module : kind.usable)
                if (load(module.path.c_str()) != nullptr) {
                    ++loaded;
                    break;
                }
        return loaded;
    } catch (...) {
        return 0;
    }
}
