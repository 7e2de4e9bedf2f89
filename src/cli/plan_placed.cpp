#include "cli/plan_placed.hpp"

#include <algorithm>
#include <cmath>

#include "backplane/fit.hpp"

namespace backplane::cli {

namespace {

std::string title_of(const Json& component) {
    std::string title = component["name"].get<std::string>();
    if (component.contains("parts"))
        title += ", layers " + std::to_string(component["part"].get<uint64_t>()) + " of " +
                 std::to_string(component["parts"].get<uint64_t>());
    return title;
}

// What a device has of a component, as a way to fit would have it.
Fit share_of(const Json& plan, const Json& device) {
    const auto bytes = [&](const char* field) { return device[field].get<uint64_t>(); };
    Fit share;
    share.device = device["id"].get<std::string>();
    share.needs = bytes("bytes");
    share.weights = bytes("weights");
    share.ring = bytes("ring");
    share.state = bytes("state");
    share.workspace = bytes("workspace");
    share.values = plan["frames"].get<uint64_t>() * bytes("frame");
    return share;
}

size_t stages_on(const Json& component, const std::string& device) {
    return static_cast<size_t>(std::ranges::count_if(
        component["stages"], [&](const Json& stage) { return stage["device"].get<std::string>() == device; }));
}

struct Shown {
    std::string title;
    size_t stages = 0;
    Fit share;
};

std::vector<Shown> shown_of(const Json& plan) {
    std::vector<Shown> all;
    for (const Json& component : plan["components"])
        for (const Json& device : component["devices"]) {
            Shown one{title_of(component), 0, share_of(component, device)};
            one.stages = stages_on(component, one.share.device);
            if (one.stages > 0 || one.share.needs > 0) all.push_back(std::move(one));
        }
    return all;
}

// A column for each stage, or for some; the number is the device's.
void print_order(const std::string& name, const std::vector<std::string>& device_of) {
    constexpr size_t kColumns = 60;
    const size_t columns = std::min(device_of.size(), kColumns);
    std::vector<std::string> devices;
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
        const std::string& on = device_of[c * device_of.size() / columns];
        const auto found = std::ranges::find(devices, on);
        line += std::to_string(found - devices.begin() + 1);
        if (found == devices.end()) devices.push_back(on);
    }
    if (devices.size() < 2) return;
    for (size_t k = 0; k < devices.size(); ++k) line += "  " + std::to_string(k + 1) + " " + devices[k];
    out("  {} in the order of running: {}\n", name, line);
}

// Of all parts of what has a name.
void print_orders(const Json& plan) {
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    for (const Json& component : plan["components"]) {
        const std::string name = component["name"].get<std::string>();
        if (all.empty() || all.back().first != name) all.push_back({name, {}});
        for (const Json& stage : component["stages"]) all.back().second.push_back(stage["device"].get<std::string>());
    }
    for (const auto& [name, device_of] : all) print_order(name, device_of);
}

}  // namespace

std::string bar_of(const Fit& way) {
    constexpr uint64_t kColumns = 40;
    const uint64_t whole = std::max<uint64_t>({way.available, way.needs, 1});
    std::string bar;
    uint64_t from = 0, drawn = 0;
    const std::pair<uint64_t, const char*> parts[] = {
        {way.weights, "█"}, {way.ring, "▓"}, {way.state, "▒"}, {way.values, "▒"}, {way.workspace, "░"}};
    for (const auto& [bytes, block] : parts) {
        from += bytes;
        const auto until = static_cast<uint64_t>(
            std::llround(static_cast<double>(from) / static_cast<double>(whole) * static_cast<double>(kColumns)));
        for (; drawn < until; ++drawn) {
            const bool there = way.available == 0 || (drawn + 1) * (whole / kColumns) <= way.available;
            bar += there ? block : "!";
        }
    }
    for (; drawn < kColumns; ++drawn) bar += "·";
    return bar;
}

void print_placed_plan(const Json& plan) {
    const auto amount = [](uint64_t bytes) { return bytes == 0 ? std::string("-") : human_bytes(bytes); };
    std::vector<Shown> all = shown_of(plan);
    std::vector<std::vector<std::string>> rows{
        {"  DEVICE", "HAS", "STAGES", "NEEDS", "WEIGHTS", "STATE", "VALUES", "WORKSPACE"}};
    uint64_t most = 0;
    size_t widest = 0;
    for (const Shown& one : all) {
        rows.push_back({"  " + one.share.device, one.title, std::to_string(one.stages), amount(one.share.needs),
                        amount(one.share.weights), amount(one.share.state), amount(one.share.values),
                        amount(one.share.workspace)});
        most = std::max(most, one.share.needs);
        widest = std::max(widest, one.title.size());
    }
    print_table(rows);
    out("\n");
    for (Shown& one : all) {
        one.share.available = most;  // so that bars can be compared
        out("  {} {} {} {}\n", padded(one.share.device, 12), padded(one.title, widest), Safe{bar_of(one.share)},
            human_bytes(one.share.needs));
    }
    out("  {} weights  {} state, values  {} workspace\n", Safe{"█"}, Safe{"▒"}, Safe{"░"});
    print_orders(plan);
    out("\n");
}

}  // namespace backplane::cli
