// Element types of the kernels that move elements: SIZE bytes each.
#if SIZE == 1
#define M uchar
#elif SIZE == 2
#define M ushort
#elif SIZE == 4
#define M uint
#else
#define M ulong
#endif
