#include "base/kept_open.hpp"

namespace backplane::base {

KeptOpen::~KeptOpen() = default;

void keep_open(std::span<const std::string>) noexcept {}

}  // namespace backplane::base
