/* The descriptor of the scripted module. */
#include "backplane/note.h"
#include "backplane/module.h"
BP_NOTE(BP_ABI, BP_NOTE_UNLOADABLE,
        "{\"backend\":\"scripted\",\"version\":\"" SCRIPTED_VERSION "\",\"cpu\":[],\"needs\":[],\"probe\":\"" SCRIPTED_PROBE
        "\"}");
