#include "cli/memory_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "cli/usage.hpp"

namespace backplane::cli {

void add_memory_options(const Command& command, MemoryChoice& choice, bool may_be_alone) {
    command
        .option("--memory", choice.memory,
                "Bytes that may be used of devices, in place of what they have: cpu=8GiB,discrete=1GiB")
        .type("DEVICE=BYTES,...");
    const std::string text = "Weights that are copied for each run: auto, where there is no room for all; never; or always";
    const Argument stream =
        command
            .option("--stream", choice.stream, text + (may_be_alone ? ". Without a value: --live (without it: auto)" : ""))
            .one_of({"auto", "never", "always"});
    static_cast<void>(may_be_alone ? stream.value_optional() : stream.shows_default());
}

uint64_t bytes_from(const std::string& text) {
    const auto wrong = [&] {
        return UsageError("'" + text + "' is no amount of memory: write it as 512MiB, 1.5GiB or in bytes");
    };
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    if (digits == 0 || std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(digits), '.') > 1) throw wrong();
    std::string unit = text.substr(digits);
    for (char& c : unit) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    constexpr std::string_view kUnits = " KMGT";
    double scale = 1;
    if (!unit.empty() && unit != "B") {
        const size_t power = kUnits.find(unit.front());
        const std::string rest = unit.substr(1);
        if (power == std::string_view::npos || power == 0 || !(rest.empty() || rest == "B" || rest == "IB")) throw wrong();
        scale = std::pow(1024.0, static_cast<double>(power));
    }
    const double value = std::strtod(text.substr(0, digits).c_str(), nullptr) * scale;
    if (!(value >= 1) || value >= 9e18) throw wrong();
    return static_cast<uint64_t>(value);
}

std::map<std::string, uint64_t> budgets_of(const Context& context, const MemoryChoice& choice) {
    std::map<std::string, uint64_t> budgets;
    for (size_t start = 0; start < choice.memory.size();) {
        const size_t end = std::min(choice.memory.find(',', start), choice.memory.size());
        const std::string one = choice.memory.substr(start, end - start);
        start = end + 1;
        const size_t equals = one.rfind('=');
        if (equals == std::string::npos || equals == 0)
            throw UsageError("--memory '" + one + "' names no device and bytes: write it as cpu=8GiB");
        const uint64_t bytes = bytes_from(one.substr(equals + 1));
        const std::string device = context.choose(one.substr(0, equals)).info().id;
        if (!budgets.emplace(device, bytes).second)
            throw UsageError("--memory '" + choice.memory + "' names " + device + " twice; give each device one amount");
    }
    return budgets;
}

uint64_t budget_of(const std::map<std::string, uint64_t>& budgets, const std::string& device) {
    const auto found = budgets.find(device);
    return found == budgets.end() ? 0 : found->second;
}

Streaming streaming_of(const MemoryChoice& choice) {
    if (choice.stream == "never") return Streaming::never;
    return choice.stream == "always" ? Streaming::always : Streaming::automatic;
}

FitOptions fit_options(const MemoryChoice& choice, const std::map<std::string, uint64_t>& budgets,
                       const std::atomic<uint32_t>* cancel) {
    FitOptions how;
    how.memory = budgets;
    how.streaming = streaming_of(choice);
    how.compile.cancel = cancel;
    return how;
}

}  // namespace backplane::cli
