/* Backplane for C and everything that speaks C: find devices, choose one, build a graph, run it. docs/c-api.md has an example.
 *
 * Every function that can fail returns a bp_code and writes a sentence into `error` (memory of the caller; may be null):
 *     char text[512];
 *     bp_error error = {BP_SIZE(bp_error, capacity), 0, 0, text, sizeof text};
 * Handles are made by a *_create or *_open function and given back to the *_destroy or *_close of the same name; null is fine there. What a
 * handle was made from may be given back before it. Every handle may be used from any thread: contexts, devices, weights and events by any number at
 * a time, graphs and sessions by one; tensors by any number that read, and who writes one that another thread uses orders the two himself.
 * Structs begin with struct_size, set with BP_SIZE by whoever owns the memory (module.h, R2). No exception leaves. */
#ifndef BACKPLANE_BACKPLANE_H
#define BACKPLANE_BACKPLANE_H

#include "backplane/module.h"
#include "backplane/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(BACKPLANE_BUILDING_SHARED) && defined(_WIN32)
#define BACKPLANE_API __declspec(dllexport)
#elif defined(BACKPLANE_SHARED) && defined(_WIN32)
#define BACKPLANE_API __declspec(dllimport)
#elif defined(__GNUC__)
#define BACKPLANE_API __attribute__((visibility("default")))
#else
#define BACKPLANE_API
#endif

typedef struct backplane_context backplane_context; /* what was found on this machine */
typedef struct backplane_device backplane_device;   /* an open device                 */
typedef struct backplane_graph backplane_graph;
typedef struct backplane_session backplane_session; /* a graph compiled for a device, with its weights */

BACKPLANE_API const char* backplane_version(void); /* "0.1.0" */

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

typedef struct backplane_context_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t skip_defaults;          /* 1: search module_paths only                                                       */
    uint32_t skip_linked_in;         /* 1: no modules that are linked into this program                                   */
    uint32_t skip_environment;       /* 1: do not read BACKPLANE_* variables                                              */
    const char* const* module_paths; /* folders or module files, searched first, UTF-8                                    */
    uint64_t module_path_count;
    const char* device_filter; /* as backplane_device_open takes it                                                 */
    const char* cpu_mask;      /* CPU features to act as if missing, "avx512f,avx2"                                 */
    void (*log)(void* log_arg, uint32_t level, const char* text); /* from any thread; null: silence                        */
    void* log_arg;
    uint32_t probe;            /* first contact in a child process. 0: of what is not known yet; 1: always; 2: never      */
    uint32_t probe_limit_ms;   /* how long a child may take; 0: the default, 10000                                        */
    const char* probe_program; /* backplane-probe; null: the one beside the library's modules                             */
    const char* state_folder;  /* of remembered trials; null: BACKPLANE_STATE_DIR, else the user's cache folder           */
    const char* const* module_names; /* files that no folder shows, "libacme-backplane-cpu.so": docs/discovery.md, Android */
    uint64_t module_name_count;
    const char* cache_folder;  /* of compiled kernels, absolute; null: BACKPLANE_CACHE_DIR, else none                     */
    uint32_t probe_budget_ms;  /* how long all children of one search may take together; 0: the default, 20000            */
    uint32_t reserved;         /* 0 */
    /* Becoming non-zero, from any thread or a signal handler, it ends trials at once: what waited for them answers BP_CANCELLED. May be
       null; outlives the context. */
    const volatile uint32_t* cancel;
    /* Lends threads to modules that compute on the host: calls body(arg, i) once for each i below n, on threads of yours, and returns when
       all are done. From any thread, several at a time. Null: modules use threads of their own. */
    void (*parallel)(void* parallel_arg, uint32_t n, void (*body)(void* arg, uint32_t i), void* arg);
    void* parallel_arg;
    const char* const* options; /* of modules and of the host, as the command line takes them: "cpu.threads=4"            */
    uint64_t option_count;
    uint32_t strict_options;    /* 1: one that nobody takes is BP_INVALID. 0: a note of the report                        */
    uint32_t skip_fault_notes;  /* 1: do not hear of the signals that end the process (docs/discovery.md)                 */
} backplane_context_options;

