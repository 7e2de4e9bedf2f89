/* Backplane module ABI, version 1.
 *
 * A module is a shared library (or a linked-in object) that carries one backend. It exports one symbol, `backplane_module`,
 * and states a descriptor in its own file (see note.h). Nothing of the project is linked into a module: everything it needs
 * from its host comes through `bp_host`. Pure C11; also valid C++17 and later. docs/abi.md explains the choices,
 * docs/writing-a-backend.md is the guide, docs/module-contract.md numbers the promises with the test that holds each.
 *
 * The whole of the versioning rule:
 *   R1  The abi major must be equal. It changes only when a rule in this comment, or the meaning of a field, changes.
 *   R2  Every struct that crosses begins with `struct_size`: the END OF THE LAST FIELD its owner knew (BP_SIZE), never sizeof,
 *       or a later field could land in trailing padding and count as known. Inputs: the writer sets it. Outputs: the owner of
 *       the memory sets it before the call and zeroes the rest; the callee writes no further and leaves struct_size alone.
 *   R3  Fields are appended. None is moved, retyped, reused or removed. A retired field is renamed `retired_N` and stays.
 *   R4  A reader uses the bytes both sides know: min(struct_size, what it knows itself). What it did not get is zero.
 *   R5  Therefore zero means "not stated" for data and "absent" for a function. Every absent function has a defined answer.
 *   R6  Arrays of structs travel as bp_span or bp_array: the STRIDE is the writer's, never the reader's sizeof.
 *   R7  Enumerators, op ids and attribute ids are open sets: numbers are never reused; an unknown one is answered with
 *       BP_UNSUPPORTED (request) or read as the enum's zero (information).
 *   R8  No hidden padding on any 64-bit ABI, no bit-field, no `long`, no `bool`, no enum-typed field, no allocation freed by
 *       the other side, no exception and no longjmp across the line.
 *   R9  A table or string that a function returns lives as long as the handle it was asked of.
 *   R10 The abi minor is for people and for the descriptor. Code asks BP_HAS, never "minor >= n".
 *
 * Threads: [any] may be called from any thread at any time; [device] is one call per device at a time, the host serialises.
 * Creation and destruction of one handle never overlap with other calls on that handle; the host takes care of it. */
#ifndef BACKPLANE_MODULE_H
#define BACKPLANE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_ABI_MAJOR 1u
#define BP_ABI_MINOR 1u
#define BP_ABI ((BP_ABI_MAJOR << 16) | BP_ABI_MINOR)

/* Size of `type` up to and including field `last`: what to write into struct_size. */
#define BP_SIZE(type, last) ((uint32_t)(offsetof(type, last) + sizeof(((type *)0)->last)))
/* Element i of a bp_span or bp_array, by the writer's stride. */
#define BP_AT(type, span, i) ((const type *)(const void *)((const char *)(span)->first + (size_t)(i) * (span)->stride))
#define BP_AT_OUT(type, array, i) ((type *)(void *)((char *)(array)->first + (size_t)(i) * (array)->stride))
/* Is member m of the struct at p inside the bytes its writer knew? BP_HAS adds: and not null. */
#define BP_KNOWS(p, m) ((p)->struct_size >= (size_t)((const char *)(&(p)->m + 1) - (const char *)(p)))
#define BP_HAS(p, m) (BP_KNOWS(p, m) && (p)->m != NULL)

/* ---- values ---------------------------------------------------------------------------------------------------------- */

typedef int32_t bp_code;
enum {
    BP_OK = 0,
    BP_INVALID = 1,          /* the caller broke a rule stated here: a bug, do not retry                                  */
    BP_UNSUPPORTED = 2,      /* well formed, but this module or device does not do it: ask another                        */
    BP_VERSION = 3,          /* the two sides cannot talk                                                                 */
    BP_NOT_FOUND = 4,        /* file, device, system library, symbol, option                                              */
    BP_DENIED = 5,           /* permission, sandbox, policy                                                               */
    BP_NO_HOST_MEMORY = 6,
    BP_NO_DEVICE_MEMORY = 7, /* may succeed after eviction                                                                */
    BP_DEVICE_LOST = 8,      /* every later call on that device answers this, promptly; close it and open it again        */
    BP_TIMEOUT = 9,
    BP_CANCELLED = 10,
    BP_STALE = 11,           /* saved program or cache entry: well formed, made for other versions                        */
    BP_CORRUPT = 12,
    BP_INTERNAL = 13,
    BP_BUSY = 14             /* still in use: the text names by what                                                       */
};

