/* The descriptor of every module of the zoo. */
#include "backplane/module.h"
#include "backplane/note.h"
BP_NOTE(
    BP_ABI, 0,
    "{\"backend\":\"minimal\",\"version\":\"9.0.0\",\"priority\":100,\"cpu\":[],\"probe\":\"child\",\"build\":\"" ZOO_NAME
    "\"}");
