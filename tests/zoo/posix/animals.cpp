#include "zoo/animal.hpp"

namespace backplane {

std::vector<Animal> all_animals() {
    return {
        {"constructor_crashes", Verdict::failed, ReasonCode::quarantined, "signal 11"},
        {"constructor_hangs", Verdict::failed, ReasonCode::timed_out, "during 'load'"},
        {"constructor_exits", Verdict::failed, ReasonCode::quarantined, "exit code 0"},
        {"constructor_aborts", Verdict::failed, ReasonCode::quarantined, "bad driver version"},
        {"constructor_becomes_another_program", Verdict::failed, ReasonCode::quarantined, "exit code 0"},
        {"constructor_spawns_a_thread", Verdict::loaded, ReasonCode::none, ""},
        {"constructor_changes_signals", Verdict::loaded, ReasonCode::none, "it changes the handling of signal 12"},
        {"symbol_is_unresolved", Verdict::failed, ReasonCode::open_failed, "zoo_nobody_defines_this"},
        {"entry_is_missing", Verdict::failed, ReasonCode::open_failed, "backplane_module"},
        {"entry_crashes", Verdict::failed, ReasonCode::quarantined, "during 'table'"},
        {"table_is_null", Verdict::failed, ReasonCode::open_failed, "no table"},
        {"table_is_short", Verdict::failed, ReasonCode::open_failed, "4 bytes"},
        {"table_lacks_a_function", Verdict::failed, ReasonCode::open_failed, "run"},
        {"table_is_of_another_abi", Verdict::failed, ReasonCode::open_failed, "ABI 7"},
        {"table_is_garbage", Verdict::failed, ReasonCode::quarantined, "during 'open'"},
        {"open_crashes", Verdict::failed, ReasonCode::quarantined, "during 'open'"},
        {"open_hangs", Verdict::failed, ReasonCode::timed_out, "did not come back"},
        {"open_exits", Verdict::failed, ReasonCode::quarantined, "exit code 3"},
        {"open_fails", Verdict::failed, ReasonCode::open_failed, "driver is not there"},
        {"open_gives_nothing", Verdict::failed, ReasonCode::open_failed, "no handle"},
        {"open_spins", Verdict::failed, ReasonCode::timed_out, "did not come back"},
        {"list_crashes", Verdict::failed, ReasonCode::quarantined, "during 'list'"},
        {"list_lies_about_the_count", Verdict::failed, ReasonCode::open_failed, "4294967295"},
        {"list_repeats_a_device", Verdict::failed, ReasonCode::open_failed, "same id"},
        {"list_is_empty", Verdict::failed, ReasonCode::open_failed, "no such hardware"},
        {"list_has_wild_strings", Verdict::failed, ReasonCode::quarantined, "during 'list'"},
        {"list_fails", Verdict::failed, ReasonCode::open_failed, "driver says no"},
        {"close_crashes", Verdict::failed, ReasonCode::quarantined, "during 'close'"},
        {"close_hangs", Verdict::failed, ReasonCode::timed_out, "during 'close'"},
        {"output_is_a_flood", Verdict::loaded, ReasonCode::none, ""},
        {"forges_the_record", Verdict::failed, ReasonCode::quarantined, "signal 11"},
        {"leaves_a_child_behind", Verdict::loaded, ReasonCode::none, ""},
        {"needs_a_cycle", Verdict::loaded, ReasonCode::none, ""},
    };
}

}  // namespace backplane
