// Devices whose costs a test tells, remembered in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "backplane/cost.hpp"
#include "runtime/costs/store.hpp"
#include "support/modules_of_the_build.hpp"
#include "turning_network.hpp"

namespace backplane::test {

namespace fs = std::filesystem;

class Costs : public testing::Test {
protected:
    Costs() : folder_(fs::temp_directory_path() / ("backplane-costs-" + std::to_string(std::random_device{}()))) {}
    ~Costs() override { fs::remove_all(folder_); }
    [[nodiscard]] Context context(std::vector<std::string>* log = nullptr) const {
        ContextOptions options = test::modules_of_the_build();
        options.state_folder = folder_;
        if (log != nullptr) options.log = [log](LogLevel, std::string_view line) { log->emplace_back(line); };
        return Context(options);
    }
    static std::string content(const fs::path& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    // So many operations and bytes a second.
    static DeviceCosts told(double operations, double bytes) {
        const auto curve = [](double rate) { return CostCurve{{{1e3, 1e3 / rate + 1e-6}, {1e9, 1e9 / rate + 1e-6}}}; };
        DeviceCosts costs;
        costs.run = 1e-5;
        costs.ops["product f32"] = curve(operations);
        costs.ops["element-wise f32"] = curve(bytes);
        costs.up = costs.down = costs.streamed = curve(bytes / 4);
        return costs;
    }
    void remember(const Device& device, DeviceCosts costs) const {
        runtime::CostStore(folder_).remember(device.info(), costs);
    }
    [[nodiscard]] std::vector<fs::path> files() const {
        std::vector<fs::path> all;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "costs"))
            if (entry.path().extension() == ".entry") all.push_back(entry.path());
        return all;
    }
    fs::path folder_;
    test::TurningNetwork network_;
};

// A product of so many columns: each is a network of its own.
inline Graph product_of(int64_t columns) {
    Graph graph;
    graph.output(
        graph.add(Op::matmul, {graph.input("x", DType::f32, {64, 256}), graph.weight("w", DType::f32, {256, columns})}),
        "y");
    return graph;
}

}  // namespace backplane::test