/* Searches, judges and loads. Succeeds also when nothing was found: the report says why. BP_INVALID: an option; BP_CANCELLED. */
BACKPLANE_API bp_code backplane_context_create(const backplane_context_options* options, backplane_context** out,
                                               bp_error* error);
BACKPLANE_API void backplane_context_destroy(backplane_context* context);
/* Looks again. Open devices stay; those that are gone answer BP_DEVICE_LOST from now on. */
BACKPLANE_API bp_code backplane_context_rescan(backplane_context* context, bp_error* error);
/* Takes a backend's module out of memory until the next rescan. BP_BUSY names the devices, buffers and programs that keep it. */
BACKPLANE_API bp_code backplane_context_unload(backplane_context* context, const char* backend, bp_error* error);

typedef struct backplane_device_info {
    uint32_t struct_size;
    uint32_t kind;                      /* BP_KIND_* */
    uint64_t memory_total, memory_free; /* bytes, 0: not known */
    uint64_t capabilities;              /* BP_CAN_*            */
    uint64_t dtypes;                    /* bits 1 << BP_F32 .. */
    char id[64], backend[64], identity[64];
    char name[256], driver[256], warning[256];
} backplane_device_info;

/* Best first. Fills at most `capacity` records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_context_devices(backplane_context* context, backplane_device_info* infos, uint32_t capacity,
                                                uint32_t* count, bp_error* error);
/* Everything that was searched, found, refused and chosen, and why, as JSON (docs/discovery.md). Writes at most capacity bytes with the
 * terminating zero; *size is what the whole needs. Call with capacity 0 to learn it. */
BACKPLANE_API bp_code backplane_context_report(backplane_context* context, char* json, size_t capacity, size_t* size,
                                               bp_error* error);

/* Why backplane_device_open(context, NULL, ..) takes what it takes, by what is loaded so far: a sentence. As backplane_context_report. */
BACKPLANE_API bp_code backplane_context_why(backplane_context* context, char* text, size_t capacity, size_t* size,
                                            bp_error* error);
/* The folder, UTF-8, where this context remembers what it learnt of the machine; "": nowhere. As backplane_context_report. */
BACKPLANE_API bp_code backplane_context_state_folder(backplane_context* context, char* path, size_t capacity, size_t* size,
                                                     bp_error* error);

#define BACKPLANE_MODULE_LOADED 0u
#define BACKPLANE_MODULE_OUTRANKED 1u /* another module of the same backend is better */
#define BACKPLANE_MODULE_REJECTED 2u
#define BACKPLANE_MODULE_FAILED 3u /* judged good, and loading it went wrong */

typedef struct backplane_module_info { /* a module that the search found, and what became of it; texts end where their room does */
    uint32_t struct_size;
    uint32_t verdict; /* BACKPLANE_MODULE_*                                                                                 */
    uint32_t reason;  /* number of the table in docs/discovery.md; 0: none, it is loaded                                    */
    uint32_t reserved;
    char code[32];    /* the reason by its name there, "cpu-feature-missing"                                                */
    char backend[64], version[64]; /* "": the file does not say                                                             */
    char text[512];   /* a sentence: what was found                                                                         */
    char remedy[512]; /* what to do; may be ""                                                                              */
    char path[1024];  /* UTF-8; "": linked into this program                                                                */
} backplane_module_info;
/* Every module that was found, in the order of the search, so that what is absent says why; loads what was not needed so far. Fills at most `capacity`
 * records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_context_modules(backplane_context* context, backplane_module_info* infos, uint32_t capacity,
                                                uint32_t* count, bp_error* error);

typedef struct backplane_option_problem { /* an option that was given to a context, and that nobody takes */
    uint32_t struct_size;
    uint32_t reserved;
    char name[64], value[256];
    char text[512]; /* "option cpu.threds: cpu has no such option; did you mean 'cpu.threads'?" */
} backplane_option_problem;
/* As far as it is known by now; none with strict_options. Filled as by backplane_context_modules. */
BACKPLANE_API bp_code backplane_context_option_problems(backplane_context* context, backplane_option_problem* problems,
                                                        uint32_t capacity, uint32_t* count, bp_error* error);

