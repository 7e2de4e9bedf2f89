/* How a module states its descriptor in its own file. Included by ONE generated source per shared module.
 *
 * Bytes, the same in ELF, PE and Mach-O; every integer little-endian 32 bit, so that no reader needs 8-byte alignment:
 *   0  'B' 'P' 'N' '1'                  layout of this prefix; frozen
 *   4  size of the prefix               24 today; it may grow, readers skip what they do not know
 *   8  abi = major << 16 | minor        the one fact a future reader needs even if it cannot read the rest
 *  12  flags, BP_NOTE_*
 *  16  size of the JSON that follows
 *  20  reserved, zero
 *  24  JSON, UTF-8, at most 4096 bytes, not zero terminated
 * ELF wraps it in a note: owner "Backplane", type 1, section .note.backplane. PE: section .bpnote. Mach-O: __TEXT,__bpnote. */
#ifndef BACKPLANE_NOTE_H
#define BACKPLANE_NOTE_H
#include <stdint.h>

enum {
    BP_NOTE_UNLOADABLE = 1u, /* may be unmapped after close()                                                             */
    BP_NOTE_SANITIZER = 2u,  /* built with a sanitizer: only a host built so can load it                                  */
    BP_NOTE_DEBUG = 4u,
    BP_NOTE_JIT = 8u, /* runs code generated at run time                                                                  */
    BP_NOTE_PREFIX_SIZE = 24,
    BP_NOTE_JSON_MOST = 4096,
    BP_NOTE_TYPE = 1
};

#if defined(_WIN32)
#define BP_NOTE_SECTION ".bpnote"
#elif defined(__APPLE__)
#define BP_NOTE_SECTION "__TEXT,__bpnote"
#else
#define BP_NOTE_SECTION ".note.backplane"
#define BP_NOTE_ELF 1
#endif

/* Notes lie side by side: no red zone of AddressSanitizer may stand between them. GCC leaves sections with a name alone. */
#ifdef __clang__
#define BP_NOTE_PLACE used, section(BP_NOTE_SECTION), aligned(4), no_sanitize("address")
#else
#define BP_NOTE_PLACE used, section(BP_NOTE_SECTION), aligned(4)
#endif

#define BP_NOTE_BODY(json)                                                                                                 \
    uint8_t magic[4];                                                                                                      \
    uint32_t prefix, abi, flags, json_size, reserved;                                                                      \
    char text[(sizeof(json) - 1 + 3) / 4 * 4]

#ifdef BP_NOTE_ELF
#define BP_NOTE(abi_, flags_, json)                                                                                        \
    __attribute__((BP_NOTE_PLACE)) static const struct {                                                                   \
        uint32_t namesz, descsz, type;                                                                                     \
        char name[12];                                                                                                     \
        BP_NOTE_BODY(json);                                                                                                \
    } bp_note = {10, 24 + sizeof(json) - 1, 1, "Backplane", {'B', 'P', 'N', '1'}, 24, abi_, flags_, sizeof(json) - 1, 0, json}
#else
#define BP_NOTE(abi_, flags_, json)                                                                                        \
    __attribute__((BP_NOTE_PLACE)) static const struct {                                                                   \
        BP_NOTE_BODY(json);                                                                                                \
    } bp_note = {{'B', 'P', 'N', '1'}, 24, abi_, flags_, sizeof(json) - 1, 0, json}
#endif

#if defined(_WIN32)
#define BP_EXPORT __declspec(dllexport)
#else
#define BP_EXPORT __attribute__((visibility("default")))
#endif
#endif
