#include "registry/mark.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <new>

#include "base/process_end.hpp"
#include "base/user_folder.hpp"
#include "registry/incident.hpp"

namespace backplane::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::array<char, 8> kMagic{'B', 'P', 'M', 'A', 'R', 'K', '1', '\n'};
constexpr size_t kPlaces = 16;  // threads inside at once that are told apart; more are not seen

// The marks that a handler goes through: of the one process there is.
constexpr size_t kMostLive = 64;
std::array<std::atomic<Mark*>, kMostLive> live{};

void note_all(Cause inside, Cause outside, int signal) noexcept {
    for (std::atomic<Mark*>& place : live)
        if (Mark* mark = place.load()) mark->note(inside, outside, signal);
}

void signal_came(base::Ending ending, int signal) noexcept {
    if (ending == base::Ending::fault)
        note_all(Cause::fault, Cause::elsewhere, signal);
    else
        note_all(Cause::asked, Cause::asked, signal);
}

void on_exit() noexcept {
    note_all(Cause::exit, Cause::asked, 0);
    for (std::atomic<Mark*>& place : live)
        if (Mark* mark = place.load()) mark->forget_unless_inside();
}

template <size_t size>
void put_text(std::array<char, size>& into, const std::string& text) {
    std::copy_n(text.begin(), std::min(text.size(), size - 1), into.begin());
}

template <size_t size>
std::string text_in(const std::array<char, size>& from) {
    return {from.begin(), std::find(from.begin(), from.end(), '\0')};
}

}  // namespace

// As it lies in the file. What may change is atomic and of the same size in every process.
struct Mark::Page {
    struct Place {
        std::atomic<uint64_t> thread;  // 0: free
        std::atomic<int64_t> since;
        std::atomic<uint32_t> stage;
        uint32_t reserved;
    };
    std::array<char, 8> magic;
    uint64_t process;
    std::atomic<uint32_t> cause;
    std::atomic<uint32_t> signal;
    std::atomic<uint32_t> place;      // 1 + that of the thread to which it happened; 0: none
    std::atomic<uint32_t> came_back;  // a bit for each stage
    std::array<Place, kPlaces> places;
    std::array<char, 128> key;
    std::array<char, 2048> file;
};

const char* name_of(Stage stage) noexcept {
    static constexpr std::array kNames{"nothing", "load", "table", "open", "list",   "device open", "query",
                                       "compile", "pack", "run",   "copy", "buffer", "close",       "unload"};
    const auto index = static_cast<size_t>(stage);
    return index < kNames.size() ? kNames[index] : "a call";
}

fs::path marks_folder(const fs::path& state_folder) { return state_folder / "marks"; }

std::unique_ptr<Mark> Mark::make(const fs::path& state_folder, const std::string& key, const std::string& file,
                                 bool note_faults, std::string& problem) {
    static_assert(sizeof(Page) <= base::HeldFile::kBytes && std::atomic<uint64_t>::is_always_lock_free);
    if (state_folder.empty()) return nullptr;
    const fs::path folder = marks_folder(state_folder);
    if (problem = base::make_own_folder(folder); !problem.empty()) return nullptr;
    alignas(Page) std::array<std::byte, base::HeldFile::kBytes> content{};
    auto* page = new (content.data()) Page{};
    page->magic = kMagic;
    page->process = base::process_number();
    put_text(page->key, key);
    put_text(page->file, file);
    static std::atomic<uint32_t> count{0};
    // Two libraries of this project in one process count each for itself: the place of the count tells them apart.
    const std::string name = base::process_identity() + "-" + std::to_string(reinterpret_cast<uintptr_t>(&count)) + "-" +
                             std::to_string(++count) + ".mark";
    std::unique_ptr<base::HeldFile> held = base::HeldFile::make(folder / name, content, problem);
    if (!held) return nullptr;
    std::unique_ptr<Mark> mark(new Mark(std::move(held), note_faults));
    mark->state_folder_ = state_folder;
    mark->module_ = file;
    return mark;
}

Mark::Mark(std::unique_ptr<base::HeldFile> file, bool note_faults)
    : file_(std::move(file)),
      note_faults_(note_faults),
      watch_(note_faults ? signal_came : nullptr),
      generation_(base::fork_generation()) {
    base::hear_of_process_end(on_exit);
    for (std::atomic<Mark*>& place : live) {
        Mark* none = nullptr;
        if (place.compare_exchange_strong(none, this)) break;
    }
}

Mark::~Mark() {
    if (opened_ && is_ours()) Incidents(state_folder_).clean_end(module_);
    for (std::atomic<Mark*>& place : live) {
        Mark* mine = this;
        if (place.compare_exchange_strong(mine, nullptr)) break;
    }
}