/* ---- devices ---------------------------------------------------------------------------------------------------------- */

/* filter: null or "" for the best device, else as docs/discovery.md says: "vulkan:0", "cpu", "discrete", "name=*RTX*", "!cpu". BP_NOT_FOUND says what there
 * is. The same device opened twice is one open device. */
BACKPLANE_API bp_code backplane_device_open(backplane_context* context, const char* filter, backplane_device** out,
                                            bp_error* error);
/* That device, and behind it the best CPU that no filter excludes, for what the first cannot do: what backplane_session_create_with takes. Opens one or
 * two, each to be closed, and sets *count; BP_INVALID where `capacity` is less than 2. */
BACKPLANE_API bp_code backplane_device_open_with_fallback(backplane_context* context, const char* filter,
                                                          backplane_device** devices, uint32_t capacity, uint32_t* count,
                                                          bp_error* error);
BACKPLANE_API void backplane_device_close(backplane_device* device);
BACKPLANE_API bp_code backplane_device_get_info(backplane_device* device, backplane_device_info* info, bp_error* error);
/* An option by name, its value as text: ("threads", "4"), ("profile", "true"). BP_NOT_FOUND names the options there are. */
BACKPLANE_API bp_code backplane_device_set_option(backplane_device* device, const char* name, const char* value,
                                                  bp_error* error);

typedef struct backplane_option { /* of an open device, as it stands now */
    uint32_t struct_size;
    uint32_t type;       /* BP_OPTION_BOOL, _INT, _FLOAT or _TEXT                               */
    int64_t integer;     /* value of a BOOL (0 or 1) and an INT                                 */
    int64_t least, most; /* of an INT; both 0: not stated                                       */
    double number;       /* value of a FLOAT                                                    */
    char name[64];       /* as backplane_device_set_option takes it, and so is value            */
    char value[256];
    char help[512];      /* what it means: a sentence                                           */
} backplane_option;
/* Fills at most `capacity` records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_device_options(backplane_device* device, backplane_option* options, uint32_t capacity,
                                               uint32_t* count, bp_error* error);
/* The memories of the device in bytes (module.h, bp_heap), what graphs are computed in first; none: the module does not say. Filled as by
 * backplane_device_options. */
BACKPLANE_API bp_code backplane_device_heaps(backplane_device* device, bp_heap* heaps, uint32_t capacity, uint32_t* count,
                                             bp_error* error);

typedef struct backplane_holder { /* who holds so much of a device's memory in this process */
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t bytes;
    char name[64];
} backplane_holder;

/* What this process holds of the device's memory, and who, largest first. Fills at most `capacity` records, each with its struct_size set by
 * the caller; *count is how many there are, *held the bytes of all. Each of the two may be null. */
BACKPLANE_API bp_code backplane_device_ledger(backplane_device* device, backplane_holder* holders, uint32_t capacity,
                                              uint32_t* count, uint64_t* held, bp_error* error);

/* From now on this process holds no more of the device's memory than that; 0: what the device gives. docs/memory.md. */
BACKPLANE_API bp_code backplane_device_limit_memory(backplane_device* device, uint64_t bytes, bp_error* error);

/* ---- graphs: ops.h says what each op means ------------------------------------------------------------------------------- */

BACKPLANE_API bp_code backplane_graph_create(backplane_graph** out, bp_error* error);
BACKPLANE_API void backplane_graph_destroy(backplane_graph* graph);
/* Each gives the number of the new tensor in *out. role: BP_ROLE_INPUT, BP_ROLE_WEIGHT or BP_ROLE_STATE. dims: extents, outermost first, 0 and up; rank 0 is a
 * scalar. BP_INVALID: a shape that there is not, an input or state of a name that is taken by one. */
