//! `model.h`, `quantize.h`, `transcriber.h`, `upscaler.h` and `weight_file.h`, in the library backplane_models.
use crate::*;

/// Writes the next samples, at most `room`, and returns how many; 0: that was all.
pub type backplane_sample_source = Option<unsafe extern "C" fn(arg: *mut c_void, into: *mut f32, room: u64) -> u64>;

constants! {
    BACKPLANE_DECODER_AUTOMATIC = 0, BACKPLANE_DECODER_CTC = 1, BACKPLANE_DECODER_RNNT = 2, BACKPLANE_DECODER_TDT = 3: u32 = DECODERS;
    BACKPLANE_STREAMING_AUTOMATIC = 0, BACKPLANE_STREAMING_NEVER = 1, BACKPLANE_STREAMING_ALWAYS = 2: u32 = STREAMINGS;
}

handles! {
    backplane_model, backplane_model_session, backplane_model_results, backplane_transcriber, backplane_transcript,
    backplane_transcript_stream, backplane_upscaler, backplane_weight_file, backplane_quantized
}

structs! {
    MODEL_STRUCTS:
    pub struct backplane_model_info {
        struct_size: u32, input_count: u32, output_count: u32, reserved: u32, opset: i64, ir_version: i64, nodes: u64, parameters: u64,
        weight_bytes: u64, format: [c_char; 16], name: [c_char; 256], producer: [c_char; 128]
    }
    pub struct backplane_model_value {
        struct_size: u32, dtype: u32, rank: u32, is_unsigned: u32, name: *const c_char, dims: [i64; BP_MAX_RANK],
        symbols: [*const c_char; BP_MAX_RANK]
    }
    pub struct backplane_model_input {
        name: *const c_char, data: *const c_void, bytes: u64, dims: *const i64, rank: u32, dtype: u32, tensor: *mut backplane_tensor
    }
    pub struct backplane_model_options { struct_size: u32, math: u32, plans_kept: u32, reserved: u32 }
    pub struct backplane_transcriber_options {
        struct_size: u32, decoder: u32, dtype: u32, exact: u32, window: f64, batch: i64, vad: *const c_char,
        memory: u64, streaming: u32, reserved: u32
    }
    pub struct backplane_transcriber_info {
        struct_size: u32, decoder: u32, sample_rate: i64, name: [c_char; 256], device: [c_char; 64], device_name: [c_char; 256],
        why: [c_char; 512], pauses_by: [c_char; 32]
    }
    pub struct backplane_clip { samples: *const f32, count: u64 }
    pub struct backplane_word { struct_size: u32, reserved: u32, text: *const c_char, start: f64, end: f64, confidence: f64 }
    pub struct backplane_upscaler_options { struct_size: u32, dtype: u32 }
    pub struct backplane_upscaler_info {
        struct_size: u32, scale: u32, parameters: u64, name: [c_char; 256], device: [c_char; 64], device_name: [c_char; 256],
        why: [c_char; 512]
    }
    pub struct backplane_upscale_options {
        struct_size: u32, jpeg_quality: u32, tile: i64, overlap: i64, memory: u64,
        progress: Option<unsafe extern "C" fn(progress_arg: *mut c_void, tiles_done: i64, tiles: i64)>, progress_arg: *mut c_void,
        cancel: *const bp_flag
    }
    pub struct backplane_upscale_result {
        struct_size: u32, width: u32, height: u32, channels: u32, tiles: i64, tile: i64, seconds: f64
    }
    pub struct backplane_weight_file_info { struct_size: u32, tensor_count: u32, bytes: u64, format: [c_char; 16] }
    pub struct backplane_weight_tensor {
        struct_size: u32, dtype: u32, rank: u32, reserved: u32, bytes: u64, name: *const c_char, type_: *const c_char,
        dims: [i64; BP_MAX_RANK]
    }
    pub struct backplane_quantize_options {
        struct_size: u32, dtype: u32, keep: *const *const c_char, keep_count: u32, embeddings: u32, threads: u32, reserved: u32,
        progress: Option<unsafe extern "C" fn(progress_arg: *mut c_void, done: f64)>, progress_arg: *mut c_void, cancel: *const bp_flag
    }
    pub struct backplane_quantized_tensor {
        struct_size: u32, dtype: u32, rank: u32, reserved: u32, name: *const c_char, from: *const c_char, why: *const c_char,
        bytes_before: u64, bytes_after: u64, error: f64, dims: [i64; BP_MAX_RANK]
    }
}

