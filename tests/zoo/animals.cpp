#include "zoo/animal.hpp"

namespace backplane {

std::vector<Animal> all_animals() {
    std::vector<Animal> all = {
        {"constructor_hangs", Verdict::failed, ReasonCode::timed_out, "during 'load'"},
        {"constructor_exits", Verdict::failed, ReasonCode::quarantined, "exit code 0"},
        {"constructor_aborts", Verdict::failed, ReasonCode::quarantined, "bad driver version"},
        {"constructor_becomes_another_program", Verdict::failed, ReasonCode::quarantined, "exit code 0"},
        {"constructor_spawns_a_thread", Verdict::loaded, ReasonCode::none, ""},
        {"entry_is_missing", Verdict::failed, ReasonCode::entry_missing, "backplane_module"},
        {"entry_crashes", Verdict::failed, ReasonCode::quarantined, "during 'table'"},
        {"table_is_null", Verdict::failed, ReasonCode::abi_mismatch, "no table"},
        {"table_is_short", Verdict::failed, ReasonCode::bad_table, "4 bytes"},
        {"table_lacks_a_function", Verdict::failed, ReasonCode::bad_table, "run"},
        {"table_is_of_another_abi", Verdict::failed, ReasonCode::abi_mismatch, "ABI 7"},
        {"table_is_garbage", Verdict::failed, ReasonCode::quarantined, "during 'open'"},
        {"open_crashes", Verdict::failed, ReasonCode::quarantined, "during 'open'"},
        {"open_hangs", Verdict::failed, ReasonCode::timed_out, "did not come back"},
        {"open_exits", Verdict::failed, ReasonCode::quarantined, "exit code 3"},
        {"open_fails", Verdict::failed, ReasonCode::open_failed, "driver is not there"},
        {"open_gives_nothing", Verdict::failed, ReasonCode::open_failed, "no handle"},
        {"open_spins", Verdict::failed, ReasonCode::timed_out, "did not come back"},
        {"list_crashes", Verdict::failed, ReasonCode::quarantined, "during 'list'"},
        {"list_lies_about_the_count", Verdict::failed, ReasonCode::bad_table, "4294967295"},
        {"list_repeats_a_device", Verdict::failed, ReasonCode::bad_table, "same id"},
        {"list_is_empty", Verdict::failed, ReasonCode::no_devices, "no such hardware"},
        {"list_has_wild_strings", Verdict::failed, ReasonCode::quarantined, "during 'list'"},
        {"list_fails", Verdict::failed, ReasonCode::no_devices, "driver says no"},
        {"list_writes_past_its_room", Verdict::failed, ReasonCode::bad_table, "wrote beyond the room"},
        {"close_crashes", Verdict::failed, ReasonCode::quarantined, "during 'close'"},
        {"close_hangs", Verdict::failed, ReasonCode::timed_out, "during 'close'"},
        {"output_is_a_flood", Verdict::loaded, ReasonCode::none, ""},
        {"leaves_a_child_behind", Verdict::loaded, ReasonCode::none, "it leaves processes behind"},
    };
    const std::vector<Animal> own = animals_of_this_platform();
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

}  // namespace backplane
