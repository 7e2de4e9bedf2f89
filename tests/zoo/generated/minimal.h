/* The minimal example with its entry under another name and without its note, and its device of a kind that the file which includes this says. */
#define backplane_module minimal_entry
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int zoo_no_note
#include "../../../examples/minimal-backend/minimal.c"
#undef backplane_module

static bp_code list_as(uint32_t kind, bp_module* m, const bp_array* infos, uint32_t* count, bp_error* error) {
    const bp_code code = list(m, infos, count, error);
    if (infos != NULL && infos->count > 0) BP_AT_OUT(bp_device_info, infos, 0)->kind = kind;
    return code;
}
