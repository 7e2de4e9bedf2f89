/* The descriptor of the module of module.c. */
#include "backplane/note.h"
#include "backplane/module.h"
BP_NOTE(BP_ABI, BP_NOTE_UNLOADABLE,
        "{\"backend\":\"diary\",\"version\":\"1.0.0\",\"cpu\":[],\"needs\":[],\"licence\":\"MIT\",\"probe\":\"none\"}");
