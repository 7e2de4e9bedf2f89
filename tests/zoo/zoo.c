/* The zoo: the minimal example with one fault, chosen by -DZOO_FAULT=N (tests/zoo/CMakeLists.txt names them). Each is called after what it
 * does. All say of themselves that they want to be tried in a child process, and that they are better than the example. */
#include "faults.h"

#define backplane_module minimal_entry
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int zoo_no_note
#include "../../examples/minimal-backend/minimal.c"
#undef backplane_module

enum {
    CONSTRUCTOR_CRASHES = 1,
    CONSTRUCTOR_HANGS,
    CONSTRUCTOR_EXITS,
    CONSTRUCTOR_ABORTS,
    CONSTRUCTOR_BECOMES_ANOTHER_PROGRAM,
    CONSTRUCTOR_SPAWNS_A_THREAD,
    CONSTRUCTOR_CHANGES_SIGNALS,
    SYMBOL_IS_UNRESOLVED,
    ENTRY_IS_MISSING,
    ENTRY_CRASHES,
    TABLE_IS_NULL,
    TABLE_IS_SHORT,
    TABLE_LACKS_A_FUNCTION,
    TABLE_IS_OF_ANOTHER_ABI,
    TABLE_IS_GARBAGE,
    OPEN_CRASHES,
    OPEN_HANGS,
    OPEN_EXITS,
    OPEN_FAILS,
    OPEN_GIVES_NOTHING,
    OPEN_SPINS,
    LIST_CRASHES,
    LIST_LIES_ABOUT_THE_COUNT,
    LIST_REPEATS_A_DEVICE,
    LIST_IS_EMPTY,
    LIST_HAS_WILD_STRINGS,
    LIST_FAILS,
    CLOSE_CRASHES,
    CLOSE_HANGS,
    OUTPUT_IS_A_FLOOD,
    FORGES_THE_RECORD,
    LEAVES_A_CHILD_BEHIND,
    NEEDS_A_CYCLE,
    FORGES_THE_RECORD_AND_EXITS,
    LIST_WRITES_PAST_ITS_ROOM
};

#if ZOO_FAULT >= CONSTRUCTOR_CRASHES_VALUE && ZOO_FAULT <= CONSTRUCTOR_LAST_VALUE
__attribute__((constructor)) static void at_load(void) {
    if (ZOO_FAULT == CONSTRUCTOR_CRASHES) crash();
    if (ZOO_FAULT == CONSTRUCTOR_HANGS) hang();
    if (ZOO_FAULT == CONSTRUCTOR_EXITS) exit(0);
    if (ZOO_FAULT == CONSTRUCTOR_ABORTS) fprintf(stderr, "terminate: bad driver version\n"), abort();
    if (ZOO_FAULT == CONSTRUCTOR_BECOMES_ANOTHER_PROGRAM) become_another_program();
    if (ZOO_FAULT == CONSTRUCTOR_SPAWNS_A_THREAD) spawn_a_thread();
    if (ZOO_FAULT == CONSTRUCTOR_CHANGES_SIGNALS) change_signals();
}
#endif

#if ZOO_FAULT == SYMBOL_IS_UNRESOLVED_VALUE
void zoo_nobody_defines_this(void);
#endif

static bp_code zoo_open(const bp_host* host, bp_module** out, bp_error* error) {
    if (ZOO_FAULT == OPEN_CRASHES) crash();
    if (ZOO_FAULT == OPEN_HANGS) hang();
    if (ZOO_FAULT == OPEN_SPINS)
        for (volatile int i = 0;; ++i) {
        }
    if (ZOO_FAULT == OPEN_EXITS) exit(3);
    if (ZOO_FAULT == OPEN_FAILS) return fail(error, BP_NOT_FOUND, "the driver is not there", 7);
    if (ZOO_FAULT == OPEN_GIVES_NOTHING) return *out = NULL, BP_OK;
    /* Shown to the child only: in the test's own process they would be the test's. In a program of its own they may be shown. */
    if (ZOO_FAULT == OUTPUT_IS_A_FLOOD && (in_the_child() || getenv("ZOO_PRINTS") != NULL))
        for (int i = 0; i < 100000; ++i) puts("a line of no use to anybody, many times over");
    if (ZOO_FAULT == FORGES_THE_RECORD || ZOO_FAULT == FORGES_THE_RECORD_AND_EXITS) {
        static const char lie[] = "good\nend\n";
        write_record(lie, sizeof lie - 1);
        if (ZOO_FAULT == FORGES_THE_RECORD_AND_EXITS) _exit(0);
        crash();
    }
    if (ZOO_FAULT == LEAVES_A_CHILD_BEHIND && in_the_child()) leave_a_child_behind();
    return open_module(host, out, error);
}

static bp_code zoo_list(bp_module* m, const bp_array* infos, uint32_t* count, bp_error* error) {
    if (ZOO_FAULT == LIST_CRASHES) crash();
    if (ZOO_FAULT == LIST_FAILS) return fail(error, BP_INTERNAL, "the driver says no", 9);
    const bp_code code = list(m, infos, count, error);
    if (ZOO_FAULT == LIST_IS_EMPTY) *count = 0, (void)fail(error, BP_OK, "no such hardware", 0);
    if (ZOO_FAULT == LIST_LIES_ABOUT_THE_COUNT) *count = UINT32_MAX;
    if (ZOO_FAULT == LIST_REPEATS_A_DEVICE && infos->count > 1) {
        memcpy((char*)infos->first + infos->stride, infos->first, infos->stride);
        *count = 2;
    }
    if (ZOO_FAULT == LIST_WRITES_PAST_ITS_ROOM) memset((char*)infos->first + (size_t)infos->count * infos->stride, 0, 8);
    if (ZOO_FAULT == LIST_HAS_WILD_STRINGS && infos->count > 0)
        ((bp_device_info*)infos->first)->name = (const char*)(uintptr_t)0x10;
    return code;
}

static void zoo_close(bp_module* m) {
    if (ZOO_FAULT == CLOSE_CRASHES) crash();
    if (ZOO_FAULT == CLOSE_HANGS) hang();
    close_module(m);
}

#if ZOO_FAULT != ENTRY_IS_MISSING_VALUE
BP_EXPORT const bp_module_api* backplane_module(uint32_t host_abi);
const bp_module_api* backplane_module(uint32_t host_abi) {
    static bp_module_api zoo;
    (void)host_abi;
#if ZOO_FAULT == SYMBOL_IS_UNRESOLVED_VALUE
    zoo_nobody_defines_this();
#endif
    if (ZOO_FAULT == ENTRY_CRASHES) crash();
    if (ZOO_FAULT == TABLE_IS_NULL) return NULL;
    zoo = table;
    zoo.open = zoo_open;
    zoo.list = zoo_list;
    zoo.close = zoo_close;
    if (ZOO_FAULT == TABLE_IS_SHORT) zoo.struct_size = 4;
    if (ZOO_FAULT == TABLE_LACKS_A_FUNCTION) zoo.run = NULL;
    if (ZOO_FAULT == TABLE_IS_OF_ANOTHER_ABI) zoo.abi = 7u << 16;
    if (ZOO_FAULT == TABLE_IS_GARBAGE) memset(&zoo, 0x5a, sizeof zoo), zoo.abi = BP_ABI, zoo.struct_size = sizeof zoo;
    return &zoo;
}
#endif