/* Memory of the caller; the module only writes into it. Layout frozen for all majors: it must work when nothing else does.
 * The text says what was attempted, on what, why it failed and what to do. A null bp_error pointer is allowed everywhere. */
typedef struct bp_error {
    uint32_t struct_size;
    bp_code code;
    int64_t native;  /* VkResult, CUresult, cl_int, errno: as the driver gave it                                          */
    char *text;      /* may be null                                                                                       */
    size_t capacity; /* bytes at text, the terminating zero included                                                      */
} bp_error;

typedef struct bp_span { /* `count` records to read, `stride` bytes apart                                                 */
    const void *first;
    uint32_t count;
    uint32_t stride;
} bp_span;

typedef struct bp_array { /* room for `count` records, `stride` bytes apart, memory of the caller                         */
    void *first;
    uint32_t count;
    uint32_t stride;
} bp_array;

typedef struct bp_blob {
    const void *data;
    size_t size;
} bp_blob;

typedef struct bp_module bp_module; /* one per open(): the same file may be opened by several contexts                    */
typedef struct bp_device bp_device;
typedef struct bp_buffer bp_buffer;
typedef struct bp_program bp_program;
typedef struct bp_fence bp_fence; /* a timeline: a 64-bit value that only grows                                           */

/* Element types. Block types hold 32 values along the last axis; their bytes are those of GGUF (q8_0: 34, q4_0: 18 a block).*/
enum {
    BP_DTYPE_UNKNOWN = 0,
    BP_F32 = 1,
    BP_F16 = 2,
    BP_BF16 = 3,
    BP_F64 = 4,
    BP_I8 = 5,
    BP_U8 = 6,
    BP_I16 = 7,
    BP_U16 = 8,
    BP_I32 = 9,
    BP_I64 = 10,
    BP_BOOL = 11, /* one byte, 0 or 1                                                                                     */
    BP_Q8_0 = 12,
    BP_Q4_0 = 13
};

/* ---- what the module gets from its host ------------------------------------------------------------------------------ */

enum { BP_LOG_DEBUG = 0, BP_LOG_INFO = 1, BP_LOG_WARNING = 2, BP_LOG_ERROR = 3 };

/* All functions: [any]. The table and `self` stay valid until close() of the module returned. */
typedef struct bp_host {
    uint32_t struct_size;
    uint32_t abi; /* BP_ABI of the host: the first eight bytes are frozen for all majors                                  */
    void *self;   /* first argument of everything below                                                                   */
    void (*log)(void *self, uint32_t level, const char *text);
    /* Options as text: "backend.name", option("cpu.threads") -> "4"; and "host.cpu-mask", CPU features that must not be
     * used ("avx512f,avx2"). Null if not set. Lives until the next call on this thread.                                  */
    const char *(*option)(void *self, const char *name);
    void *(*allocate)(void *self, size_t size, size_t alignment); /* null: no memory                                      */
    void (*release)(void *self, void *memory);
    /* Kernel cache: the host frames, hashes, locks, evicts. One call, so no size race. Absent: always a miss. `value` stays
     * readable until cache_done(lease). cache_reject: "the driver did not like this one"; it is never served again.      */
    bp_code (*cache_get)(void *self, bp_blob key, bp_blob *value, void **lease);
    void (*cache_done)(void *self, void *lease);
    void (*cache_put)(void *self, bp_blob key, bp_blob value);
    void (*cache_reject)(void *self, bp_blob key);
    /* Run body(arg, i) for i in [0, n) on the application's own threads; returns when all ran. Absent: own threads.      */
    void (*parallel)(void *self, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg);
    const void *(*extension)(void *self, const char *id); /* optional host tables; null: no such table                    */
} bp_host;

/* ---- devices --------------------------------------------------------------------------------------------------------- */

enum {
    BP_KIND_UNKNOWN = 0,
    BP_KIND_CPU = 1,
    BP_KIND_INTEGRATED = 2,
    BP_KIND_DISCRETE = 3,
    BP_KIND_VIRTUAL = 4,
    BP_KIND_ACCELERATOR = 5,
    BP_KIND_SOFTWARE = 6 /* emulates another kind of device on the CPU, or is an oracle: chosen last                      */
};

