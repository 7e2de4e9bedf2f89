/* The descriptor of a variant of the minimal example that says it requires these CPU features. */
#include "backplane/module.h"
#include "backplane/note.h"
BP_NOTE(BP_ABI, BP_NOTE_UNLOADABLE,
        "{\"backend\":\"variant\",\"version\":\"1.0.0\",\"cpu\":[" VARIANT_CPU "],\"probe\":\"none\"}");
