// The module's optional tables (bp_module_api.extension).
#pragma once

namespace backplane::opencl {

// Null: no such table.
const void* find_extension(const char* id);

}  // namespace backplane::opencl