BACKPLANE_API bp_code backplane_graph_tensor(backplane_graph* graph, uint32_t role, const char* name, uint32_t dtype,
                                             const int64_t* dims, uint32_t rank, uint32_t* out, bp_error* error);
/* data: dense and row-major, exactly the bytes of dtype and shape, copied. */
BACKPLANE_API bp_code backplane_graph_constant(backplane_graph* graph, const char* name, uint32_t dtype, const int64_t* dims,
                                               uint32_t rank, const void* data, uint64_t bytes, uint32_t* out,
                                               bp_error* error);
/* inputs: tensors, BP_NO_TENSOR for an optional one left out. attributes: as in module.h; what is not stated has its default.
 * BP_INVALID names the op and the shapes. */
BACKPLANE_API bp_code backplane_graph_add(backplane_graph* graph, uint32_t op, const uint32_t* inputs, uint32_t input_count,
                                          const bp_attribute* attributes, uint32_t attribute_count, uint32_t* out,
                                          bp_error* error);
/* The same for an op of any number of outputs: fills at most `capacity` of `outputs`; *count is how many there are. */
BACKPLANE_API bp_code backplane_graph_add_all(backplane_graph* graph, uint32_t op, const uint32_t* inputs,
                                              uint32_t input_count, const bp_attribute* attributes,
                                              uint32_t attribute_count, uint32_t* outputs, uint32_t capacity,
                                              uint32_t* count, bp_error* error);
/* An Einstein sum of one or two operands, "bqhd,bkhd->bhqk", as the products, transposes and sums that it is (einsum.hpp). BP_INVALID names the equation. */
BACKPLANE_API bp_code backplane_graph_einsum(backplane_graph* graph, const char* equation, const uint32_t* operands,
                                             uint32_t operand_count, uint32_t* out, bp_error* error);
/* The tensor, which a node made, becomes a result under that name. */
BACKPLANE_API bp_code backplane_graph_output(backplane_graph* graph, uint32_t tensor, const char* name, bp_error* error);
/* After each run `state` holds `value`, which is of its dtype and shape. */
BACKPLANE_API bp_code backplane_graph_update(backplane_graph* graph, uint32_t state, uint32_t value, bp_error* error);
/* Shape of a tensor: fills `dims` (room for BP_MAX_RANK) and *rank. */
BACKPLANE_API bp_code backplane_graph_shape(backplane_graph* graph, uint32_t tensor, int64_t* dims, uint32_t* rank,
                                            bp_error* error);
/* Its element type, BP_F32 ... */
BACKPLANE_API bp_code backplane_graph_dtype(backplane_graph* graph, uint32_t tensor, uint32_t* dtype, bp_error* error);

/* What the device says of each node, in the order of their adding: BP_OK or BP_UNSUPPORTED in `code`, BP_WHY_* in `reason`, and why in the room that
 * the caller has at `text`. Fills at most `capacity` records, each with its struct_size set by the caller; *count is how many nodes there are. */
BACKPLANE_API bp_code backplane_graph_query(backplane_graph* graph, backplane_device* device, bp_answer* answers,
                                            uint32_t capacity, uint32_t* count, bp_error* error);

/* ---- sessions --------------------------------------------------------------------------------------------------------- */

/* Gives the bytes of a weight, dense and row-major; they stay readable while the session lives. Null: there is no such weight. */
typedef const void* (*backplane_weight_source)(void* arg, const char* name, uint64_t* bytes);

typedef struct backplane_bytes {
    const char* name; /* of an input or output of the graph      */
    void* data;       /* dense, row-major; inputs are only read  */
    uint64_t bytes;   /* exactly what dtype and shape ask for    */
} backplane_bytes;

