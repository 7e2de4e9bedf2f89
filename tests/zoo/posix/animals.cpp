#include "zoo/animal.hpp"

namespace backplane {

std::vector<Animal> animals_of_this_platform() {
    return {
        {"constructor_crashes", Verdict::failed, ReasonCode::quarantined, "signal 11"},
        {"constructor_changes_signals", Verdict::loaded, ReasonCode::none, "it changes the handling of signal 12"},
        {"symbol_is_unresolved", Verdict::failed, ReasonCode::load_failed, "zoo_nobody_defines_this"},
        {"forges_the_record", Verdict::failed, ReasonCode::quarantined, "signal 11"},
        {"forges_the_record_and_exits", Verdict::failed, ReasonCode::quarantined, "exit code 0 during 'open'"},
        {"needs_a_cycle", Verdict::loaded, ReasonCode::none, ""},
    };
}

}  // namespace backplane
