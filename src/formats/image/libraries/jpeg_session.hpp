// libjpeg without its jumps and its prints: each call into it happens inside guarded(), where only trivially destructible locals live.
#pragma once

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

namespace backplane::formats {

struct JpegFault {
    jpeg_error_mgr manager;  // first: libjpeg is given its address
    std::jmp_buf jump;
    int code = 0;
    char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] inline void jpeg_failed(j_common_ptr jpeg) {
    auto* fault = reinterpret_cast<JpegFault*>(jpeg->err);
    fault->code = fault->manager.msg_code;
    fault->manager.format_message(jpeg, fault->text);
    std::longjmp(fault->jump, 1);
}

// libjpeg invents pixels where the data is broken and warns; that is no image. The warnings about what surrounds the pixels are fine.
inline void jpeg_warned(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    switch (jpeg->err->msg_code) {
        case JWRN_EXTRANEOUS_DATA:
        case JWRN_ADOBE_XFORM:
        case JWRN_JFIF_MAJOR: return;
        default: jpeg_failed(jpeg);
    }
}

inline void jpeg_says_nothing(j_common_ptr) {}

inline jpeg_error_mgr* begin_errors(JpegFault& fault) {
    jpeg_error_mgr* manager = jpeg_std_error(&fault.manager);
    manager->error_exit = jpeg_failed;
    manager->emit_message = jpeg_warned;
    manager->output_message = jpeg_says_nothing;
    return manager;
}

// False: libjpeg gave up and the fault says why. `step` must own nothing: it is left by a jump.
template <class Step>
[[nodiscard]] bool guarded(JpegFault& fault, const Step& step) {
    if (setjmp(fault.jump) != 0) return false;
    step();
    return true;
}

}  // namespace backplane::formats
