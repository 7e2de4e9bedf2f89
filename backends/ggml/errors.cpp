#include "errors.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::ggml {

namespace {

// ggml keeps what it is told to call until the process ends, and so does this: one for the process, as ggml's is.
struct Hosts {
    std::shared_mutex mutex;  // shared by who logs
    std::vector<const backend::Host*> listening;
};

Hosts& hosts() {
    static auto* all = new Hosts;  // never freed: threads of ggml's outlive static objects
    return *all;
}

constexpr int32_t kError = 4;
constexpr int32_t kContinued = 5;  // goes on with what this thread logged before

void tell(std::string_view text, const std::shared_lock<std::shared_mutex>& lock) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const Hosts& all = hosts();
    if (!lock.owns_lock() || text.empty() || all.listening.empty()) return;
    all.listening.back()->log(BP_LOG_ERROR, "ggml: " + std::string(text));
}

void hear(int32_t level, const char* text, void* /*user*/) {
    static thread_local int32_t last = 0;
    static thread_local std::string line;  // of an error, until it ends
    if (level != kContinued) last = level;
    if (last != kError || text == nullptr) return;
    try {
        line += text;
        for (size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n')) {
            tell(std::string_view(line).substr(0, end), std::shared_lock(hosts().mutex));
            line.erase(0, end + 1);
        }
    } catch (...) {  // no memory to say it
    }
}

// The process ends when this returns. Who ends it may hold the lock: then nothing is said.
void hear_last_words(const char* text) {
    if (text == nullptr) return;
    try {
        tell("it ends the process: " + std::string(text), std::shared_lock(hosts().mutex, std::try_to_lock));
    } catch (...) {  // no memory to say it
    }
}

}  // namespace

ErrorListener::ErrorListener(const backend::Host& host) : host_(host) {
    const std::unique_lock lock(hosts().mutex);
    hosts().listening.push_back(&host_);
}

ErrorListener::~ErrorListener() {
    const std::unique_lock lock(hosts().mutex);
    std::erase(hosts().listening, &host_);
}

Ears ears_for_errors() { return {hear, hear_last_words}; }

}  // namespace backplane::ggml
