/* Of the backend of the minimal example, and better, so that the example is the next best. */
#include "backplane/note.h"
#include "backplane/module.h"
BP_NOTE(BP_ABI, BP_NOTE_UNLOADABLE,
        "{\"backend\":\"minimal\",\"version\":\"9.0.0\",\"priority\":100,\"cpu\":[],\"probe\":\"" FAULTY_PROBE
        "\",\"build\":\"faulty\",\"holds\":[\"/dev/full\"]}");