/* source may be null for a graph without weights. math: BP_MATH_*. The graph may go. BP_UNSUPPORTED names the nodes, BP_NO_DEVICE_MEMORY who holds what,
 * BP_NOT_FOUND the weight that there is not. */
BACKPLANE_API bp_code backplane_session_create(backplane_device* device, backplane_graph* graph,
                                               backplane_weight_source source, void* arg, uint32_t math,
                                               backplane_session** out, bp_error* error);
BACKPLANE_API void backplane_session_destroy(backplane_session* session);
/* Each input and output of the graph once. Returns when the outputs are written. BP_NOT_FOUND (a name), BP_INVALID (a number of bytes): nothing has run;
 * BP_DEVICE_LOST: no device is left that can do it. *cancel becoming non-zero ends it soon with BP_CANCELLED; may be null. */
BACKPLANE_API bp_code backplane_session_run(backplane_session* session, const backplane_bytes* inputs, uint32_t input_count,
                                            const backplane_bytes* outputs, uint32_t output_count,
                                            const volatile uint32_t* cancel, bp_error* error);

/* ---- tensors on a device ------------------------------------------------------------------------------------------------ */

typedef struct backplane_tensor backplane_tensor;   /* bytes on a device, dense and row-major: (dtype, shape)                */
typedef struct backplane_weights backplane_weights; /* the weights of a model, once on a device for all of its sessions      */
typedef struct backplane_event backplane_event;     /* the end of one submit                                                 */

/* data: its content, of exactly the bytes that dtype and shape have; null: undefined. BP_NO_DEVICE_MEMORY. */
BACKPLANE_API bp_code backplane_tensor_create(backplane_device* device, uint32_t dtype, const int64_t* dims, uint32_t rank,
                                              const void* data, backplane_tensor** out, bp_error* error);
BACKPLANE_API void backplane_tensor_destroy(backplane_tensor* tensor);
/* Each waits for the work that uses the bytes; `bytes` is the whole of the tensor, else BP_INVALID. What the work came to: BP_CANCELLED, BP_DEVICE_LOST. */
BACKPLANE_API bp_code backplane_tensor_read(backplane_tensor* tensor, void* data, uint64_t bytes, bp_error* error);
BACKPLANE_API bp_code backplane_tensor_write(backplane_tensor* tensor, const void* data, uint64_t bytes, bp_error* error);
BACKPLANE_API bp_code backplane_tensor_zero(backplane_tensor* tensor, bp_error* error); /* on the device, not waited for */
/* A part of the first axis, rows first to first + count, which shares the bytes. BP_INVALID outside of it. */
BACKPLANE_API bp_code backplane_tensor_rows(backplane_tensor* tensor, int64_t first, int64_t count, backplane_tensor** out,
                                            bp_error* error);
/* The same bytes under another shape of as many elements. */
BACKPLANE_API bp_code backplane_tensor_reshaped(backplane_tensor* tensor, const int64_t* dims, uint32_t rank,
                                                backplane_tensor** out, bp_error* error);
/* On another device (the same: this one), by way of host memory. */
BACKPLANE_API bp_code backplane_tensor_on(backplane_tensor* tensor, backplane_device* device, backplane_tensor** out,
                                          bp_error* error);
/* dims has room for BP_MAX_RANK; dtype may be null. */
BACKPLANE_API bp_code backplane_tensor_shape(backplane_tensor* tensor, uint32_t* dtype, int64_t* dims, uint32_t* rank,
                                             bp_error* error);

/* What the source gives stays readable while the weights, or a session that was made with them, live. */
BACKPLANE_API bp_code backplane_weights_create(backplane_weight_source source, void* arg, backplane_weights** out,
                                               bp_error* error);
/* The same under a name, by which backplane_device_ledger and errors say whose memory it is: "whisper: weights". */
BACKPLANE_API bp_code backplane_weights_create_named(backplane_weight_source source, void* arg, const char* name,
                                                     backplane_weights** out, bp_error* error);
BACKPLANE_API void backplane_weights_destroy(backplane_weights* weights);