functions! {
    MODEL_FUNCTIONS:
    fn backplane_model_from_onnx(path: *const c_char, out: *mut *mut backplane_model, error: *mut bp_error) -> bp_code;
    fn backplane_model_from_onnx_bytes(data: *const c_void, bytes: u64, name: *const c_char, out: *mut *mut backplane_model,
        error: *mut bp_error) -> bp_code;
    fn backplane_model_destroy(model: *mut backplane_model);
    fn backplane_model_get_info(model: *const backplane_model, info: *mut backplane_model_info, error: *mut bp_error) -> bp_code;
    fn backplane_model_inputs(model: *const backplane_model, values: *mut backplane_model_value, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_model_outputs(model: *const backplane_model, values: *mut backplane_model_value, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_model_check(model: *const backplane_model, devices: *const *mut backplane_device, device_count: u32,
        inputs: *const backplane_model_input, input_count: u32, json: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_model_session_create(model: *const backplane_model, context: *mut backplane_context, filter: *const c_char,
        options: *const backplane_model_options, out: *mut *mut backplane_model_session, error: *mut bp_error) -> bp_code;
    fn backplane_model_session_create_on(model: *const backplane_model, devices: *const *mut backplane_device, device_count: u32,
        options: *const backplane_model_options, out: *mut *mut backplane_model_session, error: *mut bp_error) -> bp_code;
    fn backplane_model_session_destroy(session: *mut backplane_model_session);
    fn backplane_model_session_run(session: *mut backplane_model_session, inputs: *const backplane_model_input, input_count: u32,
        cancel: *const bp_flag, out: *mut *mut backplane_model_results, error: *mut bp_error) -> bp_code;
    fn backplane_model_session_run_into(session: *mut backplane_model_session, inputs: *const backplane_model_input, input_count: u32,
        outputs: *const backplane_value, output_count: u32, cancel: *const bp_flag, error: *mut bp_error) -> bp_code;
    fn backplane_model_session_prepare(session: *mut backplane_model_session, inputs: *const backplane_model_input, input_count: u32,
        outputs: *mut backplane_model_value, capacity: u32, count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_model_results_count(results: *const backplane_model_results) -> u32;
    fn backplane_model_results_value(results: *const backplane_model_results, i: u32, value: *mut backplane_model_value,
        error: *mut bp_error) -> bp_code;
    fn backplane_model_results_data(results: *const backplane_model_results, i: u32) -> *const c_void;
    fn backplane_model_results_bytes(results: *const backplane_model_results, i: u32) -> u64;
    fn backplane_model_results_destroy(results: *mut backplane_model_results);
    fn backplane_transcriber_create(context: *mut backplane_context, filter: *const c_char, model: *const c_char,
        options: *const backplane_transcriber_options, out: *mut *mut backplane_transcriber, error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_create_on(devices: *const *mut backplane_device, device_count: u32, model: *const c_char,
        options: *const backplane_transcriber_options, out: *mut *mut backplane_transcriber, error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_destroy(transcriber: *mut backplane_transcriber);
    fn backplane_transcriber_get_info(transcriber: *mut backplane_transcriber, info: *mut backplane_transcriber_info,
        error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_plan(transcriber: *mut backplane_transcriber, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_notes(transcriber: *mut backplane_transcriber, text: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_run(transcriber: *mut backplane_transcriber, samples: *const f32, count: u64, cancel: *const bp_flag,
        out: *mut *mut backplane_transcript, error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_run_file(transcriber: *mut backplane_transcriber, path: *const c_char, cancel: *const bp_flag,
        out: *mut *mut backplane_transcript, error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_run_source(transcriber: *mut backplane_transcriber, source: backplane_sample_source, arg: *mut c_void,
        cancel: *const bp_flag, out: *mut *mut backplane_transcript, error: *mut bp_error) -> bp_code;
    fn backplane_transcriber_run_clips(transcriber: *mut backplane_transcriber, clips: *const backplane_clip, clip_count: u32,
        cancel: *const bp_flag, out: *mut *mut backplane_transcript, error: *mut bp_error) -> bp_code;
    fn backplane_transcript_text(transcript: *const backplane_transcript) -> *const c_char;
    fn backplane_transcript_seconds(transcript: *const backplane_transcript) -> f64;
    fn backplane_transcript_words(transcript: *const backplane_transcript, words: *mut backplane_word, capacity: u32, count: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_transcript_destroy(transcript: *mut backplane_transcript);
    fn backplane_transcript_stream_create(transcriber: *mut backplane_transcriber, out: *mut *mut backplane_transcript_stream,
        error: *mut bp_error) -> bp_code;
    fn backplane_transcript_stream_destroy(stream: *mut backplane_transcript_stream);
    fn backplane_transcript_stream_feed(stream: *mut backplane_transcript_stream, samples: *const f32, count: u64, cancel: *const bp_flag,
        error: *mut bp_error) -> bp_code;
    fn backplane_transcript_stream_finish(stream: *mut backplane_transcript_stream, cancel: *const bp_flag, error: *mut bp_error) -> bp_code;
    fn backplane_transcript_stream_next(stream: *mut backplane_transcript_stream, out: *mut *mut backplane_transcript, is_final: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_upscaler_create(context: *mut backplane_context, filter: *const c_char, model: *const c_char,
        options: *const backplane_upscaler_options, out: *mut *mut backplane_upscaler, error: *mut bp_error) -> bp_code;
    fn backplane_upscaler_create_on(devices: *const *mut backplane_device, device_count: u32, model: *const c_char,
        options: *const backplane_upscaler_options, out: *mut *mut backplane_upscaler, error: *mut bp_error) -> bp_code;
    fn backplane_upscaler_destroy(upscaler: *mut backplane_upscaler);
    fn backplane_upscaler_get_info(upscaler: *mut backplane_upscaler, info: *mut backplane_upscaler_info, error: *mut bp_error) -> bp_code;
    fn backplane_upscaler_run_file(upscaler: *mut backplane_upscaler, in_: *const c_char, out: *const c_char,
        options: *const backplane_upscale_options, result: *mut backplane_upscale_result, error: *mut bp_error) -> bp_code;
    fn backplane_upscaler_run(upscaler: *mut backplane_upscaler, in_: *const c_void, in_bytes: u64, width: u32, height: u32, channels: u32,
        out: *mut c_void, out_bytes: u64, options: *const backplane_upscale_options, result: *mut backplane_upscale_result,
        error: *mut bp_error) -> bp_code;
    fn backplane_weight_file_open(path: *const c_char, out: *mut *mut backplane_weight_file, error: *mut bp_error) -> bp_code;
    fn backplane_weight_file_destroy(file: *mut backplane_weight_file);
    fn backplane_weight_file_get_info(file: *const backplane_weight_file, info: *mut backplane_weight_file_info, error: *mut bp_error)
        -> bp_code;
    fn backplane_weight_file_tensors(file: *const backplane_weight_file, tensors: *mut backplane_weight_tensor, capacity: u32,
        count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_weight_file_find(file: *const backplane_weight_file, name: *const c_char, tensor: *mut backplane_weight_tensor,
        error: *mut bp_error) -> bp_code;
    fn backplane_weight_file_data(file: *mut c_void, name: *const c_char, bytes: *mut u64) -> *const c_void;
    fn backplane_weight_file_metadata(file: *const backplane_weight_file, json: *mut c_char, capacity: usize, size: *mut usize,
        error: *mut bp_error) -> bp_code;
    fn backplane_weight_file_add(file: *const backplane_weight_file, graph: *mut backplane_graph, name: *const c_char, out: *mut u32,
        error: *mut bp_error) -> bp_code;
    fn backplane_weight_file_weights(file: *const backplane_weight_file, out: *mut *mut backplane_weights, error: *mut bp_error)
        -> bp_code;
    fn backplane_quantize(from: *const backplane_weight_file, gguf: *const c_char, options: *const backplane_quantize_options,
        out: *mut *mut backplane_quantized, error: *mut bp_error) -> bp_code;
    fn backplane_quantized_tensors(quantized: *const backplane_quantized, tensors: *mut backplane_quantized_tensor, capacity: u32,
        count: *mut u32, error: *mut bp_error) -> bp_code;
    fn backplane_quantized_destroy(quantized: *mut backplane_quantized);
}
