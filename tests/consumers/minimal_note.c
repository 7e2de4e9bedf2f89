/* The descriptor of a minimal module, by the headers it is compiled with. */
#include "backplane/module.h"
#include "backplane/note.h"
BP_NOTE(BP_ABI, BP_NOTE_UNLOADABLE,
        "{\"backend\":\"" CONSUMERS_BACKEND
        "\",\"version\":\"1.0.0\",\"cpu\":[],\"needs\":[],\"licence\":\"MIT\",\"probe\":\"none\"}");
