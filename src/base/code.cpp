#include "backplane/error.hpp"

namespace backplane {

const char* name_of(Code code) noexcept {
    switch (code) {
        case Code::ok: return "ok";
        case Code::invalid: return "invalid use";
        case Code::unsupported: return "not supported";
        case Code::version: return "version mismatch";
        case Code::not_found: return "not found";
        case Code::denied: return "permission denied";
        case Code::no_host_memory: return "out of memory";
        case Code::no_device_memory: return "out of device memory";
        case Code::device_lost: return "device lost";
        case Code::timeout: return "timed out";
        case Code::cancelled: return "cancelled";
        case Code::stale: return "made for another version";
        case Code::corrupt: return "corrupt";
        case Code::internal: return "internal error";
        case Code::busy: return "still in use";
    }
    return "unknown error";
}

}  // namespace backplane
