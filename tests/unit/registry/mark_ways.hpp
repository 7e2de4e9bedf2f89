#pragma once

#include <string>

namespace test {

// Ends the process outside of the module: killed, by a fault of the host, by exit() with everything open, by a child of fork() that ends first.
void end_otherwise(const std::string& way);

}  // namespace test
