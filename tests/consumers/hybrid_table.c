/* What -DBACKPLANE_LINK=hybrid generates: the cpu backend linked in, whatever this build does with it. */
#include "backplane/module.h"
#include "backplane/note.h"

const bp_module_api* backplane_cpu(uint32_t host_abi);
extern const bp_static_module backplane_linked_in_modules[];
const bp_static_module backplane_linked_in_modules[] = {
    {BP_SIZE(bp_static_module, entry), BP_NOTE_UNLOADABLE,
     "{\"backend\":\"cpu\",\"version\":\"0.1.0\",\"cpu\":[],\"probe\":\"none\"}", backplane_cpu},
    {0, 0, NULL, NULL},
};
