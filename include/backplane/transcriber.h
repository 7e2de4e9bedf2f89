/* Speech to text with Parakeet networks for C: transcriber.hpp behind the line of backplane.h, whose rules for errors, handles and structs are those
 * here. In the library backplane_models, which holds what backplane holds (docs/c-api.md).
 *
 *     backplane_transcriber* transcriber = NULL;
 *     backplane_transcript* said = NULL;
 *     if (backplane_transcriber_create(context, NULL, "parakeet.gguf", NULL, &transcriber, &error) == BP_OK &&
 *         backplane_transcriber_run_file(transcriber, "talk.flac", NULL, &said, &error) == BP_OK)
 *         puts(backplane_transcript_text(said));
 *     backplane_transcript_destroy(said);
 *     backplane_transcriber_destroy(transcriber);
 *
 * Any thread; one call at a time on a transcriber and its streams. Transcripts do not change: any number of threads. */
#ifndef BACKPLANE_TRANSCRIBER_H
#define BACKPLANE_TRANSCRIBER_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_transcriber backplane_transcriber; /* a network on a device                             */
typedef struct backplane_transcript backplane_transcript;   /* what was said: text, words, times                 */
typedef struct backplane_transcript_stream backplane_transcript_stream;

#define BACKPLANE_DECODER_AUTOMATIC 0u /* tdt or rnnt where the network has it, else ctc */
#define BACKPLANE_DECODER_CTC 1u
#define BACKPLANE_DECODER_RNNT 2u
#define BACKPLANE_DECODER_TDT 3u

#define BACKPLANE_STREAMING_AUTOMATIC 0u /* fewer and shorter windows at once, then weights are copied for each run */
#define BACKPLANE_STREAMING_NEVER 1u
#define BACKPLANE_STREAMING_ALWAYS 2u

typedef struct backplane_transcriber_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t decoder; /* BACKPLANE_DECODER_*                                                                     */
    uint32_t dtype;   /* of feature maps: 0 or BP_F32, with matrices as the file has them, or BP_F16 for both     */
    uint32_t exact;   /* not 0: activations are not rounded to bytes beside matrices in blocks; half as fast on CPUs */
    double window; /* seconds that the network sees at once, 5 to 1200; 0: 30. Longer audio is cut in pauses       */
    int64_t batch; /* windows at once, up to 1024; 0: one on a CPU, eight elsewhere                                */
    const char* vad; /* what finds pauses: null or "auto": Silero VAD where its silero-vad.onnx lies beside the model, else energy; "never":
                      * energy; or its file, UTF-8. With it, what has no speech for three seconds is left out of long audio          */
    uint64_t memory;    /* bytes of the first device that all of it may take; 0: what there is                            */
    uint32_t streaming; /* BACKPLANE_STREAMING_*: of weights, where there is no room for all of them                      */
    uint32_t reserved;
} backplane_transcriber_options;

/* model: a GGUF file or a folder of transformers, UTF-8. On the device that the library chooses (filter as backplane_device_open takes it), and
 * behind it the CPU for what that cannot do. BP_NOT_FOUND, BP_DENIED, BP_CORRUPT, BP_UNSUPPORTED: the file, or a decoder that the network has not. */
BACKPLANE_API bp_code backplane_transcriber_create(backplane_context* context, const char* filter, const char* model,
                                                   const backplane_transcriber_options* options, backplane_transcriber** out,
                                                   bp_error* error);
/* On these devices, best first: the next ones do what the first does not support, and what remains when it is lost. */
BACKPLANE_API bp_code backplane_transcriber_create_on(backplane_device* const* devices, uint32_t device_count,
                                                      const char* model, const backplane_transcriber_options* options,
                                                      backplane_transcriber** out, bp_error* error);
BACKPLANE_API void backplane_transcriber_destroy(backplane_transcriber* transcriber);

typedef struct backplane_transcriber_info {
    uint32_t struct_size;
    uint32_t decoder;    /* BACKPLANE_DECODER_CTC, _RNNT or _TDT                              */
    int64_t sample_rate; /* that it takes; 16000                                              */
    char name[256];      /* of the network                                                    */
    char device[64];     /* "vulkan:0"                                                        */
    char device_name[256];
    char why[512]; /* why that device was chosen; empty where the caller gave it        */
    char pauses_by[32]; /* what finds pauses: "silero-vad" or "energy"                    */
} backplane_transcriber_info;
BACKPLANE_API bp_code backplane_transcriber_get_info(backplane_transcriber* transcriber, backplane_transcriber_info* info,
                                                     bp_error* error);