typedef struct backplane_weights_info {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t bytes;           /* of the device's memory                                                                     */
    uint64_t bytes_in_place;  /* of the source's memory, which the device reads where it lies                              */
    uint64_t plans_compiled, plans_reused, plans_kept; /* programs; times one was there; sizes that are there now         */
} backplane_weights_info;
BACKPLANE_API bp_code backplane_weights_get_info(backplane_weights* weights, backplane_device* device,
                                                 backplane_weights_info* info, bp_error* error);

typedef struct backplane_session_options { /* a null pointer to this, or zeros in it: the defaults. What each means in full: SessionOptions in runtime.hpp */
    uint32_t struct_size;
    uint32_t math;            /* BP_MATH_*                                                                                  */
    uint32_t streaming;       /* weights that are copied for each run. 0: where they have no room; 1: never; 2: always      */
    uint32_t plans_kept;      /* sizes, those met last, whose programs stay with the weights. 0: 8; UINT32_MAX: none        */
    uint64_t budget;          /* bytes of the first device that weights and all else may take; 0: what it has               */
    uint64_t weight_budget;   /* the same by weights that stay and the ring of the others; 0: `budget` decides              */
    uint64_t workspace_limit; /* bytes; 0: none                                                                             */
    uint32_t rows;            /* 2 and up: so many devices, the first, work on each run together                            */
    uint32_t skip_op_checks;  /* 1: no cases are run of the ops at a driver's first use                                     */
    uint32_t stay;            /* 1: a device without memory for its part is an error, and hands nothing over                */
    uint32_t read_at_first_run; /* 1: weights are read and brought with the first run                                       */
    const volatile uint32_t* cancel; /* becoming non-zero it ends the making; may be null                                   */
    const uint32_t* device_of; /* of each node, in the order of their adding, the place of its device among those given; null: the first, as far as it can.
                                  Only read by the call, as is shares. Without streaming, budgets and state                  */
    uint64_t device_of_count;  /* as many as the graph has nodes; 0: null                                                    */
    const double* shares;      /* of a backplane_pipeline: how much of the work each part has, above 0 and up to 1; null: as much as the others */
    uint64_t share_count;      /* the parts; 0: null                                                                         */
    uint32_t rounds;           /* of a backplane_pipeline: so many parts for each device, in turns; 0: 1. UINT32_MAX: as many as suit the graph's work */
    uint32_t reserved;
} backplane_session_options;
/* Devices best first: the next ones do what the first does not support, and what remains when it is lost (docs/several-devices.md).
 * weights may be null for a graph without any. */
BACKPLANE_API bp_code backplane_session_create_shared(backplane_device* const* devices, uint32_t device_count,
                                                      backplane_graph* graph, backplane_weights* weights, uint32_t math,
                                                      backplane_session** out, bp_error* error);

BACKPLANE_API bp_code backplane_session_create_with(backplane_device* const* devices, uint32_t device_count,
                                                    backplane_graph* graph, backplane_weights* weights,
                                                    const backplane_session_options* options, backplane_session** out,
                                                    bp_error* error);

typedef struct backplane_session_value { /* an input, output or state of a session */
    uint32_t struct_size;
    uint32_t role; /* BP_ROLE_INPUT, BP_ROLE_OUTPUT or BP_ROLE_STATE                                                         */
    uint32_t dtype, rank;
    int64_t dims[BP_MAX_RANK];
    uint64_t bytes; /* of dtype and shape                                                                                    */
    char name[256];
} backplane_session_value;
/* What a run wants and gives, and the states: those of the graph, but where `rows` cuts an input into "x (1 of 2)" and "x (2 of 2)". Fills at most `capacity`
 * records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_session_values(backplane_session* session, backplane_session_value* values,
                                               uint32_t capacity, uint32_t* count, bp_error* error);

typedef struct backplane_value { /* an input or an output: in host memory, or where tensor is not null on a device         */
    const char* name;
    void* data;     /* inputs are only read; the caller's until the event is done                                           */
    uint64_t bytes; /* exactly what dtype and shape ask for                                                                 */
    backplane_tensor* tensor; /* of the graph's dtype and shape; of an output: written into. May be given on at once        */
} backplane_value;

