#include "cli/bench_stream_network.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/elapsed.hpp"
#include "cli/bench_run.hpp"
#include "cli/budgeted.hpp"
#include "cli/cli.hpp"
#include "models/parakeet/random_network.hpp"
#include "plan/port.hpp"

namespace backplane::cli {

namespace {

// What this process has of the device's first heap, as the driver says; 0: it does not say.
uint64_t of_driver(const Device& device) {
    const std::vector<Heap> heaps = device.heaps();
    return heaps.empty() ? 0 : heaps.front().used_by_us;
}

// What this process holds of a device at most while the object lives, looked at every half millisecond: by the ledger, and by the driver beside what it had
// `before`.
class MostHeld {
public:
    MostHeld(const Device& device, uint64_t before)
        : thread_([this, device, before] {
              while (!stop_) {
                  most_ = std::max(most_.load(), ledger(device).held);
                  const uint64_t now = of_driver(device);
                  driver_ = std::max(driver_.load(), now - std::min(now, before));
                  std::this_thread::sleep_for(std::chrono::microseconds(500));
              }
          }) {}
    ~MostHeld() {
        stop_ = true;
        thread_.join();
    }
    MostHeld(const MostHeld&) = delete;
    MostHeld& operator=(const MostHeld&) = delete;
    [[nodiscard]] uint64_t bytes() const { return most_; }
    [[nodiscard]] uint64_t driver() const { return driver_; }

private:
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> most_{0}, driver_{0};
    std::thread thread_;
};

struct Row {
    int64_t percent = 0;
    uint64_t budget = 0, planned = 0, resident = 0, moved = 0, held = 0, driver = 0;
    double first_ms = 0, ms = 0, least_ms = 0;  // the first pass makes what later ones copy from
    bool same = false;
};

class Budgets {
public:
    Budgets(const StreamedNetworkChoice& o, const Device& device, Run& run)
        : o_(o), device_(device), before_(of_driver(device)), network_(network_of(o, device, run)) {}

    // All weights there: what the others are compared with.
    Row resident() {
        FitOptions how;
        how.streaming = Streaming::never;
        const Fit whole = network_->ways(how).front();
        if (!whole.possible) throw Error(Code::no_device_memory, "cannot run the network whole: " + whole.problem);
        weights_ = whole.weights;
        others_ = whole.needs - whole.weights;
        Row row = timed(whole);
        row.percent = 100;
        row.budget = whole.needs;
        want_ = std::move(got_);
        row.same = true;
        return row;
    }

    // So much of the weights and all else within a budget; of 0 percent the least that runs, where nothing but the ring is there.
    std::optional<Row> streamed(int64_t percent) {
        FitOptions how;
        how.streaming = percent == 0 ? Streaming::always : Streaming::automatic;
        const uint64_t budget = others_ + weights_ * static_cast<uint64_t>(percent) / 100;
        if (percent != 0) how.memory[device_.info().id] = budget;
        const std::vector<Fit> ways = network_->ways(how);
        const Fit* way = best_fit(ways, percent >= 100 ? Streaming::automatic : Streaming::always);
        if (way == nullptr) {
            err("note: no plan for {} %: {}\n", percent, what_would_fit(ways));
            return {};
        }
        Fit kept = *way;
        if (percent == 0) kept.available = kept.needs;
        limit_memory(device_, percent != 0 ? budget : kept.needs + kept.needs / 50);
        Row row = timed(kept);
        row.percent = percent;
        row.budget = percent != 0 ? budget : kept.needs;
        row.same = got_ == want_;
        limit_memory(device_, 0);
        return row;
    }

    // 10^6 bytes a millisecond over the bus into the device, from where weights that are streamed lie, one copy after the other: of as many bytes as
    // there are weights, which no cache of the host holds.
    [[nodiscard]] double link() {
        constexpr uint64_t kBytes = uint64_t{64} << 20;
        const std::shared_ptr<plan::Port> port = plan::Port::of(device_);
        std::vector<plan::Bytes> from;
        for (uint64_t sum = 0; sum < weights_; sum += kBytes) {
            from.push_back(port->allocate_pinned(kBytes, "bench"));
            std::fill_n(from.back()->host, kBytes, std::byte{1});
        }
        const plan::Bytes to = port->allocate(kBytes, "bench");
        std::vector<double> all;
        for (int k = 0; k < 5; ++k) {
            const auto start = std::chrono::steady_clock::now();
            for (const plan::Bytes& one : from) {
                if (one->buffer != nullptr)
                    port->copy(*one, 0, *to, 0, kBytes);
                else
                    port->upload({one->host, kBytes}, *to);
            }
            port->wait_written(*to);
            all.push_back(base::seconds_since(start) * 1e3);
        }
        return static_cast<double>(kBytes * from.size()) / 1e6 / *std::min_element(all.begin(), all.end());
    }
    [[nodiscard]] uint64_t weights() const { return weights_; }
    [[nodiscard]] const Budgeted& network() const { return *network_; }

private:
    static std::unique_ptr<Budgeted> network_of(const StreamedNetworkChoice& o, const Device& device, Run& run) {
        const auto& speech = parakeet::published_sizes();
        return std::find(speech.begin(), speech.end(), o.network) != speech.end()
                   ? budgeted_speech(o, device, &run.interrupted)
                   : budgeted_picture(o, device, &run.interrupted);
    }

