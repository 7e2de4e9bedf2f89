#include "batch/crew.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace backplane::batch {

Crew::Crew(const std::vector<double>& work, const std::vector<Station>& stations, CrewOptions options)
    : stations_(stations),
      options_(std::move(options)),
      schedule_(work, stations.size(), options_.in_order ? Schedule::Order::as_given : Schedule::Order::longest_first),
      why_(work.size(), Error(Code::device_lost, "no device is left for it")) {
    for (size_t i = 0; i < stations.size(); ++i) hands_.push_back(std::make_unique<Hand>());
}

double Crew::now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(); }

void Crew::run(const std::function<const Task&(size_t)>& task, const std::function<void(const Result&)>& done,
               const std::function<void(double fraction)>& tick) {
    task_ = task;
    done_ = done;
    std::vector<std::thread> threads;
    {
        const std::lock_guard lock(mutex_);
        at_work_ = hands_.size();
        for (size_t i = 0; i < hands_.size(); ++i) threads.emplace_back([this, i] { work(i); });
    }
    {
        std::unique_lock lock(mutex_);
        while (at_work_ > 0) {
            changed_.wait_for(lock, std::chrono::milliseconds(100));
            if (stopped_) continue;
            try {
                tick(schedule_.fraction());
            } catch (...) {
                lock.unlock();
                end_with(std::current_exception());
                lock.lock();
            }
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    if (!schedule_.all_done()) throw Error(Code::internal, "a batch ended with files that nobody did");
}

void Crew::end_with(const std::exception_ptr& error) noexcept {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    stopped_ = true;
    for (const auto& hand : hands_) hand->wish = stop;
    changed_.notify_all();
}

void Crew::work(size_t device) noexcept {
    try {
        serve(device);
    } catch (...) {
        end_with(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    --at_work_;
    changed_.notify_all();
}

// Files of one device.
class Crew::DeviceFeed : public Feed {
public:
    DeviceFeed(Crew& crew, size_t device) : crew_(crew), device_(device) {}

    std::optional<size_t> next() override {
        const std::lock_guard lock(crew_.mutex_);
        if (crew_.stopped_ || cancel() != go_on) return {};
        // The one that was waited for is there already.
        if (!begun_) {
            begun_ = true;
            return crew_.schedule_.tasks_of(device_).front();
        }
        const Schedule::Choice choice = crew_.choose(device_);
        if (choice.kind != Schedule::Choice::Kind::take) return {};
        return choice.task;
    }
    [[nodiscard]] const Task& task(size_t file) const override { return crew_.task_(file); }
    void progress(double fraction) override {
        const std::lock_guard lock(crew_.mutex_);
        crew_.schedule_.progressed(device_, fraction, crew_.now());
    }
    void done(size_t file, base::Json report, double seconds) override {
        const std::lock_guard lock(crew_.mutex_);
        crew_.schedule_.finished(device_, file, crew_.now());
        crew_.settle({file, crew_.stations_[device_].device, std::move(report), {}, Code::ok, seconds});
    }
    void failed(size_t file, const Error& error, double seconds) override {
        if (error.code() == Code::cancelled || error.code() == Code::device_lost) throw Error(error);
        const std::lock_guard lock(crew_.mutex_);
        if (error.code() == Code::no_device_memory) {
            crew_.why_[file] = error;
            crew_.schedule_.give_back(device_, file, crew_.now(), true);
            if (crew_.options_.note && crew_.stations_.size() > 1)
                crew_.options_.note(crew_.stations_[device_].device + " gives " + task(file).name +
                                    " back: " + error.what());
            return crew_.report_stranded();
        }
        crew_.schedule_.finished(device_, file, crew_.now());
        crew_.settle({file, crew_.stations_[device_].device, {}, error.what(), error.code(), seconds});
    }
    [[nodiscard]] const std::atomic<uint32_t>& cancel() const noexcept override { return crew_.hands_[device_]->wish; }

private:
    Crew& crew_;
    size_t device_;
    bool begun_ = false;
};

// False: there is nothing more to do.
bool Crew::wait_for_one(size_t device) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (stopped_ || (!options_.more && schedule_.all_done())) return false;
        const Schedule::Choice choice = choose(device);
        if (choice.kind == Schedule::Choice::Kind::take) {
            hands_[device]->wish = go_on;
            return true;
        }
        if (schedule_.all_done()) return false;
        if (choice.kind == Schedule::Choice::Kind::take_over) hands_[choice.from]->wish = give_up;
        changed_.wait_for(lock, std::chrono::milliseconds(100));
    }
}

// Null: it takes no part, and what it had is given back.
std::unique_ptr<Worker> Crew::open(size_t device) {
    try {
        auto worker = stations_[device].make();
        const std::lock_guard lock(mutex_);
        ++made_;
        return worker;
    } catch (const Error& error) {
        const std::lock_guard lock(mutex_);
        give_all_back(device, false);
        if (stopped_) return {};
        if (!cannot_make_) cannot_make_ = std::current_exception();
        if (error.code() == Code::cancelled) throw;
        if (options_.note && out_ + 1 < hands_.size())
            options_.note(stations_[device].device + " is not used: " + error.what());
        out(device, made_ == 0 ? cannot_make_ : std::current_exception());
        return {};
    }
}

void Crew::serve(size_t device) {
    std::unique_ptr<Worker> worker;
    while (wait_for_one(device)) {
        if (!worker && !(worker = open(device))) return;
        DeviceFeed feed(*this, device);
        try {
            worker->serve(feed);
        } catch (const Error& error) {
            const std::lock_guard lock(mutex_);
            const bool lost = error.code() == Code::device_lost;
            if (error_) return;
            if (!lost && error.code() != Code::cancelled) throw;
            for (const size_t task : schedule_.tasks_of(device)) why_[task] = error;
            give_all_back(device, lost);
            if (!lost) continue;
            if (options_.note && out_ + 1 < hands_.size())
                options_.note(stations_[device].device + " is not used any more: " + error.what());
            return out(device, std::current_exception());
        }
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
        for (const size_t task : schedule_.tasks_of(device)) {
            schedule_.finished(device, task, now());
            settle({task, stations_[device].device, {}, task_(task).name + " was left undone", Code::internal, 0});
        }
    }
}

// What follows is called under the lock.

Schedule::Choice Crew::choose(size_t device) {
    for (;;) {
        const Schedule::Choice choice = schedule_.next(device, now());
        if (choice.kind == Schedule::Choice::Kind::take) {
            if (!options_.claim || options_.claim(choice.task)) return choice;
            schedule_.drop(device, choice.task);
            changed_.notify_all();
            continue;
        }
        if (!options_.more || !schedule_.none_waits() || schedule_.is_retired(device)) return choice;
        const std::optional<double> work = options_.more();
        if (!work) return choice;
        schedule_.add(*work);
        why_.emplace_back(Code::device_lost, "no device is left for it");
    }
}

void Crew::give_all_back(size_t device, bool not_here) {
    for (const size_t task : schedule_.tasks_of(device)) schedule_.give_back(device, task, now(), not_here);
    changed_.notify_all();
}

void Crew::settle(const Result& result) {
    changed_.notify_all();
    if (deaf_) return;
    try {
        done_(result);
    } catch (...) {
        deaf_ = true;
        if (!error_) error_ = std::current_exception();
        stopped_ = true;
        for (const auto& hand : hands_) hand->wish = stop;
        throw;
    }
}

// With the last device everything ends, as `error` says.
void Crew::out(size_t device, const std::exception_ptr& error) {
    schedule_.retire(device);
    changed_.notify_all();
    if (++out_ == hands_.size()) {
        error_ = error;
        stopped_ = true;
        return;
    }
    report_stranded();
}

void Crew::report_stranded() {
    for (const size_t task : schedule_.stranded()) settle({task, "", {}, why_[task].what(), why_[task].code(), 0});
}

void OneByOne::serve(Feed& feed) {
    while (const auto file = feed.next()) {
        const auto started = std::chrono::steady_clock::now();
        const auto seconds = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
        };
        base::Json report;
        try {
            report = run(feed.task(*file), feed.cancel(), [&](double fraction) { feed.progress(fraction); });
        } catch (const Error& error) {
            feed.failed(*file, error, seconds());
            continue;
        } catch (const std::bad_alloc&) {
            feed.failed(*file, Error(Code::no_host_memory, feed.task(*file).name + ": out of memory"), seconds());
            continue;
        }
        feed.done(*file, std::move(report), seconds());
    }
}

}  // namespace backplane::batch
