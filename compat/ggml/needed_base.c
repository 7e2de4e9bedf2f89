// Nothing: a library of libggml-base's name to be linked with, so that the real one is needed.
extern int backplane_ggml_needed_base;
int backplane_ggml_needed_base = 0;
