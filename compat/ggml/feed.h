/* For applications that keep their own ggml registry: chooses the best module of each kind in a folder, having tried it in a child process
 * before, and hands it to the application's own ggml_backend_load. */
#ifndef BACKPLANE_GGML_FEED_H
#define BACKPLANE_GGML_FEED_H

#ifdef __cplusplus
extern "C" {
#endif

/* `load`: the application's ggml_backend_load. `base`: path of its libggml-base. `folder`: where its modules lie. Returns how many were
 * loaded. Each refusal is said to `say` (may be null) in one sentence. Any thread, one call at a time. */
int backplane_ggml_feed(void* (*load)(const char* path), const char* base, const char* folder,
                        void (*say)(void* arg, const char* text), void* arg);

#ifdef __cplusplus
}
#endif
#endif
