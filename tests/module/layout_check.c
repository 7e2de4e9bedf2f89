/* Holds the headers to the ABI as it was published (rules R3 and R8 of module.h). Compiled as C11 and as C++20, by every compiler at
 * hand; there is nothing to run. With BP_LAYOUT_SELF_TEST it must not compile: the check itself is checked. */
#include <assert.h>
#include <stddef.h>

#include "backplane/module.h"
#include "backplane/note.h"
#include "backplane/ops.h"

#define BP_FIELD(type, field, offset, size)                                                       \
    static_assert(offsetof(type, field) == (offset), #type "." #field " has moved");              \
    static_assert(sizeof(((type*)0)->field) == (size), #type "." #field " has changed its size"); \
    static_assert(BP_SIZE(type, field) == (offset) + (size), "BP_SIZE of " #type "." #field);
#define BP_VALUE(name, number) static_assert((name) == (number), #name " has changed its number");
#define BP_WHOLE(type, size) static_assert(sizeof(type) == (size), #type " is used by value and has changed its size");

/* A retired field keeps its place under another name (rule R3). */
#define fused_with retired_1 /* since 1.2 */

#include "abi_1_0.inc"
#include "abi_1_1.inc"
#include "abi_1_2.inc"
#include "abi_1_3.inc"

#ifdef BP_LAYOUT_SELF_TEST
BP_FIELD(bp_error, native, 12, 8)
#endif
