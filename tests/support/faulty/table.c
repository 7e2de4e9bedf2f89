/* The table of the minimal example, without its descriptor and its name. */
#define backplane_module minimal_entry
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int faulty_no_note
#include "../../../examples/minimal-backend/minimal.c"
