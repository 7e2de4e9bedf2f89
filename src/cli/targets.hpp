// What a command may write over.
#pragma once

#include <string>
#include <vector>

namespace backplane::cli {

// Whether two paths name one file, through links of either kind too; also where it does not exist yet.
bool is_same_file(const std::string& a, const std::string& b);

// Throws UsageError when `target` is the file `input` that the command reads, or is read-only, unless `force`. `what`: "OUT", "--compare".
void check_target(const std::string& what, const std::string& target, const std::string& input, bool force);

// Throws UsageError where `target` does not end in .gguf: what is read may be several files of a folder, none of which has such a name, so that no weights,
// configuration or index of it are written over.
void check_gguf_name(const std::string& what, const std::string& target);

// As check_target() for all that is read: files, and in folders what a network in safetensors consists of.
void check_target_beside(const std::string& what, const std::string& target, const std::vector<std::string>& inputs,
                         bool force);

}  // namespace backplane::cli
