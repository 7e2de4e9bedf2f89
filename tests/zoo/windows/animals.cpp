#include "zoo/animal.hpp"

namespace backplane {

// The loader itself catches a crash in a constructor, and no library with an unresolved symbol can be made, nor two
// that need each other.
std::vector<Animal> animals_of_this_platform() {
    return {
        {"constructor_crashes", Verdict::failed, ReasonCode::load_failed, "would not load it"},
        {"constructor_changes_signals", Verdict::loaded, ReasonCode::none, ""},
        {"forges_the_record", Verdict::failed, ReasonCode::quarantined, "access violation"},
    };
}

}  // namespace backplane