enum { BP_ID_UUID = 1u, BP_ID_PCI = 2u, BP_ID_LUID = 4u };

/* capabilities */
enum {
    BP_CAN_IMPORT_HOST = 1u, /* buffer_import. A host uses it unasked where the first heap is BP_MEM_UNIFIED, and copies elsewhere  */
    BP_CAN_MAP = 2u,
    BP_CAN_ASYNC = 4u,
    BP_CAN_SAVE = 8u,
    BP_CAN_PEER = 16u,
    BP_CAN_CHEAP_REBIND = 32u, /* without it, bind the same buffers each time where possible (a captured CUDA graph)      */
    BP_CAN_SYMBOLS = 64u       /* compiles graphs with symbolic dimensions; without it the host compiles per size         */
};

/* What is known without opening the device: no context, no queue. Strings live until the module is closed. */
typedef struct bp_device_info {
    uint32_t struct_size;
    uint32_t kind;           /* BP_KIND_*                                                                                 */
    uint64_t id;             /* stable while the module is open; not an index                                             */
    const char *name;        /* the chip, as people know it                                                               */
    const char *driver;      /* driver name and version; null: no driver                                                  */
    uint32_t identity_known; /* BP_ID_*                                                                                   */
    uint32_t vendor;         /* PCI vendor, 0 if none                                                                     */
    uint8_t uuid[16];
    uint8_t luid[8];
    uint32_t pci_domain, pci_bus, pci_device, pci_function;
    uint64_t fingerprint[2]; /* changes when compiled programs stop being valid: driver, firmware, module build           */
    uint64_t capabilities;   /* BP_CAN_*                                                                                  */
    uint64_t memory_total;   /* bytes; 0: not known                                                                       */
    uint64_t memory_free;    /* bytes at the time of the call; 0: not known                                               */
    uint64_t max_buffer;     /* largest single buffer in bytes; 0: not known                                              */
    uint64_t dtypes;         /* bit (1 << BP_F32) and so on: element types some op computes with                          */
    uint32_t units;          /* hardware threads, compute units; 0: not known                                             */
    uint32_t reserved;
    const char *features; /* space-separated: what the kernels of this module use here ("avx2 fma"); null: none           */
    const char *warning;  /* why it is listed but should not be chosen; null: none                                        */
    const char *memory_source; /* 1.1: who says the memory figures ("VK_EXT_memory_budget", "cgroup limit"); null: unsaid */
} bp_device_info;

enum { BP_MEM_EXACT = 1u, BP_MEM_BUDGET = 2u, BP_MEM_UNIFIED = 4u, BP_MEM_HOST_VISIBLE = 8u };

typedef struct bp_heap { /* asked for again whenever a plan is made: it changes under our feet                            */
    uint32_t struct_size;
    uint32_t flags; /* BP_MEM_*; neither EXACT nor BUDGET: the driver did not say, do not plan with it                    */
    uint64_t total, available, used_by_us, largest_block, alignment;
} bp_heap;

/* A typed option of an open device, for example the CPU's `threads`. */
enum { BP_OPTION_UNKNOWN = 0, BP_OPTION_BOOL = 1, BP_OPTION_INT = 2, BP_OPTION_FLOAT = 3, BP_OPTION_TEXT = 4 };

typedef struct bp_option {
    uint32_t struct_size;
    uint32_t type;                    /* BP_OPTION_*                                                                      */
    const char *name;                 /* lower case, dashes                                                               */
    const char *help;                 /* one sentence; ignored by option_set                                              */
    int64_t integer;                  /* value of BOOL and INT                                                            */
    int64_t integer_least, integer_most; /* range of INT; both zero: no range stated. Ignored by option_set               */
    double number;                    /* value of FLOAT                                                                   */
    const char *text;                 /* value of TEXT                                                                    */
} bp_option;

/* ---- a graph: plain data, so the host can hash, save and replay it ---------------------------------------------------
 * Tensors are dense and row-major (last axis fastest) wherever the two sides meet; inside a program a device lays them out as
 * it likes. A tensor is written by at most one node (single assignment); nodes stand in an order that can be executed.
 * Every dimension is stated, those of temporaries too: a module needs no shape rules. Op ids, attribute ids and their meaning
 * are in ops.h. */

enum { BP_MAX_RANK = 8 };

