#include "registry/guarded.hpp"

#include "base/thrown.hpp"

namespace backplane::registry {

namespace {

constexpr Call kTable{"backplane_module", Stage::table};

}  // namespace

const void* Guarded::extension(bp_module* handle, const char* id) const {
    return around<kCall<&bp_module_api::extension>>([&] { return table_.extension(handle, id); },
                                                    [&](const std::string& text) -> const void* {
                                                        note(text);
                                                        return nullptr;
                                                    });
}

const bp_module_api* Guarded::table(backplane_module_fn entry, std::string& problem) const {
    return around<kTable>([&] { return entry(BP_ABI); },
                          [&](std::string text) -> const bp_module_api* {
                              problem = std::move(text);
                              return nullptr;
                          });
}

std::string Guarded::thrown_out_of(const char* function) const {
    return module_ + " threw out of '" + function + "': " + base::words_of_exception();
}

std::string Guarded::wrote_over_host_in(const char* function) const {
    return module_ + " wrote over the host's table in '" + function + "'";
}

void Guarded::note(const std::string& text) const noexcept { services_->say(LogLevel::warning, text); }

}  // namespace backplane::registry