    Row timed(const Fit& way) {
        Row row;
        row.planned = way.needs;
        row.resident = way.weights;
        row.moved = way.moved;
        network_->begin(way);
        {
            const MostHeld most(device_, before_);
            const auto first = std::chrono::steady_clock::now();
            got_ = network_->pass();
            row.first_ms = base::seconds_since(first) * 1e3;
            std::vector<double> all = network_->times(o_.passes);
            row.least_ms = *std::min_element(all.begin(), all.end());
            row.ms = median(std::move(all));
            row.held = most.bytes();
            row.driver = most.driver() - std::min(most.driver(), network_->in_place());
        }
        network_->end();
        return row;
    }

    const StreamedNetworkChoice& o_;
    Device device_;
    uint64_t before_;  // that the driver counts as ours with nothing there
    std::unique_ptr<Budgeted> network_;
    std::vector<std::byte> got_, want_;
    uint64_t weights_ = 0, others_ = 0;
};

}  // namespace

void bench_stream_network(const StreamedNetworkChoice& o, const Device& device, Run& run) {
    Budgets bench(o, device, run);
    std::vector<Row> rows{bench.resident()};
    for (const int64_t percent : o.percent)
        if (auto row = bench.streamed(percent)) rows.push_back(*row);
    const double link = bench.link(), compute = rows.front().ms;
    Json all = Json::array();
    std::vector<std::vector<std::string>> table{{"BUDGET", "BYTES", "HELD", "BY DRIVER", "WEIGHTS THERE", "COPIED A PASS",
                                                 "FIRST MS", "A PASS MS", "LEAST MS", "COPIES MS", "OF BOUND", "SAME"}};
    for (const Row& row : rows) {
        const bool streamed = &row != &rows.front();
        // Inputs of the encoder are tensors on the device already.
        const uint64_t moved = row.moved - std::min(row.moved, rows.front().moved);
        const double copies = streamed ? static_cast<double>(moved) / 1e6 / link : 0;
        const double of_bound = std::max(copies, compute) / row.ms;
        all.push_back({{"percent", row.percent},
                       {"streamed", streamed},
                       {"budget", row.budget},
                       {"planned", row.planned},
                       {"held", row.held},
                       {"driver", row.driver},
                       {"resident", row.resident},
                       {"moved", moved},
                       {"first_ms", row.first_ms},
                       {"ms", row.ms},
                       {"least_ms", row.least_ms},
                       {"copies_ms", copies},
                       {"of_bound", of_bound},
                       {"same", row.same}});
        table.push_back({streamed ? std::to_string(row.percent) + "%" : "all there", human_bytes(row.budget),
                         human_bytes(row.held), row.driver == 0 ? std::string("-") : human_bytes(row.driver),
                         human_bytes(row.resident), streamed ? human_bytes(moved) : "-", fixed(row.first_ms, 0).text,
                         fixed(row.ms, 2).text, fixed(row.least_ms, 2).text, fixed(copies, 2).text, fixed(of_bound, 2).text,
                         row.same ? "to the bit" : "NO"});
    }
    const bool right =
        std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.same && row.held <= row.budget; });
    if (!right) run.exit_code = kFailed;
    if (run.json)
        return print({{"network", o.network},
                      {"device", device.info().id},
                      {"name", device.info().name},
                      {"seconds", o.seconds},
                      {"batch", o.batch},
                      {"passes", o.passes},
                      {"weights", bench.weights()},
                      {"link_gb_s", link},
                      {"compute_ms", compute},
                      {"rows", all}});
    out("{} on {} ({}), {}: {} of weights, {} passes; {} GB/s into the device\n", bench.network().name(), device.info().id,
        device.info().name, bench.network().input(), human_bytes(bench.weights()), o.passes, fixed(link, 1));
    print_table(table);
}

}  // namespace backplane::cli