enum {
    BP_ROLE_TEMPORARY = 0, /* lives in the workspace                                                                      */
    BP_ROLE_INPUT = 1,     /* bound for each run                                                                          */
    BP_ROLE_OUTPUT = 2,    /* bound for each run                                                                          */
    BP_ROLE_WEIGHT = 3,    /* bound for each run, same content each time; may need pack() first                           */
    BP_ROLE_CONSTANT = 4,  /* small, its bytes travel in the graph; may be folded                                         */
    BP_ROLE_STATE = 5      /* bound for each run and kept between runs: recurrent state, key/value cache                  */
};

typedef struct bp_tensor {
    uint32_t struct_size;
    uint32_t dtype; /* BP_F32 ...                                                                                         */
    uint32_t role;  /* BP_ROLE_*                                                                                          */
    uint32_t rank;  /* 0 (a scalar) to BP_MAX_RANK                                                                        */
    int64_t dim[BP_MAX_RANK]; /* >= 0: fixed;  -(k + 1): symbol k                                                         */
    uint64_t content;         /* WEIGHT: the host's name for the bytes, 0 if it has none                                  */
    bp_blob data;             /* CONSTANT only                                                                            */
    const char *name;         /* for messages; may be null; not part of the graph's identity                              */
    uint32_t state_in;        /* role STATE that a node writes: 1 + index of the STATE tensor it updates in place; else 0 */
    uint32_t reserved;
} bp_tensor;

typedef struct bp_symbol { /* a dimension known only at run                                                               */
    uint32_t struct_size;
    uint32_t multiple_of; /* 0 reads as 1                                                                                 */
    int64_t least, most, likely;
} bp_symbol;

enum { BP_ATTRIBUTE_INT = 1, BP_ATTRIBUTE_FLOAT = 2, BP_ATTRIBUTE_INTS = 3 };

typedef struct bp_attribute {
    uint32_t struct_size;
    uint32_t id;   /* BP_ATTR_* of ops.h                                                                                  */
    uint32_t type; /* BP_ATTRIBUTE_*                                                                                      */
    uint32_t reserved;
    int64_t integer;
    double number;
    bp_blob integers; /* of int64_t                                                                                       */
} bp_attribute;

typedef struct bp_node {
    uint32_t struct_size;
    uint32_t op;                    /* BP_OP_* of ops.h                                                                   */
    uint32_t input, inputs;         /* range of `edges`                                                                   */
    uint32_t output, outputs;       /* range of `edges`                                                                   */
    uint32_t attribute, attributes; /* range of `attributes`                                                              */
    const char *name;               /* for messages; may be null                                                          */
} bp_node;

#define BP_NO_TENSOR UINT32_MAX /* an edge that stands for an optional input not given                                    */

typedef struct bp_graph {
    uint32_t struct_size;
    uint32_t reserved;
    bp_span tensors;    /* of bp_tensor                                                                                   */
    bp_span nodes;      /* of bp_node                                                                                     */
    bp_span attributes; /* of bp_attribute                                                                                */
    bp_span symbols;    /* of bp_symbol                                                                                   */
    bp_span edges;      /* of uint32_t: tensor indices, or BP_NO_TENSOR                                                   */
} bp_graph;

enum {
    BP_WHY_NONE = 0,
    BP_WHY_OP = 1,
    BP_WHY_ATTRIBUTE = 2,
    BP_WHY_DTYPE = 3,
    BP_WHY_SHAPE = 4,
    BP_WHY_SYMBOLIC = 5,
    BP_WHY_LIMIT = 6,
    BP_WHY_DRIVER = 7
};

typedef struct bp_answer { /* one per node                                                                                */
    uint32_t struct_size;
    bp_code code;        /* BP_OK or BP_UNSUPPORTED                                                                       */
    uint32_t fused_with; /* 1 + index of the node it only works together with; 0: alone                                   */
    uint32_t reason;     /* BP_WHY_*                                                                                      */
    uint64_t cost_ns;    /* 0: not stated                                                                                 */
} bp_answer;

/* ---- programs -------------------------------------------------------------------------------------------------------- */

enum {
    BP_COMPILE_PLAN_ONLY = 1u, /* no device memory, no kernel built: only program_info may be asked                       */
    BP_COMPILE_FAST = 2u,      /* lowest latency to the first run; a second compile may follow in background              */
    BP_COMPILE_MEASURE = 4u    /* may run candidates on the device and remember the winner                                */
};

