#include "zoo/generated/sample.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace zoo {

namespace {

template <typename T>
bool one_of(T value, std::initializer_list<T> values) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

bool throws(Act act) { return one_of(act, {Act::throw_exception, Act::throw_int, Act::throw_own_type}); }

// The places where an exception has a host to reach; elsewhere the language ends the process.
bool is_a_call(Place place) {
    return !one_of(place, {Place::constructor, Place::thread, Place::exit_handler, Place::unload});
}

// A thread in code that is taken out of memory: harmless where the trial has seen the thread, so that the code stays.
bool leaves_its_code(const Plan& plan) { return plan.act == Act::leave_thread && plan.unloadable; }

bool makes_sense(Place place, Act act) {
    using enum Place;
    if (act > Act::write_over_host) return false;  // of single tests
    const bool returns_a_code =
        one_of(place, {open, list, second_list, device_open, heaps, query, compile, pack, run, copy, buffer_create});
    switch (act) {
        case Act::error:
        case Act::error_with_escapes:
        case Act::write_over_host: return returns_a_code;
        case Act::leave_thread: return !one_of(place, {exit_handler, unload});  // in code that is going
        case Act::device_lost: return returns_a_code && !one_of(place, {open, list, second_list});
        case Act::wrong_result: return one_of(place, {list, second_list, pack, run, copy});
        case Act::null_handle: return one_of(place, {table, open, device_open, compile, buffer_create});
        default: return true;
    }
}

bool makes_sense(const Plan& plan) {
    using enum Place;
    if (!makes_sense(plan.place, plan.act)) return false;
    if (one_of(plan.act, {Act::kill_parent, Act::stop_parent}) && plan.who != Who::child)
        return false;  // a host's is a stranger
    const bool is_called_often = one_of(plan.place, {list, device_open, heaps, query, compile, pack, run, copy,
                                                     buffer_create, buffer_close, program_close, device_close});
    return plan.when != When::tenth || (is_called_often && plan.who != Who::child);
}

std::vector<std::pair<Place, Act>> pairs() {
    std::vector<std::pair<Place, Act>> all;
    for (int place = 0; place < static_cast<int>(Place::count); ++place)
        for (int act = 0; act < static_cast<int>(Act::count); ++act)
            if (makes_sense(static_cast<Place>(place), static_cast<Act>(act)))
                all.emplace_back(static_cast<Place>(place), static_cast<Act>(act));
    return all;
}

// Not std::shuffle and std::uniform_int_distribution, which each library does in its own way.
uint64_t below(std::mt19937_64& random, uint64_t most) { return random() % most; }

template <typename T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(random, i)]);
}

}  // namespace

std::string text_of(const Plan& plan) {
    return std::string(kPlaces[static_cast<size_t>(plan.place)]) + "/" + kActs[static_cast<size_t>(plan.act)] + "/" +
           kWho[static_cast<size_t>(plan.who)] + "/" + kWhen[static_cast<size_t>(plan.when)] + "/" +
           (plan.unloadable ? "unloadable" : "kept");
}

std::vector<Plan> all_plans() {
    std::vector<Plan> all;
    for (const auto& [place, act] : pairs())
        for (int who = 0; who < static_cast<int>(Who::count); ++who)
            for (int when = 0; when < static_cast<int>(When::count); ++when)
                for (const bool unloadable : {false, true}) {
                    const Plan plan{place, act, static_cast<Who>(who), static_cast<When>(when), unloadable};
                    if (makes_sense(plan)) all.push_back(plan);
                }
    return all;
}

std::vector<Plan> sample(uint64_t seed, size_t count) {
    std::mt19937_64 random(seed);
    std::vector<Plan> chosen;
    for (std::vector<std::pair<Place, Act>> order = pairs(); chosen.size() < count;) {
        shuffle(order, random);
        for (size_t i = 0; i < order.size() && chosen.size() < count; ++i) {
            Plan plan{order[i].first, order[i].second, Who::both, When::first, false};
            do {
                plan.who = static_cast<Who>(below(random, static_cast<uint64_t>(Who::count)));
                plan.when = static_cast<When>(below(random, static_cast<uint64_t>(When::count)));
                plan.unloadable = below(random, 2) != 0;
            } while (!makes_sense(plan));
            chosen.push_back(plan);
        }
    }
    return chosen;
}

bool ends_the_process(const Plan& plan) {
    if (leaves_its_code(plan)) return true;
    return plan.act < Act::throw_exception || one_of(plan.act, {Act::hang, Act::spin}) ||
           (throws(plan.act) && !is_a_call(plan.place));
}

bool is_swallowed(const Plan& plan) {
    using enum Place;
    return throws(plan.act) && one_of(plan.place, {buffer_close, program_close, device_close, close});
}

// Within its own call a module rounds as it likes.
bool computes_wrongly(const Plan& plan) {
    return plan.act == Act::wrong_result || (plan.act == Act::change_rounding && plan.place == Place::run);
}

bool holds_up(const Plan& plan) { return one_of(plan.act, {Act::hang, Act::spin, Act::stop_parent}); }

bool is_harmless(const Plan& plan) { return plan.act >= Act::slow && plan.act <= Act::change_nice; }

bool changes_what_is_put_back(const Plan& plan) {
    using enum Place;
    if (plan.place == thread) return false;
    if (plan.act == Act::change_rounding) return is_a_call(plan.place) || plan.place == constructor;
    return one_of(plan.place, {constructor, table, open, list}) &&
           one_of(plan.act, {Act::change_umask, Act::block_signals, Act::arm_timer, Act::lower_limits, Act::change_affinity,
                             Act::close_descriptors});
}

bool is_told(const Plan& plan) {
    using enum Place;
    if (plan.act < Act::change_umask || plan.act > Act::change_nice)
        return false;                                              // rounding is put back at once, there as here
    if (one_of(plan.place, {exit_handler, unload})) return false;  // the trial has looked by then
    const bool is_of_a_thread = one_of(plan.act, {Act::block_signals, Act::change_affinity, Act::change_nice});
    return plan.place != thread || !is_of_a_thread;
}

namespace {

bool says_nothing(Act act) { return one_of(act, {Act::kill_itself, Act::end_without_handlers, Act::hang, Act::spin}); }

bool is_long(Place place) {
    using enum Place;
    return one_of(place, {compile, pack, run, copy, buffer_create, buffer_close});
}

}  // namespace

bool is_used_once_more(const Plan& plan) { return is_long(plan.place) && says_nothing(plan.act) && !is_not_met(plan); }

bool is_not_met(const Plan& plan) {
    using enum Place;
    if (!ends_the_process(plan)) return false;
    if (leaves_its_code(plan)) return true;
    if (plan.place == thread) return !one_of(plan.act, {Act::hang, Act::spin});  // close() waits for it, and there it is met
    if (one_of(plan.place, {exit_handler, unload})) return !plan.unloadable;
    // The first buffer was created before one is closed, which is the same stage to the library.
    return is_long(plan.place) && says_nothing(plan.act) && (plan.when == When::tenth || plan.place == buffer_close);
}

}  // namespace zoo
