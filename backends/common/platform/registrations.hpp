// Drivers that are registered by a file that names a library, and what is wrong with them.
#pragma once

#include <string>
#include <vector>

namespace backplane::backend {

// The fault of a registration ("ICD /etc/OpenCL/vendors/x.icd"), as a sentence; "": its library loads and has one of the functions
// `entries`, as drivers of `api` ("OpenCL") do, or is for programs of another word size than this one.
std::string fault_of(const std::string& registration, const std::string& library, const char* api,
                     const std::vector<const char*>& entries);

// The first of these faults, how many more there are, and what to do; "" of none.
std::string sentence_of(const std::vector<std::string>& faults, const std::string& advice);

}  // namespace backplane::backend
