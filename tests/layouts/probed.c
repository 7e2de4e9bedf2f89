/* The minimal example as a backend of another name that wants to be tried in a child process: whether backplane-probe was found shows. */
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int layouts_no_note
#include "../../examples/minimal-backend/minimal.c"
