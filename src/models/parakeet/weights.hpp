// The weights of a Parakeet network as its graphs want them: those of the file as they are, and what is worked out of them once.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"
#include "models/parakeet/model_file.hpp"

namespace backplane::parakeet {

// Adds weights to graphs and gives their bytes. Any thread.
class NetworkWeights {
public:
    // `compute`: f32 or f16, of the encoder's feature maps. With f32 matrices keep the file's type; with f16 all are f16.
    NetworkWeights(ModelFile file, DType compute);

    [[nodiscard]] const ModelFile& file() const noexcept { return file_; }
    [[nodiscard]] const Config& config() const noexcept { return file_.config(); }
    [[nodiscard]] DType compute() const noexcept { return compute_; }
    [[nodiscard]] bool has(std::string_view name) const noexcept { return file_.find(name) != nullptr; }

    // Matrices of products, [out, in]. Of several names the rows follow each other (their types are alike).
    TensorId matrix(Graph& graph, std::string_view name);
    TensorId matrix(Graph& graph, const std::vector<std::string>& names);
    // Vectors of the type of the feature maps, or of `dtype`; of several names one behind the other.
    TensorId vector(Graph& graph, std::string_view name);
    TensorId vector(Graph& graph, const std::vector<std::string>& names);
    TensorId as(Graph& graph, std::string_view name, DType dtype, const Shape& shape);
    // Filters of a convolution: of the file's type, f32 for blocks; f16 with f16.
    TensorId filters(Graph& graph, std::string_view name, const Shape& shape);
    // What is worked out: `make` gives its numbers when they are first asked for.
    TensorId made(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                  std::function<std::vector<float>()> make);
    [[nodiscard]] std::vector<float> numbers(std::string_view name) const;  // of a tensor of the file
    // The element type that a matrix has in graphs that compute in f32.
    [[nodiscard]] DType stored(std::string_view name) const { return file_.at(name).dtype; }

    // Gives the bytes of every weight that a graph was given by this object, which lives as long.
    // What was read of the file some calls before goes from memory; it comes again where it is read again.
    [[nodiscard]] std::span<const std::byte> bytes(std::string_view name);
    void let_go();  // all that was read of the file: for when a device has it

private:
    static constexpr size_t kKept = 8;  // of those given last: devices pack what they were given some time before

    struct Made {
        std::function<std::vector<std::byte>()> make;
        std::vector<std::byte> bytes;
        bool done = false;
    };
    TensorId add(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                 std::function<std::vector<std::byte>()> make);

    ModelFile file_;
    DType compute_;
    std::mutex mutex_;
    std::map<std::string, Made, std::less<>> made_;
    std::deque<const Tensor*> given_;  // the last comes last
};

}  // namespace backplane::parakeet