enum {
    BP_MATH_DEFAULT = 0, /* results within the bounds of the conformance table (fast algorithms such as Winograd allowed) */
    BP_MATH_STRICT = 1,  /* each output is the plain sum of products in float32 (or better), any order                    */
    BP_MATH_RELAXED = 2  /* half-precision arithmetic allowed                                                             */
};

typedef struct bp_compile {
    uint32_t struct_size;
    uint32_t flags;                  /* BP_COMPILE_*                                                                      */
    uint64_t workspace_limit;        /* bytes, 0: none. Unable: BP_NO_DEVICE_MEMORY                                       */
    const volatile uint32_t *cancel; /* non-zero: stop soon with BP_CANCELLED; may be null                                */
    uint32_t math;                   /* BP_MATH_*                                                                         */
    uint32_t reserved;
} bp_compile;

/* A tensor to bind: each INPUT, OUTPUT, WEIGHT and STATE of the graph that the program uses. */
typedef struct bp_slot {
    uint32_t struct_size;
    uint32_t tensor; /* index in the graph                                                                                */
    uint64_t bytes;  /* to provide, at the symbols' most                                                                  */
    uint64_t alignment;
    uint64_t layout; /* 0: plain row-major bytes. Else (WEIGHT only) pack() first; equal numbers for equal content are
                        interchangeable between programs of the same device                                               */
} bp_slot;

typedef struct bp_program_info {
    uint32_t struct_size;
    uint32_t flags;
    uint64_t workspace_bytes, workspace_alignment; /* lent by the host for one run: programs can share it                 */
    uint64_t resident_bytes;                       /* device memory the program itself holds: code, folded constants      */
    uint64_t host_bytes;
    uint64_t compile_ns;
    uint32_t kernels, cache_hits;
    bp_span slots;       /* of bp_slot; lives as long as the program                                                      */
    const char *summary; /* for people: what was fused and chosen, one step a line; null: nothing to say                  */
} bp_program_info;

typedef struct bp_binding {
    uint32_t struct_size;
    uint32_t tensor; /* index in the graph                                                                                */
    bp_buffer *buffer;
    uint64_t offset, bytes;
} bp_binding;

typedef struct bp_point {
    bp_fence *fence;
    uint64_t value;
} bp_point;

typedef struct bp_run {
    uint32_t struct_size;
    uint32_t reserved;
    bp_span bindings; /* of bp_binding: each slot once                                                                    */
    bp_span symbols;  /* of int64_t: the value of each symbol                                                             */
    bp_buffer *workspace; /* null when workspace_bytes is 0                                                               */
    uint64_t workspace_offset;
    bp_span wait;    /* of bp_point: any fence of this device                                                             */
    bp_point signal; /* fence null: the call returns when the work is done                                                */
    const volatile uint32_t *cancel; /* non-zero: stop soon with BP_CANCELLED, outputs undefined; may be null             */
} bp_run;

typedef struct bp_copy { /* from one of (buffer, host) to one of (buffer, host)                                           */
    uint32_t struct_size;
    uint32_t reserved;
    bp_buffer *from_buffer;
    const void *from_host;
    uint64_t from_offset;
    bp_buffer *to_buffer;
    void *to_host;
    uint64_t to_offset;
    uint64_t bytes;
    bp_span wait;    /* of bp_point                                                                                       */
    bp_point signal; /* fence null: the call returns when the copy is done                                                */
} bp_copy;

/* ---- what the host gets from the module ------------------------------------------------------------------------------
 * Required functions are marked *. What an absent one means: no heaps: do not plan with memory figures; no options: none;
 * no pack: all slots are plain; no save/check/load: programs are not stored; no buffer_import: host copies; no buffer_map:
 * copies only; no fence_create: run and copy return when done; no extension: none. */

