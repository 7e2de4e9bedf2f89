// Counting the files that a start opens.
#pragma once

#include <sys/inotify.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

namespace ggml_test {

// Which files of a folder are opened while it lives, by anybody.
class Opened {
public:
    explicit Opened(const std::string& folder) : watch_(inotify_init1(IN_NONBLOCK)) {
        if (watch_ < 0 || inotify_add_watch(watch_, folder.c_str(), IN_OPEN) < 0)
            std::printf("cannot watch %s\n", folder.c_str()), std::exit(3);
    }
    ~Opened() { close(watch_); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    // "opened 1 sidecars 14: libggml-cpu-zen4.so", since the last call.
    [[nodiscard]] std::string text() const {
        std::set<std::string> modules, sidecars;
        alignas(inotify_event) char events[16384];
        for (ssize_t n = 0; (n = read(watch_, events, sizeof events)) > 0;)
            for (ssize_t at = 0; at < n;) {
                const auto* event = reinterpret_cast<const inotify_event*>(events + at);
                const std::string name = event->len != 0 ? event->name : "";
                if (name.find(".backplane.json") != std::string::npos)
                    sidecars.insert(name);
                else if (name.find("ggml-") != std::string::npos && name.find("-base") == std::string::npos)
                    modules.insert(name);
                at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
            }
        std::string text = "opened " + std::to_string(modules.size()) + " sidecars " + std::to_string(sidecars.size()) + ":";
        for (const std::string& name : modules) text += " " + name;
        return text;
    }

private:
    int watch_;
};

}  // namespace ggml_test