/* The plans of the sizes met last: stages, devices, bytes; and what is not where it was wanted, and why. Lines, as backplane_context_report
 * gives its text. */
BACKPLANE_API bp_code backplane_transcriber_plan(backplane_transcriber* transcriber, char* text, size_t capacity,
                                                 size_t* size, bp_error* error);
BACKPLANE_API bp_code backplane_transcriber_notes(backplane_transcriber* transcriber, char* text, size_t capacity,
                                                  size_t* size, bp_error* error);

/* ---- transcribing ------------------------------------------------------------------------------------------------------ */

/* Each gives a transcript in *out. Samples are mono, of the network's rate, -1 to 1, any number of them; one that is no finite number is BP_INVALID.
 * *cancel becoming non-zero ends the call soon with BP_CANCELLED; may be null. */
BACKPLANE_API bp_code backplane_transcriber_run(backplane_transcriber* transcriber, const float* samples, uint64_t count,
                                                const volatile uint32_t* cancel, backplane_transcript** out,
                                                bp_error* error);
/* A sound file of any length, rate and number of channels, in the memory of a few windows. path: UTF-8. */
BACKPLANE_API bp_code backplane_transcriber_run_file(backplane_transcriber* transcriber, const char* path,
                                                     const volatile uint32_t* cancel, backplane_transcript** out,
                                                     bp_error* error);
/* Writes the next samples, at most `room`, and returns how many; 0: that was all. */
typedef uint64_t (*backplane_sample_source)(void* arg, float* into, uint64_t room);
/* Samples of any length, likewise. More of them than there was room for is BP_INVALID. */
BACKPLANE_API bp_code backplane_transcriber_run_source(backplane_transcriber* transcriber, backplane_sample_source source,
                                                       void* arg, const volatile uint32_t* cancel,
                                                       backplane_transcript** out, bp_error* error);
typedef struct backplane_clip {
    const float* samples;
    uint64_t count;
} backplane_clip;
/* Several clips, as many at once as `batch` says: `out` has room for clip_count transcripts, in their order. All or none are made. */
BACKPLANE_API bp_code backplane_transcriber_run_clips(backplane_transcriber* transcriber, const backplane_clip* clips,
                                                      uint32_t clip_count, const volatile uint32_t* cancel,
                                                      backplane_transcript** out, bp_error* error);

typedef struct backplane_word { /* times are in seconds from the first sample */
    uint32_t struct_size;
    uint32_t reserved;
    const char* text; /* UTF-8; lives as long as the transcript                 */
    double start, end;
    double confidence; /* 0 to 1: the mean probability of its pieces             */
} backplane_word;

BACKPLANE_API const char* backplane_transcript_text(const backplane_transcript* transcript); /* words with a space between, UTF-8 */
BACKPLANE_API double backplane_transcript_seconds(const backplane_transcript* transcript);   /* of audio */
/* Fills at most `capacity` records, each with its struct_size set by the caller; *count is how many there are. */
BACKPLANE_API bp_code backplane_transcript_words(const backplane_transcript* transcript, backplane_word* words,
                                                 uint32_t capacity, uint32_t* count, bp_error* error);
BACKPLANE_API void backplane_transcript_destroy(backplane_transcript* transcript);

/* ---- speech as it comes ------------------------------------------------------------------------------------------------ */

BACKPLANE_API bp_code backplane_transcript_stream_create(backplane_transcriber* transcriber,
                                                         backplane_transcript_stream** out, bp_error* error);
BACKPLANE_API void backplane_transcript_stream_destroy(backplane_transcript_stream* stream);
/* Takes samples of any number, also where it answers BP_CANCELLED: what they say then comes with the next call. */
BACKPLANE_API bp_code backplane_transcript_stream_feed(backplane_transcript_stream* stream, const float* samples,
                                                       uint64_t count, const volatile uint32_t* cancel, bp_error* error);
/* What is left becomes final; the stream begins anew. */
BACKPLANE_API bp_code backplane_transcript_stream_finish(backplane_transcript_stream* stream, const volatile uint32_t* cancel,
                                                         bp_error* error);
/* The next line that feeding or finishing made, its times from the first sample of the stream; *out is null when there is none. A line is partial
 * (*is_final 0) and comes again with more until there is a pause, or no more room in the window. */
BACKPLANE_API bp_code backplane_transcript_stream_next(backplane_transcript_stream* stream, backplane_transcript** out,
                                                       uint32_t* is_final, bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
