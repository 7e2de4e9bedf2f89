#include "backplane/module.h"
#include "backplane/note.h"
BP_NOTE(BP_ABI, BP_NOTE_UNLOADABLE,
        "{\"backend\":\"probed\",\"version\":\"1.0.0\",\"cpu\":[],\"needs\":[],\"licence\":\"MIT\",\"probe\":\"child\"}");