/* Returns when the work is under way, with the errors of backplane_session_run for what nothing runs of. out null: when it is done. What goes wrong
 * later the event says. Letting an event go cancels nothing. */
BACKPLANE_API bp_code backplane_session_submit(backplane_session* session, const backplane_value* inputs,
                                               uint32_t input_count, const backplane_value* outputs, uint32_t output_count,
                                               const volatile uint32_t* cancel, backplane_event** out, bp_error* error);
/* Returns when every output is where it was wanted; the same at each call: BP_CANCELLED (outputs undefined), BP_DEVICE_LOST, BP_NO_DEVICE_MEMORY. */
BACKPLANE_API bp_code backplane_event_wait(backplane_event* event, bp_error* error);
BACKPLANE_API bp_code backplane_event_wait_for(backplane_event* event, uint64_t nanoseconds, bp_error* error); /* BP_TIMEOUT */
/* Over the edges of devices and the host, and of these from device to device without it; exact once it is done. Each may be null. */
BACKPLANE_API bp_code backplane_event_bytes(backplane_event* event, uint64_t* moved, uint64_t* peer, bp_error* error);
BACKPLANE_API void backplane_event_destroy(backplane_event* event);

/* A state by its name, shared; BP_NOT_FOUND. BP_INVALID: a tensor of another dtype or shape. A session that is given the state of another goes on from there,
 * and nothing is copied. */
BACKPLANE_API bp_code backplane_session_state(backplane_session* session, const char* name, backplane_tensor** out,
                                              bp_error* error);
BACKPLANE_API bp_code backplane_session_set_state(backplane_session* session, const char* name, backplane_tensor* tensor,
                                                  bp_error* error);
BACKPLANE_API bp_code backplane_session_reset_state(backplane_session* session, bp_error* error); /* zero */
/* For now done with: waits, and gives back what the session takes of its devices but states, programs and tensors. The next run brings it again. */
BACKPLANE_API bp_code backplane_session_release(backplane_session* session, bp_error* error);
/* What is not where it was wanted, and why: a line each. As backplane_context_report. */
BACKPLANE_API bp_code backplane_session_notes(backplane_session* session, char* text, size_t capacity, size_t* size,
                                              bp_error* error);
typedef struct backplane_stage_runs { /* how often a device has run a stage of a plan */
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t nodes; /* of the stage */
    uint64_t runs;
    char device[64]; /* "cpu:0"                    */
    char ops[256];   /* "Conv x 12, Relu x 12"     */
} backplane_stage_runs;
/* Of this session so far, those that ran; any thread. Filled as by backplane_session_values. */
BACKPLANE_API bp_code backplane_session_runs(backplane_session* session, backplane_stage_runs* stages, uint32_t capacity,
                                             uint32_t* count, bp_error* error);
/* What runs where and how many bytes it takes, in lines or as JSON (docs/cli.md, plan). As backplane_context_report. */
BACKPLANE_API bp_code backplane_session_plan(backplane_session* session, uint32_t as_json, char* text, size_t capacity,
                                             size_t* size, bp_error* error);

/* Ops, attributes and element types by name ("Conv" or "conv", "strides", "f16"): 0 when there is none; and their names. */
BACKPLANE_API uint32_t backplane_op(const char* name);
BACKPLANE_API const char* backplane_op_name(uint32_t op);
BACKPLANE_API uint32_t backplane_attribute(const char* name);
BACKPLANE_API const char* backplane_attribute_name(uint32_t attribute);
BACKPLANE_API uint32_t backplane_dtype(const char* name);
BACKPLANE_API const char* backplane_dtype_name(uint32_t dtype);

#ifdef __cplusplus
}
#endif
#endif
