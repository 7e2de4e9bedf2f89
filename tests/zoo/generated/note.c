/* The descriptors of the generated module, of which there are two files (ZOO_FLAGS), and of the healthy one of another backend. */
#include "backplane/note.h"
#include "backplane/module.h"
BP_NOTE(BP_ABI, ZOO_FLAGS, ZOO_DESCRIPTOR);
