#include "backplane/weight_file.h"

#include <algorithm>

#include "backplane/weight_file.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "capi/handles.hpp"
#include "models/capi/handles.hpp"

using backplane::WeightFile;
using backplane::WeightTensor;
using backplane::capi::guarded;
using backplane::capi::record_at;
using backplane::capi::require;
using backplane::capi::write_record;

namespace {

void write_tensor(const WeightTensor& from, backplane_weight_tensor* out) {
    backplane_weight_tensor mine{};
    mine.dtype = static_cast<uint32_t>(from.dtype);
    mine.rank = static_cast<uint32_t>(from.shape.size());
    mine.bytes = from.bytes;
    mine.name = from.name.c_str();
    mine.type = from.type.c_str();
    std::copy(from.shape.begin(), from.shape.end(), mine.dims);
    write_record(mine, out, BP_SIZE(backplane_weight_tensor, dims), "backplane_weight_tensor");
}

}  // namespace

extern "C" {

bp_code backplane_weight_file_open(const char* path, backplane_weight_file** out, bp_error* error) {
    return guarded(error, [&] {
        require(path, "path");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_weight_file{WeightFile::open(backplane::base::path_of(path))};
    });
}

void backplane_weight_file_destroy(backplane_weight_file* file) { delete file; }

bp_code backplane_weight_file_get_info(const backplane_weight_file* file, backplane_weight_file_info* info,
                                       bp_error* error) {
    return guarded(error, [&] {
        require(file, "file");
        require(info, "info");
        backplane_weight_file_info mine{};
        mine.tensor_count = static_cast<uint32_t>(file->file.tensors().size());
        for (const WeightTensor& tensor : file->file.tensors()) mine.bytes += tensor.bytes;
        backplane::capi::put(mine.format, file->file.format());
        write_record(mine, info, BP_SIZE(backplane_weight_file_info, format), "backplane_weight_file_info");
    });
}

bp_code backplane_weight_file_tensors(const backplane_weight_file* file, backplane_weight_tensor* tensors, uint32_t capacity,
                                      uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(file, "file");
        require(count, "count");
        const std::vector<WeightTensor>& all = file->file.tensors();
        *count = static_cast<uint32_t>(all.size());
        if (capacity > 0) require(tensors, "tensors");
        for (size_t i = 0; i < std::min<size_t>(all.size(), capacity); ++i) write_tensor(all[i], record_at(tensors, i));
    });
}

bp_code backplane_weight_file_find(const backplane_weight_file* file, const char* name, backplane_weight_tensor* tensor,
                                   bp_error* error) {
    return guarded(error, [&] {
        require(file, "file");
        require(name, "name");
        require(tensor, "tensor");
        const WeightTensor* found = file->file.find(name);
        if (found == nullptr) return static_cast<void>(file->file.data(name));  // throws, and says what is near
        write_tensor(*found, tensor);
    });
}

const void* backplane_weight_file_data(void* file, const char* name, uint64_t* bytes) {
    const void* data = nullptr;
    const bp_code done = guarded(nullptr, [&] {
        require(file, "file");
        require(name, "name");
        require(bytes, "bytes");
        *bytes = 0;
        const std::span<const std::byte> found = static_cast<backplane_weight_file*>(file)->file.data(name);
        *bytes = found.size();
        data = found.data();
    });
    return done == BP_OK ? data : nullptr;
}

bp_code backplane_weight_file_metadata(const backplane_weight_file* file, char* json, size_t capacity, size_t* size,
                                       bp_error* error) {
    return guarded(error, [&] {
        require(file, "file");
        backplane::base::Json all = backplane::base::Json::object();
        for (const auto& [key, value] : file->file.metadata())
            std::visit([&, k = key](const auto& v) { all[k] = v; }, value);
        backplane::capi::give_text(all.dump(-1, backplane::base::BadText::replace), json, capacity, size, "metadata");
    });
}

bp_code backplane_weight_file_add(const backplane_weight_file* file, backplane_graph* graph, const char* name, uint32_t* out,
                                  bp_error* error) {
    return guarded(error, [&] {
        require(file, "file");
        require(graph, "graph");
        require(name, "name");
        require(out, "out");
        *out = file->file.add(graph->graph, name).index;
    });
}

bp_code backplane_weight_file_weights(const backplane_weight_file* file, backplane_weights** out, bp_error* error) {
    return guarded(error, [&] {
        require(file, "file");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_weights{backplane::Weights(file->file.source())};
    });
}

}  // extern "C"
