#include "cli/what_if.hpp"

#include <algorithm>

#include "base/file.hpp"
#include "base/json.hpp"
#include "cli/measure_costs.hpp"
#include "cli/memory_options.hpp"
#include "cli/output.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

Device device_like(const Context& context, const std::string& filter, const std::string& what) {
    try {
        return context.choose(filter);
    } catch (const Error& error) {
        if (filter.empty() || error.code() != Code::not_found) throw;
        throw Error(error.code(), what + "'" + filter + "': " + error.what());
    }
}

// A name that nobody reads would be a device that is not the one that was meant.
void check_names(const Json& device, const std::string& id) {
    static const std::vector<std::string> kKnown{"id", "like", "memory", "costs"};
    for (const std::string& name : device.names())
        if (std::ranges::find(kKnown, name) == kKnown.end())
            throw base::JsonError("\"" + name + "\" of " + id + " is nothing that a device has: id, like, memory, costs");
}

Asked described_one(const Context& context, const Json& one, const std::string& where) {
    Asked asked;
    asked.name = one.at("id").get<std::string>();
    if (asked.name.empty()) throw base::JsonError("an \"id\" is empty");
    check_names(one, asked.name);
    if (!one.contains("memory") || !one["memory"].is_string())
        throw base::JsonError("\"memory\" of " + asked.name + " is wanted, as text like \"8GiB\"");
    try {
        asked.memory = bytes_from(one["memory"].get<std::string>());
    } catch (const UsageError& error) {
        throw base::JsonError("\"memory\" of " + asked.name + ": " + error.what());
    }
    asked.device = device_like(context, one.value("like", "").get<std::string>(), where + asked.name + " is like ");
    if (!one.contains("costs")) return asked;
    try {
        asked.costs = costs_from(one["costs"]);
    } catch (const base::JsonError& error) {
        throw base::JsonError("\"costs\" of " + asked.name + ": " + error.what());
    }
    return asked;
}

}  // namespace

std::vector<Asked> described(const Context& context, const std::string& path) {
    const base::File file(base::path_of(path));
    constexpr uint64_t kMost = 1 << 20;
    std::string text(std::min(file.status().size, kMost), '\0');
    text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
    const std::string where = "--what-if '" + path + "': ";
    try {
        std::vector<Asked> all;
        const Json json = Json::parse(text);
        for (const Json& one : json.at("devices")) {
            Asked asked = described_one(context, one, where);
            if (std::ranges::find(all, asked.name, &Asked::name) != all.end())
                throw base::JsonError("the id '" + asked.name + "' is there twice");
            all.push_back(std::move(asked));
        }
        if (all.empty()) throw base::JsonError("\"devices\" is empty");
        return all;
    } catch (const base::JsonError& error) {
        throw Error(
            Code::corrupt,
            where + error.what() + "; it is {\"devices\": [{\"id\": \"card\", \"like\": \"cpu\", \"memory\": \"8GiB\"}]}");
    }
}

}  // namespace backplane::cli
