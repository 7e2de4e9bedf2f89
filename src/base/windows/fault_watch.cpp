#include "base/fault_watch.hpp"

namespace backplane::base {

// A filter of unhandled exceptions is one for the whole process and cannot be taken back once somebody else has set his behind it.
FaultWatch::FaultWatch(EndingListener) : listens_(false) {}
FaultWatch::~FaultWatch() { static_cast<void>(listens_); }

void make_room_for_handlers() noexcept {}

unsigned fork_generation() noexcept { return 0; }

}  // namespace backplane::base
