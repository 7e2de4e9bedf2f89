// For generators of module files that are well formed and extreme: what to do is chosen by the fuzzer's bytes, so that each of its mutations
// is another such file. And the limits that judging any of them keeps to, in steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/note.h"
#include "discovery/inspect.hpp"
#include "discovery/judge.hpp"

namespace backplane::fuzz {

using File = std::vector<std::byte>;

// Decisions, one a byte; no bytes left: the first of each.
class Choices {
public:
    explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}
    uint8_t byte() { return at_ < bytes_.size() ? std::to_integer<uint8_t>(bytes_[at_++]) : uint8_t{0}; }
    bool flip() { return (byte() & 1) != 0; }
    template <typename T>
    T one_of(std::initializer_list<T> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(byte() % values.size()));
    }

private:
    std::span<const std::byte> bytes_;
    size_t at_ = 0;
};

inline constexpr size_t kMostBytes = size_t{4} << 20;  // of a file made here

template <typename T>
void put(File& file, size_t at, const T& value) {
    if (at > kMostBytes) return;
    if (file.size() < at + sizeof value) file.resize(at + sizeof value);
    std::memcpy(file.data() + at, &value, sizeof value);
}
inline size_t append(File& file, std::string_view text) {
    const size_t at = file.size();
    if (at + text.size() > kMostBytes) return at;
    file.resize(at + text.size());
    std::memcpy(file.data() + at, text.data(), text.size());
    return at;
}
inline size_t append_text(File& file, const std::string& text) { return append(file, text + '\0'); }
inline void align(File& file, size_t to) { file.resize((file.size() + to - 1) / to * to); }

inline std::string name(Choices& choose, size_t number) {
    const auto size = choose.one_of<size_t>({8, 255, 256, 4095, 4096, 4097, 70000});
    std::string text = "lib" + std::to_string(number) + std::string(size > 12 ? size - 12 : 0, 'n') + ".so";
    if (choose.byte() % 8 == 0) text = "/nowhere/" + text;
    return text;
}

// A run path: folders with the loader's words, cycles and empty items in them.
inline std::string run_path(Choices& choose) {
    const auto count = choose.one_of<size_t>({1, 2, 63, 64, 65, 127, 5000});
    const auto kind = choose.byte();
    const auto repeat = choose.one_of<size_t>({1, 1, 3, 600});
    std::string text;
    for (size_t i = 0; i < count && text.size() < (size_t{1} << 19); ++i) {
        const std::string number = std::to_string(i);
        if (i != 0) text += ':';
        for (size_t r = 0; r < repeat; ++r) switch ((kind + i) % 8) {
                case 0: text += "/nowhere/" + number; break;
                case 1: text += "$ORIGIN/" + number; break;
                case 2: text += "${ORIGIN}/../x/.."; break;
                case 3: text += "$LIB/" + number; break;
                case 4: text += "${PLATFORM}$ORIGIN"; break;
                case 5: break;  // an empty item
                case 6: text += "$$ORIGINS{ORIGIN}"; break;
                default: text += "../../" + number; break;
            }
    }
    return text;
}

// Prefix and JSON.
inline std::string descriptor(Choices& choose) {
    std::string json = R"({"backend":"generated","needs":[)";
    const auto needs = choose.one_of<size_t>({0, 1, 63, 64, 65, 200});
    const auto length = choose.one_of<size_t>({4, 40, 255, 300});
    for (size_t i = 0; i < needs; ++i) json += (i == 0 ? "\"" : ",\"") + std::to_string(i) + std::string(length, 'd') + "\"";
    json += "]}";
    if (choose.byte() % 4 != 0 && json.size() > BP_NOTE_JSON_MOST) json = R"({"backend":"generated"})";
    std::string text = "BPN1";
    for (const uint32_t word :
         {uint32_t{24}, uint32_t{BP_ABI}, uint32_t{0}, static_cast<uint32_t>(json.size()), uint32_t{0}})
        text.append(reinterpret_cast<const char*>(&word), sizeof word);
    return text + json;
}

// Where limits are kept, in steps: what reading took, how many look-ups judging takes, how much is kept of the file.
inline std::string broken_limit(const discovery::Inspection& m, size_t note_bytes) {
    using namespace discovery;
    if (m.work.reads > kMostWork.reads + 1 || m.work.bytes > kMostWork.bytes + (1U << 18) ||
        m.work.steps > kMostWork.steps + 1024)
        return "more work than the limit";
    if (m.binary.needed.size() > kMostNeeded) return "needs more than the limit";
    if (m.binary.run_paths.size() > kMostRunPaths) return "more run paths than the limit";
    for (const std::string& each : m.binary.needed)
        if (each.empty() || each.size() > kMostName + 512) return "a name longer than the limit";
    for (const std::filesystem::path& each : m.binary.run_paths)
        if (each.native().size() > kMostName) return "a run path longer than the limit";
    if (m.binary.build_id.size() > 128) return "a build id longer than the limit";
    if (note_bytes > 8192) return "a note longer than the limit";
    if ((m.problem == ReasonCode::none) != m.text.empty()) return "a problem without a sentence, or a sentence without one";
    return {};
}

// Reads, judges, and says which limit was broken: "" is good.
inline std::string judged(const File& file,
                          std::vector<std::byte> (*reader)(const discovery::ByteSource&, discovery::Inspection&)) {
    discovery::Inspection m;
    m.path = "/modules/backplane-generated.so";
    const discovery::MemoryBytes bytes(file);
    const std::vector<std::byte> note = reader(bytes, m);
    const size_t size = note.size();
    if (m.problem == ReasonCode::none && !note.empty()) discovery::read_descriptor(note, m);
    if (std::string broken = broken_limit(m, size); !broken.empty()) return broken;
    discovery::Host host = discovery::this_host("");
    host.binary = m.binary;  // as if it were for this machine
    const discovery::Judgement judgement = discovery::judge(m, host);
    if (judgement.lookups > discovery::kMostLookups) return "more look-ups than the limit";
    if (judgement.code == ReasonCode::none && (!m.descriptor || m.problem != ReasonCode::none)) return "good without reason";
    return {};
}

}  // namespace backplane::fuzz
