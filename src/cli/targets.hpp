// What a command may write over.
#pragma once

#include <string>

namespace backplane::cli {

// Whether two paths name one file, through links of either kind too; also where it does not exist yet.
bool is_same_file(const std::string& a, const std::string& b);

// Throws UsageError when `target` is the file `input` that the command reads, or is read-only, unless `force`. `what`: "OUT", "--compare".
void check_target(const std::string& what, const std::string& target, const std::string& input, bool force);

}  // namespace backplane::cli
