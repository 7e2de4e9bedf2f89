// Element types of the kernels that move elements: SIZE bytes each.
#if SIZE == 1
#define M uint8_t
#elif SIZE == 2
#define M uint16_t
#elif SIZE == 4
#define M uint
#else
#define M uvec2
#endif
