#include "models/parakeet/weights.hpp"

#include <cstring>
#include <utility>

#include "graph/element_types.hpp"

namespace backplane::parakeet {

namespace {

std::vector<std::byte> halves(std::span<const float> numbers) {
    std::vector<std::byte> all(numbers.size() * sizeof(uint16_t));
    graph::f16_from_floats(numbers, reinterpret_cast<uint16_t*>(all.data()));
    return all;
}

std::vector<std::byte> converted(const Tensor& tensor, DType dtype) {
    if (tensor.dtype == DType::f32 && dtype == DType::f16)
        return halves({reinterpret_cast<const float*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)});
    return graph::encode(graph::decode(tensor.bytes, tensor.dtype), dtype);
}

std::vector<std::byte> encoded(const std::vector<float>& numbers, DType dtype) {
    const auto bytes = std::as_bytes(std::span(numbers));
    if (dtype == DType::f32) return {bytes.begin(), bytes.end()};
    if (dtype == DType::f16) return halves(numbers);
    return graph::encode(std::vector<double>(numbers.begin(), numbers.end()), dtype);
}

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : "+") + name;
    return all;
}

}  // namespace

NetworkWeights::NetworkWeights(ModelFile file, DType compute) : file_(std::move(file)), compute_(compute) {
    if (compute != DType::f32 && compute != DType::f16)
        throw Error(Code::invalid, "cannot run '" + file_.file() + "' in " + name_of(compute) + ": give f32 or f16");
}

std::vector<float> NetworkWeights::numbers(std::string_view name) const {
    const Tensor& tensor = file_.at(name);
    std::vector<float> all(static_cast<size_t>(elements(tensor.shape)));
    if (tensor.dtype == DType::f32) {
        if (!all.empty()) std::memcpy(all.data(), tensor.bytes.data(), all.size() * sizeof(float));
        return all;
    }
    const std::vector<double> decoded = graph::decode(tensor.bytes, tensor.dtype);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(decoded[i]);
    return all;
}

TensorId NetworkWeights::add(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                             std::function<std::vector<std::byte>()> make) {
    const std::string full = name + ":" + name_of(dtype);
    {
        const std::lock_guard lock(mutex_);
        Made& made = made_[full];
        if (!made.make) made.make = std::move(make);
    }
    return graph.weight(full, dtype, shape);
}

TensorId NetworkWeights::matrix(Graph& graph, std::string_view name) {
    return matrix(graph, std::vector<std::string>{std::string(name)});
}

TensorId NetworkWeights::matrix(Graph& graph, const std::vector<std::string>& names) {
    const DType dtype = compute_ == DType::f16 ? DType::f16 : stored(names.front());
    Shape shape = file_.at(names.front()).shape;
    if (names.size() == 1 && dtype == stored(names.front())) return graph.weight(names.front(), dtype, shape);
    shape[0] = 0;
    for (const std::string& name : names) shape[0] += file_.at(name).shape[0];
    return add(graph, joined(names), dtype, shape, [this, names, dtype, size = backplane::bytes(dtype, shape)] {
        std::vector<std::byte> all;
        all.reserve(static_cast<size_t>(size));
        for (const std::string& name : names) {
            const Tensor& tensor = file_.at(name);
            if (tensor.dtype == dtype) {
                all.insert(all.end(), tensor.bytes.begin(), tensor.bytes.end());
            } else {
                const std::vector<std::byte> part = converted(tensor, dtype);
                all.insert(all.end(), part.begin(), part.end());
            }
            file_.let_go(tensor);
        }
        return all;
    });
}

TensorId NetworkWeights::vector(Graph& graph, std::string_view name) {
    return vector(graph, std::vector<std::string>{std::string(name)});
}

TensorId NetworkWeights::vector(Graph& graph, const std::vector<std::string>& names) {
    int64_t size = 0;
    for (const std::string& name : names) size += elements(file_.at(name).shape);
    return made(graph, joined(names), compute_, {size}, [this, names] {
        std::vector<float> all;
        for (const std::string& name : names) {
            const std::vector<float> part = numbers(name);
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    });
}

TensorId NetworkWeights::as(Graph& graph, std::string_view name, DType dtype, const Shape& shape) {
    return made(graph, std::string(name), dtype, shape, [this, name = std::string(name)] { return numbers(name); });
}

TensorId NetworkWeights::filters(Graph& graph, std::string_view name, const Shape& shape) {
    if (compute_ == DType::f16 || is_block(stored(name))) return as(graph, name, compute_, shape);
    return graph.weight(std::string(name), stored(name), shape);
}

TensorId NetworkWeights::made(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                              std::function<std::vector<float>()> make) {
    return add(graph, name, dtype, shape, [make = std::move(make), dtype] { return encoded(make(), dtype); });
}

std::span<const std::byte> NetworkWeights::bytes(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(name);
    if (found == made_.end()) {
        const Tensor* tensor = file_.find(name);
        if (tensor == nullptr) return {};
        given_.push_back(tensor);
        if (given_.size() > kKept) {
            file_.let_go(*given_.front());
            given_.pop_front();
        }
        return tensor->bytes;
    }
    Made& made = found->second;
    if (!made.done) {
        made.bytes = made.make();
        made.done = true;
    }
    return made.bytes;
}

void NetworkWeights::let_go() {
    const std::lock_guard lock(mutex_);
    for (const Tensor* tensor : given_) file_.let_go(*tensor);
    given_.clear();
}

}  // namespace backplane::parakeet