typedef struct bp_module_api {
    uint32_t struct_size;
    uint32_t abi; /* frozen for all majors                                                                                */
    /* * Cheap: no device is touched. The host table outlives the module.                                                 */
    bp_code (*open)(const bp_host *host, bp_module **out, bp_error *error);
    /* * All devices are closed by now. Joins threads.                                                                    */
    void (*close)(bp_module *module);
    const void *(*extension)(bp_module *module, const char *id); /* [any] optional tables by name                         */
    /* * [any] Fill up to infos->count records of bp_device_info; *count is how many there are. Zero devices is no error:
     *   say in `error->text` why there are none. Beside devices it may say what else is wrong: a driver that is broken.  */
    bp_code (*list)(bp_module *module, const bp_array *infos, uint32_t *count, bp_error *error);
    bp_code (*device_open)(bp_module *module, uint64_t id, bp_device **out, bp_error *error); /* * may be slow            */
    void (*device_close)(bp_device *device); /* * everything made on it is closed by now                                  */
    bp_code (*heaps)(bp_device *device, const bp_array *heaps, uint32_t *count, bp_error *error); /* [any]                */
    /* [any] Current values; and set one: takes effect for runs that start later.                                         */
    bp_code (*options)(bp_device *device, const bp_array *options, uint32_t *count, bp_error *error);
    bp_code (*option_set)(bp_device *device, const bp_option *option, bp_error *error);
    /* * [any] No side effect. `answers` has room for one bp_answer per node.                                             */
    bp_code (*query)(bp_device *device, const bp_graph *graph, const bp_array *answers, bp_error *error);
    /* * [any] The graph is read during the call only. BP_UNSUPPORTED names the node in error->text.                      */
    bp_code (*compile)(bp_device *device, const bp_graph *graph, const bp_compile *how, bp_program **out, bp_error *error);
    bp_code (*program_info)(bp_program *program, bp_program_info *info, bp_error *error); /* * [any]                      */
    /* [device] Plain row-major bytes in `copy`'s source become the slot's layout in its destination.                     */
    bp_code (*pack)(bp_program *program, uint32_t slot, const bp_copy *copy, bp_error *error);
    bp_code (*run)(bp_program *program, const bp_run *run, bp_error *error); /* * [device]                                */
    void (*program_close)(bp_program *program);                              /* * no run of it is in flight               */
    bp_code (*save)(bp_program *program, bp_code (*sink)(void *arg, bp_blob bytes), void *arg, bp_error *error);
    bp_code (*check)(bp_device *device, bp_blob header, bp_error *error); /* [any] OK, STALE or CORRUPT; builds nothing   */
    bp_code (*load)(bp_device *device, bp_blob saved, bp_program **out, bp_error *error);
    /* * [any] heap: index from heaps(), 0 the device's own. Content is undefined. size may be 0.                         */
    bp_code (*buffer_create)(bp_device *device, uint32_t heap, uint64_t size, bp_buffer **out, bp_error *error);
    /* [any] Use `size` bytes at `memory` in place. BP_UNSUPPORTED: alignment or kind does not suit, copy instead. The memory
     * stays the caller's and outlives the buffer.                                                                        */
    bp_code (*buffer_import)(bp_device *device, void *memory, uint64_t size, bp_buffer **out, bp_error *error);
    /* [any] The pointer is valid until unmap; no run that touches the range is in flight meanwhile.                      */
    bp_code (*buffer_map)(bp_buffer *buffer, uint64_t offset, uint64_t size, void **out, bp_error *error);
    bp_code (*buffer_unmap)(bp_buffer *buffer, bp_error *error);
    void (*buffer_close)(bp_buffer *buffer);                                    /* *                                      */
    bp_code (*copy)(bp_device *device, const bp_copy *copy, bp_error *error);   /* * [device]                             */
    bp_code (*fence_create)(bp_device *device, bp_fence **out, bp_error *error);
    bp_code (*fence_read)(bp_fence *fence, uint64_t *value, bp_error *error);   /* [any]                                  */
    bp_code (*fence_wait)(bp_fence *fence, uint64_t value, uint64_t timeout_ns, bp_error *error); /* [any]                */
    void (*fence_close)(bp_fence *fence);
} bp_module_api;

/* The one exported symbol, `backplane_module`. A pure function: no allocation, no device, no thread, any time, any thread.
 * `host_abi` lets a module that speaks two majors pick a table; null: it speaks none of the host's. */
typedef const bp_module_api *(*backplane_module_fn)(uint32_t host_abi);

/* A linked-in module is this struct; a file carries the same descriptor JSON in a note and exports `entry`. */
typedef struct bp_static_module {
    uint32_t struct_size;
    uint32_t flags; /* BP_NOTE_* of note.h                                                                                */
    const char *descriptor;
    backplane_module_fn entry;
} bp_static_module;

#ifdef __cplusplus
}
#endif
#endif
