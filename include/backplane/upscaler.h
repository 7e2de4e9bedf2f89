/* Pictures enlarged by ESRGAN networks for C: Upscaler of esrgan.hpp behind the line of backplane.h, whose rules for errors, handles and structs are those
 * here. In the library backplane_models, which holds what backplane holds (docs/c-api.md).
 *
 *     backplane_upscaler* upscaler = NULL;
 *     if (backplane_upscaler_create(context, NULL, "esrgan-medium-x2.gguf", NULL, &upscaler, &error) == BP_OK &&
 *         backplane_upscaler_run_file(upscaler, "in.png", "out.png", NULL, NULL, &error) == BP_OK)
 *         puts("out.png is written");
 *     backplane_upscaler_destroy(upscaler);
 *
 * Any thread; one call at a time on an upscaler. */
#ifndef BACKPLANE_UPSCALER_H
#define BACKPLANE_UPSCALER_H

#include "backplane/backplane.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct backplane_upscaler backplane_upscaler; /* a network on a device */

typedef struct backplane_upscaler_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t dtype; /* of weights and feature maps: 0, as the file has them; BP_F32; or BP_F16, half the memory */
} backplane_upscaler_options;

/* model: a GGUF file that `backplane model import` wrote, or the network of Real-ESRGAN as safetensors or ONNX; UTF-8. On the device that the library
 * chooses (filter as backplane_device_open takes it), and behind it the CPU for what that cannot do. BP_NOT_FOUND, BP_DENIED, BP_CORRUPT: the file. */
BACKPLANE_API bp_code backplane_upscaler_create(backplane_context* context, const char* filter, const char* model,
                                                const backplane_upscaler_options* options, backplane_upscaler** out,
                                                bp_error* error);
/* On these devices, best first: the next ones do what the first does not support, and what remains when it is lost. */
BACKPLANE_API bp_code backplane_upscaler_create_on(backplane_device* const* devices, uint32_t device_count, const char* model,
                                                   const backplane_upscaler_options* options, backplane_upscaler** out,
                                                   bp_error* error);
BACKPLANE_API void backplane_upscaler_destroy(backplane_upscaler* upscaler);

typedef struct backplane_upscaler_info {
    uint32_t struct_size;
    uint32_t scale;      /* 2, 3, 4 or 8: how many times as wide and as high          */
    uint64_t parameters; /* of the network                                            */
    char name[256];      /* "esrgan-medium-x2"                                        */
    char device[64];     /* "vulkan:0"                                                */
    char device_name[256];
    char why[512]; /* why that device was chosen; empty where the caller gave it      */
} backplane_upscaler_info;
BACKPLANE_API bp_code backplane_upscaler_get_info(backplane_upscaler* upscaler, backplane_upscaler_info* info,
                                                  bp_error* error);

typedef struct backplane_upscale_options { /* a null pointer to this, or zeros in it: the defaults */
    uint32_t struct_size;
    uint32_t jpeg_quality; /* 1 to 100; 0: 95                                                                   */
    int64_t tile;    /* pixels of input that a tile covers in each direction; 0: chosen from picture and memory  */
    int64_t overlap; /* pixels of input that neighbouring tiles share on each side; 0: chosen                    */
    uint64_t memory; /* bytes of the first device that all of it may take; 0: what the device has                */
    /* After each tile, and with none done before the first, on the calling thread; null: nobody is told. */
    void (*progress)(void* progress_arg, int64_t tiles_done, int64_t tiles);
    void* progress_arg;
    const volatile uint32_t* cancel; /* becoming non-zero ends the call soon with BP_CANCELLED; may be null       */
} backplane_upscale_options;

typedef struct backplane_upscale_result {
    uint32_t struct_size;
    uint32_t width, height, channels; /* of the output                            */
    int64_t tiles, tile;              /* how many, and of how many pixels of input */
    double seconds;                   /* compile and run                          */
} backplane_upscale_result;

/* PNG or JPEG, by its content, to .png, .jpg or .jpeg, by the name; UTF-8. A picture of any size, in bounded memory. The output appears whole or not at
 * all. result: may be null. BP_UNSUPPORTED also: a build that reads no pictures. */
BACKPLANE_API bp_code backplane_upscaler_run_file(backplane_upscaler* upscaler, const char* in, const char* out,
                                                  const backplane_upscale_options* options,
                                                  backplane_upscale_result* result, bp_error* error);
/* Pixels in memory: rows of width * channels bytes, from the top; channels 3 (RGB) or 4 (RGBA). `out` is of width * scale by height * scale pixels.
 * Other numbers of bytes are BP_INVALID. After an error what is in `out` is undefined. */
BACKPLANE_API bp_code backplane_upscaler_run(backplane_upscaler* upscaler, const void* in, uint64_t in_bytes, uint32_t width,
                                             uint32_t height, uint32_t channels, void* out, uint64_t out_bytes,
                                             const backplane_upscale_options* options, backplane_upscale_result* result,
                                             bp_error* error);

#ifdef __cplusplus
}
#endif
#endif
