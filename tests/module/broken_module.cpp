// What a module file must not be (F1 to F6): no note, exports of its own, objects with constructors, a library of the system linked in.
#include <png.h>

#include <string>

namespace {
const std::string made_at_load = std::to_string(png_access_version_number());
}

extern "C" const char* a_second_export() { return made_at_load.c_str(); }
extern "C" const void* backplane_module(unsigned) { return nullptr; }
