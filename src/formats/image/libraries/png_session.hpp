// libpng without its jumps: each call into it happens inside guarded(), where only trivially destructible locals live.
#pragma once

#include <png.h>

#include <csetjmp>
#include <cstdio>

namespace backplane::formats {

struct PngFault {
    char text[256] = "";
};

[[noreturn]] inline void png_failed(png_structp png, png_const_charp text) {
    auto* fault = static_cast<PngFault*>(png_get_error_ptr(png));
    std::snprintf(fault->text, sizeof fault->text, "%s", text);
    png_longjmp(png, 1);
}

inline void png_warned(png_structp, png_const_charp) {}  // what still gives an image is no news

// False: libpng gave up and the fault says why. `step` must own nothing: it is left by a jump.
template <class Step>
[[nodiscard]] bool guarded(png_structp png, const Step& step) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    step();
    return true;
}

}  // namespace backplane::formats
