#include "zoo/generated/judge.hpp"

#include <algorithm>
#include <iterator>

#include "zoo/generated/sample.hpp"

namespace zoo {

namespace {

constexpr int kMostStarts = 5;
const std::string kFaulty = "backplane-faulty.so";

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
    return all;
}

// One module over its starts: what is known of it by now, and what that demands.
class Judge {
public:
    Judge(Outcome& outcome, const Plan& plan) : outcome_(outcome), plan_(plan) {}

    void judge(const Start& start) {
        shown_ = shown_ || (start.in_child && !is_harmless(plan_) && !is_swallowed(plan_));
        changed_ = changed_ || (start.in_child && is_told(plan_));
        if (start.died) return judge_death(start);
        judge_life(start);
    }

private:
    void fail(const Start& start, const std::string& text) {
        outcome_.failures.push_back("start " + std::to_string(start.number) + ": " + text);
    }

    void judge_death(const Start& start) {
        ++deaths_;
        const bool not_met = deaths_ > 1 && is_not_met(plan_) && !shown_;
        const bool once_more = deaths_ == 2 && is_used_once_more(plan_) && !shown_;
        if (deaths_ == 1)
            outcome_.first_death = true;
        else
            (not_met     ? outcome_.is_not_met
             : once_more ? outcome_.second_death_of_one_used_once_more
                         : outcome_.second_death) = true;
        if (shown_)
            fail(start, "the application died (" + start.how + ") of what had shown in the trial");
        else if (!start.in_host)
            fail(start, "the application died (" + start.how + "), and the module had done nothing in it");
        else if (!ends_the_process(plan_))
            fail(start, "the application died (" + start.how + ") of what ends no process");
        else if (deaths_ > 1 && !once_more && !not_met)
            fail(start, "the application died again (" + start.how + ")");
        if (!is_not_met(plan_) && (deaths_ > 1 || !is_used_once_more(plan_))) known_ = true;
    }

    void judge_life(const Start& start) {
        const bool kept_out = shown_ || known_;
        if (kept_out && (start.chosen == kFaulty || start.computed == kFaulty)) {
            outcome_.right_device = false;
            fail(start, "the faulty device was chosen");
        }
        if (!start.foreign.empty()) fail(start, "an exception that is not the library's came out: " + joined(start.foreign));
        // What computes wrongly in the application alone, nobody can know; the healthy device is right whatever that one does.
        const bool lies = computes_wrongly(plan_) && start.in_host && start.computed == kFaulty;
        for (const std::string& wrong : start.wrong) {
            if (lies && wrong.rfind("minimal:", 0) == 0) continue;
            outcome_.right_device = false;
            fail(start, "wrong results: " + wrong);
        }
        if (start.computed.empty() || !start.steady) {
            outcome_.right_device = false;
            fail(start, "no device computed: " + joined(start.errors));
        }
        if (is_harmless(plan_) && start.computed != kFaulty) {
            outcome_.right_device = false;
            fail(start, "a module that does no harm was not used: " + reason(start));
        }
        if (kept_out && !names_it(start)) {
            outcome_.named = false;
            fail(start, "the report does not say why it is not used");
        }
        const Candidate* faulty = candidate(start, kFaulty);
        const Candidate* next = candidate(start, "backplane-minimal.so");
        if (faulty != nullptr && faulty->verdict == "failed" && (next == nullptr || next->verdict != "loaded")) {
            outcome_.right_device = false;
            fail(start, "the next best module of its backend was not taken");
        }
        if (changed_ && (faulty == nullptr || faulty->reason.find("changes") == std::string::npos)) {
            outcome_.named = false;
            fail(start, "the report does not say what it changes of the process: " + reason(start));
        }
        if (!start.survivors.empty()) fail(start, "processes of the trial live on");
        judge_leaks(start);
    }

    void judge_leaks(const Start& start) {
        if (!start.in_host || !changes_what_is_put_back(plan_)) return;
        if (!changed_ && plan_.act != Act::change_rounding) return;  // of what no trial has seen, nobody looks for it
        if (!start.leaks.empty()) fail(start, "not put back: " + joined(start.leaks));
    }

    [[nodiscard]] static const Candidate* candidate(const Start& start, const std::string& file) {
        for (const Candidate& c : start.candidates)
            if (c.file == file) return &c;
        return nullptr;
    }
    [[nodiscard]] static std::string reason(const Start& start) {
        const Candidate* c = candidate(start, kFaulty);
        return c != nullptr ? c->verdict + " (" + c->code + "): " + c->reason : "not among the candidates";
    }

    // A verdict with its reason; or, where only its device is not used, a note, a warning or an error that names either.
    [[nodiscard]] static bool names_it(const Start& start) {
        const Candidate* c = candidate(start, kFaulty);
        if (c != nullptr && c->verdict == "failed" && !c->reason.empty()) return true;
        for (const auto* texts : {&start.notes, &start.errors})
            for (const std::string& text : *texts)
                if (text.find(kFaulty) != std::string::npos || text.find("minimal:0") != std::string::npos) return true;
        return false;
    }

    Outcome& outcome_;
    const Plan& plan_;
    int deaths_ = 0;
    bool shown_ = false;    // in a trial: from then on it can be known
    bool known_ = false;    // by a death
    bool changed_ = false;  // something of the process that ran a trial
};

}  // namespace

Outcome put_to_the_test(const Plan& plan, const std::filesystem::path& folder, const Programs& programs) {
    Outcome outcome;
    outcome.plan = plan;
    lay_out(folder, plan, programs);
    Judge judge(outcome, plan);
    int lived = 0;
    for (int number = 1; number <= kMostStarts && lived < 2; ++number) {
        outcome.starts.push_back(start(folder, number, programs));
        const Start& last = outcome.starts.back();
        judge.judge(last);
        lived = last.died ? 1 : lived + 1;
        // At the first start there was nothing to see yet.
        if (plan.when == When::second_start && number == 1) lived = 0;
    }
    return outcome;
}

}  // namespace zoo
