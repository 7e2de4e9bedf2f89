// Optional tables of this module, by name (bp_module_api.extension).
#pragma once

namespace backplane::cpu {

const void* find_extension(const char* id);

}  // namespace backplane::cpu