Mark::Page& Mark::page() const noexcept { return *std::launder(reinterpret_cast<Page*>(file_->memory())); }

void Mark::written(Stage stage) const noexcept {
    if (!file_->at_once() && !is_long(stage)) file_->write_out();
}

int Mark::enter(Stage stage) noexcept {
    if (!is_ours()) return -1;
    if (note_faults_) base::make_room_for_handlers();
    const uint64_t me = base::thread_number();
    Page& p = page();
    for (size_t i = 0; i < kPlaces; ++i) {
        uint64_t none = 0;
        if (p.places[i].thread.load(std::memory_order_relaxed) != 0 ||
            !p.places[i].thread.compare_exchange_strong(none, me, std::memory_order_relaxed))
            continue;
        p.places[i].since.store(std::time(nullptr), std::memory_order_relaxed);
        p.places[i].stage.store(static_cast<uint32_t>(stage), std::memory_order_release);
        written(stage);
        return static_cast<int>(i);
    }
    return -1;
}

void Mark::leave(int place) noexcept {
    if (place < 0 || !is_ours()) return;
    Page& p = page();
    Page::Place& mine = p.places[static_cast<size_t>(place)];
    const auto stage = static_cast<Stage>(mine.stage.load(std::memory_order_relaxed));
    if (stage == Stage::device_open) opened_.store(true, std::memory_order_relaxed);
    const uint32_t bit = 1U << static_cast<uint32_t>(stage);
    if (is_long(stage) && (p.came_back.load(std::memory_order_relaxed) & bit) == 0)
        p.came_back.fetch_or(bit, std::memory_order_relaxed);
    mine.stage.store(0, std::memory_order_release);
    mine.thread.store(0, std::memory_order_release);
    written(stage);
}

void Mark::note(Cause inside, Cause outside, int signal) noexcept {
    if (!is_ours()) return;
    Page& p = page();
    const uint64_t me = base::thread_number();
    Cause cause = outside;
    uint32_t where = 0;
    for (size_t i = 0; i < kPlaces; ++i)
        if (p.places[i].thread.load() == me && p.places[i].stage.load() != 0) {
            cause = inside;
            where = static_cast<uint32_t>(i) + 1;
        }
    uint32_t none = 0;
    if (!p.cause.compare_exchange_strong(none, static_cast<uint32_t>(cause)))
        return;  // the first is the cause of the others
    p.signal.store(static_cast<uint32_t>(signal));
    p.place.store(where);
    if (!file_->at_once()) file_->write_out();
}

void Mark::forget_unless_inside() noexcept {
    if (is_ours() && page().cause.load() == static_cast<uint32_t>(Cause::asked)) file_->remove();
}

std::optional<MarkRead> read_mark(std::span<const std::byte> content) {
    if (content.size() != base::HeldFile::kBytes) return std::nullopt;
    alignas(Mark::Page) std::array<std::byte, base::HeldFile::kBytes> copy{};
    std::copy(content.begin(), content.end(), copy.begin());
    const auto& p = *std::launder(reinterpret_cast<const Mark::Page*>(copy.data()));
    if (p.magic != kMagic) return std::nullopt;
    MarkRead read;
    read.key = text_in(p.key);
    read.file = text_in(p.file);
    read.process = p.process;
    read.signal = static_cast<int>(p.signal.load() & 0x7F);
    read.cause = p.cause.load() <= static_cast<uint32_t>(Cause::asked) ? static_cast<Cause>(p.cause.load()) : Cause::unknown;
    // The thread to which it happened, else one in a short stage, which tells more than one in a long one.
    const Mark::Page::Place* found = nullptr;
    if (const uint32_t place = p.place.load(); place > 0 && place <= kPlaces) found = &p.places[place - 1];
    for (const Mark::Page::Place& place : p.places) {
        const auto stage = static_cast<Stage>(place.stage.load());
        if (place.thread.load() == 0 || stage == Stage::idle || stage > Stage::unload || p.place.load() != 0) continue;
        if (found == nullptr || (is_long(static_cast<Stage>(found->stage.load())) && !is_long(stage))) found = &place;
    }
    if (found == nullptr || read.cause == Cause::asked) return std::nullopt;
    read.stage = static_cast<Stage>(found->stage.load());
    read.since = found->since.load();
    if (read.stage == Stage::idle || read.stage > Stage::unload) return std::nullopt;
    read.came_back = (p.came_back.load() >> static_cast<uint32_t>(read.stage) & 1U) != 0;
    return read;
}

}  // namespace backplane::registry
