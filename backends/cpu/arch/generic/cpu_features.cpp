#include "cpu_features.hpp"

namespace backplane::cpu {

std::vector<std::string> detected_features(const std::vector<std::string>&) { return {}; }
std::vector<std::string> features_of_level(const std::string&) { return {}; }
std::string processor_name() { return "CPU"; }

void relax() {}

}  // namespace backplane::cpu
