// A libggml-base: its functions, and the shape of the tables it expects of modules, measured by asking it.
#pragma once

#include <string>

#include "abi.hpp"
#include "platform/library.hpp"

namespace backplane::ggml {

// At which pointer-sized place each table of a module ends: what stands there is found by value, in the base and in the module.
// A release that adds a function to the middle of a table moves it, whatever its API number says.
struct TableShape {
    int device_to_registration = -1;  // functions of a device
    int buffer_type_to_device = -1;   // functions of a buffer type
    int buffer_to_type = -1;          // functions of a buffer
    int backend_to_device = -1;       // functions of a backend, and its guid
};

// What ggml calls with what it logs, and before it ends the process, from then on: it is for the whole process.
struct Ears {
    LogCallback log = [](int32_t, const char*, void*) {};
    AbortCallback last_words = nullptr;  // null: as ggml does by itself, which prints them
};

class BaseLibrary {
public:
    // Loads this libggml-base and measures it. `ears` hear it unless somebody had it loaded before, whose functions it then calls.
    // Throws sdk::Failure: not found, or BP_VERSION with the fact that differs.
    explicit BaseLibrary(const fs::path& file, const Ears& ears = {});

#define BP_GGML_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
    BP_GGML_FUNCTIONS(BP_GGML_MEMBER)
    BP_GGML_OPTIONAL_FUNCTIONS(BP_GGML_MEMBER)
#undef BP_GGML_MEMBER

    [[nodiscard]] const fs::path& file() const { return file_; }
    [[nodiscard]] const std::string& version_text() const { return version_text_; }
    [[nodiscard]] const TableShape& shape() const { return shape_; }

private:
    void find_functions();
    void check_enums() const;
    void check_tensor_layout() const;
    void measure_tables();

    fs::path file_;
    Library library_;
    std::string version_text_;  // "ggml 0.25.1"
    TableShape shape_;
};

// Frees a ggml context.
class ContextHandle {
public:
    // Without memory for data: tensors are descriptions only.
    ContextHandle(const BaseLibrary& base, size_t tensors, size_t graph_nodes);
    ~ContextHandle() { base_.free(context_); }
    ContextHandle(const ContextHandle&) = delete;
    ContextHandle& operator=(const ContextHandle&) = delete;
    [[nodiscard]] Context* get() const { return context_; }

private:
    const BaseLibrary& base_;
    Context* context_;
};

}  // namespace backplane::ggml
