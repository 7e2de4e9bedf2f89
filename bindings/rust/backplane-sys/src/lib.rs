//! The C API of Backplane as it is: `include/backplane/backplane.h`, `cost.h`, `fit.h`, `pipeline.h`, `tune.h` and `verify.h`, and `model.h`, `quantize.h`,
//! `transcriber.h`, `upscaler.h` and `weight_file.h`, whose
//! comments hold here. The crate `backplane` is what programs use; this one is what it stands on.
//!
//! The lists below are written by hand and checked in. `tests/headers.rs` compiles them against the headers: sizes, offsets, values, the type of
//! each function, and that nothing of the headers is left out.
#![no_std]
#![allow(non_camel_case_types, non_upper_case_globals)]
#![deny(missing_docs)]

extern crate alloc;

use core::ffi::c_void;
use core::marker::{PhantomData, PhantomPinned};
use core::sync::atomic::AtomicU32;

/// C's `char` of the platforms that Backplane is built for, as `std::os::raw` has it.
pub use self::platform::c_char;
mod platform {
    #[cfg(any(target_arch = "aarch64", target_arch = "arm", target_arch = "riscv64"))]
    #[cfg(not(target_vendor = "apple"))]
    /// Unsigned here.
    pub type c_char = u8;
    #[cfg(any(not(any(target_arch = "aarch64", target_arch = "arm", target_arch = "riscv64")), target_vendor = "apple"))]
    /// Signed here.
    pub type c_char = i8;
}

#[macro_use]
mod lists;
mod ops;

/// `BP_OK` or why not.
pub type bp_code = i32;
/// `const volatile uint32_t` of the headers: becoming non-zero, from any thread, it ends a call.
pub type bp_flag = AtomicU32;
/// Gives the bytes of a weight; null: there is no such weight.
pub type backplane_weight_source =
    Option<unsafe extern "C" fn(arg: *mut c_void, name: *const c_char, bytes: *mut u64) -> *const c_void>;

/// `BP_NO_TENSOR`: an optional input that is left out.
pub const BP_NO_TENSOR: u32 = u32::MAX;

constants! {
    BP_OK = 0, BP_INVALID = 1, BP_UNSUPPORTED = 2, BP_VERSION = 3, BP_NOT_FOUND = 4, BP_DENIED = 5, BP_NO_HOST_MEMORY = 6,
    BP_NO_DEVICE_MEMORY = 7, BP_DEVICE_LOST = 8, BP_TIMEOUT = 9, BP_CANCELLED = 10, BP_STALE = 11, BP_CORRUPT = 12, BP_INTERNAL = 13,
    BP_BUSY = 14: bp_code = CODES;
    BP_DTYPE_UNKNOWN = 0, BP_F32 = 1, BP_F16 = 2, BP_BF16 = 3, BP_F64 = 4, BP_I8 = 5, BP_U8 = 6, BP_I16 = 7, BP_U16 = 8, BP_I32 = 9,
    BP_I64 = 10, BP_BOOL = 11, BP_Q8_0 = 12, BP_Q4_0 = 13, BP_Q4_1 = 14, BP_Q5_0 = 15, BP_Q5_1 = 16, BP_Q2_K = 17, BP_Q3_K = 18,
    BP_Q4_K = 19, BP_Q5_K = 20, BP_Q6_K = 21, BP_IQ4_NL = 22, BP_IQ4_XS = 23, BP_Q8_K = 24: u32 = DTYPES;
    BP_LOG_DEBUG = 0, BP_LOG_INFO = 1, BP_LOG_WARNING = 2, BP_LOG_ERROR = 3: u32 = LOG_LEVELS;
    BP_KIND_UNKNOWN = 0, BP_KIND_CPU = 1, BP_KIND_INTEGRATED = 2, BP_KIND_DISCRETE = 3, BP_KIND_VIRTUAL = 4, BP_KIND_ACCELERATOR = 5,
    BP_KIND_SOFTWARE = 6: u32 = KINDS;
    BP_CAN_IMPORT_HOST = 1, BP_CAN_MAP = 2, BP_CAN_ASYNC = 4, BP_CAN_SAVE = 8, BP_CAN_PEER = 16, BP_CAN_CHEAP_REBIND = 32,
    BP_CAN_SYMBOLS = 64: u64 = CAPABILITIES;
    BP_ROLE_TEMPORARY = 0, BP_ROLE_INPUT = 1, BP_ROLE_OUTPUT = 2, BP_ROLE_WEIGHT = 3, BP_ROLE_CONSTANT = 4, BP_ROLE_STATE = 5: u32 = ROLES;
    BP_ATTRIBUTE_INT = 1, BP_ATTRIBUTE_FLOAT = 2, BP_ATTRIBUTE_INTS = 3: u32 = ATTRIBUTE_TYPES;
    BP_MATH_DEFAULT = 0, BP_MATH_STRICT = 1, BP_MATH_RELAXED = 2: u32 = MATHS;
    BP_WHY_NONE = 0, BP_WHY_OP = 1, BP_WHY_ATTRIBUTE = 2, BP_WHY_DTYPE = 3, BP_WHY_SHAPE = 4, BP_WHY_SYMBOLIC = 5, BP_WHY_LIMIT = 6,
    BP_WHY_DRIVER = 7: u32 = WHYS;
    BP_MEM_EXACT = 1, BP_MEM_BUDGET = 2, BP_MEM_UNIFIED = 4, BP_MEM_HOST_VISIBLE = 8, BP_MEM_PINNED = 16: u32 = MEMORIES;
    BP_OPTION_UNKNOWN = 0, BP_OPTION_BOOL = 1, BP_OPTION_INT = 2, BP_OPTION_FLOAT = 3, BP_OPTION_TEXT = 4: u32 = OPTION_TYPES;
    BACKPLANE_MODULE_LOADED = 0, BACKPLANE_MODULE_OUTRANKED = 1, BACKPLANE_MODULE_REJECTED = 2, BACKPLANE_MODULE_FAILED = 3: u32 = VERDICTS;
    BACKPLANE_CASE_PASSED = 0, BACKPLANE_CASE_FAILED = 1, BACKPLANE_CASE_UNSUPPORTED = 2: u32 = CASES;
    BACKPLANE_MOST_PARTS = 8: usize = PARTS;
    BP_MAX_RANK = 8: usize = LIMITS;
    BP_PAD_CONSTANT = 0, BP_PAD_EDGE = 1, BP_PAD_REFLECT = 2, BP_DTS_DCR = 0, BP_DTS_CRD = 1, BP_SCATTER_LINEAR = 0, BP_SCATTER_CIRCULAR = 1,
    BP_REDUCTION_NONE = 0, BP_REDUCTION_ADD = 1, BP_REDUCTION_MUL = 2, BP_REDUCTION_MAX = 3, BP_REDUCTION_MIN = 4, BP_SAMPLE_LINEAR = 0,
    BP_SAMPLE_NEAREST = 1, BP_SAMPLE_CUBIC = 2, BP_SAMPLE_ZEROS = 0, BP_SAMPLE_BORDER = 1, BP_SAMPLE_REFLECTION = 2, BP_ROI_AVERAGE = 0,
    BP_ROI_MAX = 1, BP_RESIZE_NEAREST = 0,
    BP_RESIZE_LINEAR = 1, BP_RESIZE_CUBIC = 2, BP_COORDINATES_ASYMMETRIC = 0, BP_COORDINATES_HALF_PIXEL = 1,
    BP_COORDINATES_ALIGN_CORNERS = 2, BP_COORDINATES_PYTORCH_HALF_PIXEL = 3, BP_DIRECTION_FORWARD = 0, BP_DIRECTION_REVERSE = 1,
    BP_DIRECTION_BIDIRECTIONAL = 2: i64 = MODES;
}
macro_rules! numbers {
    ($list:ident: $($number:literal $c:ident $constant:ident $name:literal;)*) => {
        $(#[doc = $name] pub const $c: u32 = $number;)*
        #[doc(hidden)]
        pub const $list: &[(&str, i64)] = &[$((stringify!($c), $number)),*];
    };
}
macro_rules! op_numbers { ($($rows:tt)*) => { numbers! { OPS: $($rows)* } }; }
macro_rules! attribute_numbers { ($($rows:tt)*) => { numbers! { ATTRIBUTES: $($rows)* } }; }
for_each_op!(op_numbers);
for_each_attribute!(attribute_numbers);

handles! {
    backplane_context, backplane_device, backplane_graph, backplane_session, backplane_tensor, backplane_weights, backplane_event,
    backplane_fits, backplane_costs, backplane_verification, backplane_pipeline, backplane_pass
}

structs! {
    STRUCTS:
    pub struct bp_error { struct_size: u32, code: bp_code, native: i64, text: *mut c_char, capacity: usize }
    pub struct bp_blob { data: *const c_void, size: usize }
    pub struct bp_attribute { struct_size: u32, id: u32, type_: u32, reserved: u32, integer: i64, number: f64, integers: bp_blob }
    pub struct backplane_context_options {
        struct_size: u32, skip_defaults: u32, skip_linked_in: u32, skip_environment: u32, module_paths: *const *const c_char,
        module_path_count: u64, device_filter: *const c_char, cpu_mask: *const c_char,
        log: Option<unsafe extern "C" fn(log_arg: *mut c_void, level: u32, text: *const c_char)>, log_arg: *mut c_void, probe: u32,
        probe_limit_ms: u32, probe_program: *const c_char, state_folder: *const c_char, module_names: *const *const c_char,
        module_name_count: u64, cache_folder: *const c_char, probe_budget_ms: u32, reserved: u32, cancel: *const bp_flag,
        parallel: Option<unsafe extern "C" fn(parallel_arg: *mut c_void, n: u32,
                                              body: Option<unsafe extern "C" fn(arg: *mut c_void, i: u32)>, arg: *mut c_void)>,
        parallel_arg: *mut c_void, options: *const *const c_char, option_count: u64, strict_options: u32, skip_fault_notes: u32
    }
    pub struct backplane_device_info {
        struct_size: u32, kind: u32, memory_total: u64, memory_free: u64, capabilities: u64, dtypes: u64, id: [c_char; 64],
        backend: [c_char; 64], identity: [c_char; 64], name: [c_char; 256], driver: [c_char; 256], warning: [c_char; 256]
    }
    pub struct backplane_holder { struct_size: u32, reserved: u32, bytes: u64, name: [c_char; 64] }
    pub struct bp_answer {
        struct_size: u32, code: bp_code, retired_1: u32, reason: u32, cost_ns: u64, text: *mut c_char, capacity: u64
    }
    pub struct backplane_weights_info {
        struct_size: u32, reserved: u32, bytes: u64, bytes_in_place: u64, plans_compiled: u64, plans_reused: u64, plans_kept: u64
    }
    pub struct backplane_session_options {
        struct_size: u32, math: u32, streaming: u32, plans_kept: u32, budget: u64, weight_budget: u64, workspace_limit: u64, rows: u32,
        skip_op_checks: u32, stay: u32, read_at_first_run: u32, cancel: *const bp_flag, device_of: *const u32, device_of_count: u64,
        shares: *const f64, share_count: u64, rounds: u32, reserved: u32
    }
    pub struct backplane_module_info {
        struct_size: u32, verdict: u32, reason: u32, reserved: u32, code: [c_char; 32], backend: [c_char; 64], version: [c_char; 64],
        text: [c_char; 512], remedy: [c_char; 512], path: [c_char; 1024]
    }
    pub struct backplane_option_problem {
        struct_size: u32, reserved: u32, name: [c_char; 64], value: [c_char; 256], text: [c_char; 512]
    }
    pub struct backplane_option {
        struct_size: u32, type_: u32, integer: i64, least: i64, most: i64, number: f64, name: [c_char; 64], value: [c_char; 256],
        help: [c_char; 512]
    }
    pub struct bp_heap {
        struct_size: u32, flags: u32, total: u64, available: u64, used_by_us: u64, largest_block: u64, alignment: u64
    }
    pub struct backplane_session_value {
        struct_size: u32, role: u32, dtype: u32, rank: u32, dims: [i64; BP_MAX_RANK], bytes: u64, name: [c_char; 256]
    }
    pub struct backplane_stage_runs { struct_size: u32, reserved: u32, nodes: u64, runs: u64, device: [c_char; 64], ops: [c_char; 256] }
    pub struct backplane_fit_options {
        struct_size: u32, math: u32, streaming: u32, reserved: u32, workspace_limit: u64, memory: *const u64, cancel: *const bp_flag
    }
    pub struct backplane_fit {
        struct_size: u32, device: u32, streamed: u32, fits: u32, possible: u32, reserved: u32, available: u64, budget: u64,
        weight_budget: u64, needs: u64, weights: u64, ring: u64, state: u64, values: u64, workspace: u64, moved: u64, id: *const c_char,
        problem: *const c_char, plan_text: *const c_char, plan_json: *const c_char
    }
    pub struct backplane_measure_options {
        struct_size: u32, other_count: u32, others: *const *mut backplane_device,
        progress: Option<unsafe extern "C" fn(progress_arg: *mut c_void, what: *const c_char, done: f64)>, progress_arg: *mut c_void,
        cancel: *const bp_flag, seconds: f64
    }
    pub struct backplane_device_costs { struct_size: u32, reserved: u32, measured: i64, run: f64 }
    pub struct backplane_cost_curve { struct_size: u32, by_operations: u32, fixed: f64, rate: f64, name: [c_char; 96] }
    pub struct backplane_prediction {
        struct_size: u32, known: u32, seconds: f64, ops: f64, copies: f64, learnt: f64, runs: u64, networks: u64
    }
    pub struct backplane_placement {
        struct_size: u32, parts: u32, seconds: f64, devices: [u32; BACKPLANE_MOST_PARTS], shares: [f64; BACKPLANE_MOST_PARTS],
        by_part: [f64; BACKPLANE_MOST_PARTS], text: [c_char; 512]
    }
    pub struct backplane_tune_options {
        struct_size: u32, runs: u32, seconds: f64, software: u32, reserved: u32,
        progress: Option<unsafe extern "C" fn(progress_arg: *mut c_void, device: *const c_char)>, progress_arg: *mut c_void,
        cancel: *const bp_flag
    }
    pub struct backplane_tune_result {
        struct_size: u32, reserved: u32, milliseconds: f64, first_ms: f64, device: [c_char; 64], failure: [c_char; 512]
    }
    pub struct backplane_case_result {
        struct_size: u32, status: u32, op: u32, ran: u32, worst: f64, name: *const c_char, text: *const c_char
    }
    pub struct backplane_verify_options {
        struct_size: u32, op: u32, name_filter: *const c_char,
        progress: Option<unsafe extern "C" fn(progress_arg: *mut c_void, result: *const backplane_case_result)>, progress_arg: *mut c_void,
        cancel: *const bp_flag
    }
    pub struct backplane_verification_info {
        struct_size: u32, cases: u32, passed: u32, failed: u32, unsupported: u32, reserved: u32, worst: f64
    }
    pub struct backplane_part { struct_size: u32, reserved: u32, passes: u64, seconds: f64, device: [c_char; 64] }
    pub struct backplane_bytes { name: *const c_char, data: *mut c_void, bytes: u64 }
    pub struct backplane_value { name: *const c_char, data: *mut c_void, bytes: u64, tensor: *mut backplane_tensor }
}

functions! {
    FUNCTIONS:
    fn backplane_version() -> *const c_char;
    fn backplane_context_create(options: *const backplane_context_options, out: *mut *mut backplane_context, error: *mut bp_error) -> bp_code;
    fn backplane_context_destroy(context: *mut backplane_context);
    fn backplane_context_rescan(context: *mut backplane_context, error: *mut bp_error) -> bp_code;
    fn backplane_context_unload(context: *mut backplane_context, backend: *const c_char, error: *mut bp_error) -> bp_code;
    fn backplane_context_devices(context: *mut backplane_context, infos: *mut backplane_device_info, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_context_report(context: *mut backplane_context, json: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_device_open(context: *mut backplane_context, filter: *const c_char, out: *mut *mut backplane_device,
        error: *mut bp_error) -> bp_code;
    fn backplane_device_close(device: *mut backplane_device);
    fn backplane_device_get_info(device: *mut backplane_device, info: *mut backplane_device_info, error: *mut bp_error) -> bp_code;
    fn backplane_device_set_option(device: *mut backplane_device, name: *const c_char, value: *const c_char, error: *mut bp_error) -> bp_code;
    fn backplane_device_ledger(device: *mut backplane_device, holders: *mut backplane_holder, capacity: u32, count: *mut u32,
        held: *mut u64, error: *mut bp_error) -> bp_code;
    fn backplane_device_limit_memory(device: *mut backplane_device, bytes: u64, error: *mut bp_error) -> bp_code;
    fn backplane_graph_create(out: *mut *mut backplane_graph, error: *mut bp_error) -> bp_code;
    fn backplane_graph_destroy(graph: *mut backplane_graph);
    fn backplane_graph_tensor(graph: *mut backplane_graph, role: u32, name: *const c_char, dtype: u32, dims: *const i64, rank: u32,
        out: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_graph_constant(graph: *mut backplane_graph, name: *const c_char, dtype: u32, dims: *const i64, rank: u32,
        data: *const c_void, bytes: u64, out: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_graph_add(graph: *mut backplane_graph, op: u32, inputs: *const u32, input_count: u32, attributes: *const bp_attribute,
        attribute_count: u32, out: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_graph_add_all(graph: *mut backplane_graph, op: u32, inputs: *const u32, input_count: u32, attributes: *const bp_attribute,
        attribute_count: u32, outputs: *mut u32, capacity: u32, count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_graph_output(graph: *mut backplane_graph, tensor: u32, name: *const c_char, error: *mut bp_error) -> bp_code;
    fn backplane_graph_update(graph: *mut backplane_graph, state: u32, value: u32, error: *mut bp_error) -> bp_code;
    fn backplane_graph_shape(graph: *mut backplane_graph, tensor: u32, dims: *mut i64, rank: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_graph_dtype(graph: *mut backplane_graph, tensor: u32, dtype: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_graph_query(graph: *mut backplane_graph, device: *mut backplane_device, answers: *mut bp_answer, capacity: u32,
        count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_session_create(device: *mut backplane_device, graph: *mut backplane_graph, source: backplane_weight_source,
        arg: *mut c_void, math: u32, out: *mut *mut backplane_session, error: *mut bp_error) -> bp_code;
    fn backplane_session_destroy(session: *mut backplane_session);
    fn backplane_session_run(session: *mut backplane_session, inputs: *const backplane_bytes, input_count: u32,
        outputs: *const backplane_bytes, output_count: u32, cancel: *const bp_flag, error: *mut bp_error) -> bp_code;
    fn backplane_tensor_create(device: *mut backplane_device, dtype: u32, dims: *const i64, rank: u32, data: *const c_void,
        out: *mut *mut backplane_tensor, error: *mut bp_error) -> bp_code;
    fn backplane_tensor_destroy(tensor: *mut backplane_tensor);
    fn backplane_tensor_read(tensor: *mut backplane_tensor, data: *mut c_void, bytes: u64, error: *mut bp_error) -> bp_code;
    fn backplane_tensor_write(tensor: *mut backplane_tensor, data: *const c_void, bytes: u64, error: *mut bp_error) -> bp_code;
    fn backplane_tensor_zero(tensor: *mut backplane_tensor, error: *mut bp_error) -> bp_code;
    fn backplane_tensor_reshaped(tensor: *mut backplane_tensor, dims: *const i64, rank: u32, out: *mut *mut backplane_tensor,
        error: *mut bp_error) -> bp_code;
    fn backplane_tensor_on(tensor: *mut backplane_tensor, device: *mut backplane_device, out: *mut *mut backplane_tensor,
        error: *mut bp_error) -> bp_code;
    fn backplane_tensor_rows(tensor: *mut backplane_tensor, first: i64, count: i64, out: *mut *mut backplane_tensor,
        error: *mut bp_error) -> bp_code;
    fn backplane_tensor_shape(tensor: *mut backplane_tensor, dtype: *mut u32, dims: *mut i64, rank: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_weights_create(source: backplane_weight_source, arg: *mut c_void, out: *mut *mut backplane_weights,
        error: *mut bp_error) -> bp_code;
    fn backplane_weights_destroy(weights: *mut backplane_weights);
    fn backplane_weights_get_info(weights: *mut backplane_weights, device: *mut backplane_device, info: *mut backplane_weights_info,
        error: *mut bp_error) -> bp_code;
    fn backplane_session_create_with(devices: *const *mut backplane_device, device_count: u32, graph: *mut backplane_graph,
        weights: *mut backplane_weights, options: *const backplane_session_options, out: *mut *mut backplane_session,
        error: *mut bp_error) -> bp_code;
    fn backplane_session_create_shared(devices: *const *mut backplane_device, device_count: u32, graph: *mut backplane_graph,
        weights: *mut backplane_weights, math: u32, out: *mut *mut backplane_session, error: *mut bp_error) -> bp_code;
    fn backplane_session_submit(session: *mut backplane_session, inputs: *const backplane_value, input_count: u32,
        outputs: *const backplane_value, output_count: u32, cancel: *const bp_flag, out: *mut *mut backplane_event,
        error: *mut bp_error) -> bp_code;
    fn backplane_event_wait(event: *mut backplane_event, error: *mut bp_error) -> bp_code;
    fn backplane_event_wait_for(event: *mut backplane_event, nanoseconds: u64, error: *mut bp_error) -> bp_code;
    fn backplane_event_bytes(event: *mut backplane_event, moved: *mut u64, peer: *mut u64, error: *mut bp_error) -> bp_code;
    fn backplane_event_destroy(event: *mut backplane_event);
    fn backplane_session_state(session: *mut backplane_session, name: *const c_char, out: *mut *mut backplane_tensor,
        error: *mut bp_error) -> bp_code;
    fn backplane_session_set_state(session: *mut backplane_session, name: *const c_char, tensor: *mut backplane_tensor,
        error: *mut bp_error) -> bp_code;
    fn backplane_session_reset_state(session: *mut backplane_session, error: *mut bp_error) -> bp_code;
    fn backplane_session_release(session: *mut backplane_session, error: *mut bp_error) -> bp_code;
    fn backplane_session_notes(session: *mut backplane_session, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_session_plan(session: *mut backplane_session, as_json: u32, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_context_why(context: *mut backplane_context, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_context_state_folder(context: *mut backplane_context, path: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_context_modules(context: *mut backplane_context, infos: *mut backplane_module_info, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_context_option_problems(context: *mut backplane_context, problems: *mut backplane_option_problem, capacity: u32,
        count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_device_open_with_fallback(context: *mut backplane_context, filter: *const c_char,
        devices: *mut *mut backplane_device, capacity: u32, count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_device_options(device: *mut backplane_device, options: *mut backplane_option, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_device_heaps(device: *mut backplane_device, heaps: *mut bp_heap, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_graph_einsum(graph: *mut backplane_graph, equation: *const c_char, operands: *const u32, operand_count: u32,
        out: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_weights_create_named(source: backplane_weight_source, arg: *mut c_void, name: *const c_char,
        out: *mut *mut backplane_weights, error: *mut bp_error) -> bp_code;
    fn backplane_session_values(session: *mut backplane_session, values: *mut backplane_session_value, capacity: u32,
        count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_session_runs(session: *mut backplane_session, stages: *mut backplane_stage_runs, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_fits_create(devices: *const *mut backplane_device, device_count: u32, graph: *mut backplane_graph,
        options: *const backplane_fit_options, out: *mut *mut backplane_fits, error: *mut bp_error) -> bp_code;
    fn backplane_fits_destroy(fits: *mut backplane_fits);
    fn backplane_fits_count(fits: *const backplane_fits) -> u32;
    fn backplane_fits_get(fits: *const backplane_fits, i: u32, fit: *mut backplane_fit, error: *mut bp_error) -> bp_code;
    fn backplane_fits_best(fits: *const backplane_fits, streaming: u32, fit: *mut backplane_fit, error: *mut bp_error) -> bp_code;
    fn backplane_fits_text(fits: *const backplane_fits, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_costs_create(context: *mut backplane_context, out: *mut *mut backplane_costs, error: *mut bp_error) -> bp_code;
    fn backplane_costs_destroy(costs: *mut backplane_costs);
    fn backplane_costs_measure(costs: *mut backplane_costs, device: *mut backplane_device, options: *const backplane_measure_options,
        error: *mut bp_error) -> bp_code;
    fn backplane_costs_of(costs: *mut backplane_costs, device: *mut backplane_device, known: *mut backplane_device_costs,
        curves: *mut backplane_cost_curve, capacity: u32, count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_costs_seconds(costs: *mut backplane_costs, device: *mut backplane_device, name: *const c_char, work: f64,
        seconds: *mut f64, error: *mut bp_error) -> bp_code;
    fn backplane_costs_predict(costs: *mut backplane_costs, graph: *mut backplane_graph, fits: *const backplane_fits, i: u32,
        prediction: *mut backplane_prediction, error: *mut bp_error) -> bp_code;
    fn backplane_costs_learn(costs: *mut backplane_costs, graph: *mut backplane_graph, fits: *const backplane_fits, i: u32,
        seconds: f64, error: *mut bp_error) -> bp_code;
    fn backplane_costs_place(costs: *mut backplane_costs, graph: *mut backplane_graph, fits: *const backplane_fits, batches: i64,
        most_parts: u32, placement: *mut backplane_placement, error: *mut bp_error) -> bp_code;
    fn backplane_tune(context: *mut backplane_context, graph: *mut backplane_graph, source: backplane_weight_source,
        arg: *mut c_void, options: *const backplane_tune_options, results: *mut backplane_tune_result, capacity: u32,
        count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_tuned_device(context: *mut backplane_context, graph: *mut backplane_graph, device: *mut c_char, capacity: usize,
        size: *mut usize, error: *mut bp_error) -> bp_code;
    fn backplane_verify(device: *mut backplane_device, options: *const backplane_verify_options,
        out: *mut *mut backplane_verification, error: *mut bp_error) -> bp_code;
    fn backplane_verification_destroy(verification: *mut backplane_verification);
    fn backplane_verification_get_info(verification: *const backplane_verification, info: *mut backplane_verification_info,
        error: *mut bp_error) -> bp_code;
    fn backplane_verification_get(verification: *const backplane_verification, i: u32, result: *mut backplane_case_result,
        error: *mut bp_error) -> bp_code;
    fn backplane_verify_names(options: *const backplane_verify_options, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_pipeline_create(devices: *const *mut backplane_device, device_count: u32, parts: u32, graph: *mut backplane_graph,
        weights: *mut backplane_weights, options: *const backplane_session_options, out: *mut *mut backplane_pipeline,
        error: *mut bp_error) -> bp_code;
    fn backplane_pipeline_destroy(pipeline: *mut backplane_pipeline);
    fn backplane_pipeline_start(pipeline: *mut backplane_pipeline, inputs: *const backplane_value, input_count: u32,
        cancel: *const bp_flag, out: *mut *mut backplane_pass, error: *mut bp_error) -> bp_code;
    fn backplane_pass_finish(pass: *mut backplane_pass, outputs: *const backplane_value, output_count: u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_pass_destroy(pass: *mut backplane_pass);
    fn backplane_pipeline_parts(pipeline: *mut backplane_pipeline, parts: *mut backplane_part, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_pipeline_part_of(pipeline: *mut backplane_pipeline, input: *const c_char, part: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_pipeline_bytes_peer(pipeline: *mut backplane_pipeline, bytes: *mut u64, error: *mut bp_error) -> bp_code;
    fn backplane_pipeline_runs(pipeline: *mut backplane_pipeline, stages: *mut backplane_stage_runs, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_pipeline_notes(pipeline: *mut backplane_pipeline, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_pipeline_plan(pipeline: *mut backplane_pipeline, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_op(name: *const c_char) -> u32;
    fn backplane_op_name(op: u32) -> *const c_char;
    fn backplane_attribute(name: *const c_char) -> u32;
    fn backplane_attribute_name(attribute: u32) -> *const c_char;
    fn backplane_dtype(name: *const c_char) -> u32;
    fn backplane_dtype_name(dtype: u32) -> *const c_char;
}

#[cfg(feature = "models")]
mod models;
#[cfg(feature = "models")]
pub use models::*;
