// clang-format off
// The matrix units of compute capability 9.0 as four warps use them at once (wgmma), and copies of whole tiles that the device makes by itself
// (TMA, "tensor maps"), which say by barriers in shared memory when they are there. Shared memory is in lines of 128 bytes, whose eights are
// exchanged as both want them. PTX ISA, "Asynchronous warpgroup level matrix instructions", "Data movement: tensor copy", "mbarrier".
struct __align__(64) TensorMap { U64 words[16]; };
#define WARPGROUP_FUNCTION static __device__ __forceinline__
#define LINE_BYTES 128u
#define EIGHT_OF_LINE(line, eight) ((line) * LINE_BYTES + (((eight) ^ (line)) & 7u) * 16u)
WARPGROUP_FUNCTION uint shared_place(const void *p) { return (uint)__cvta_generic_to_shared(p); }
WARPGROUP_FUNCTION void bar_init(uint bar, uint count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory"); }
WARPGROUP_FUNCTION void bar_arrive(uint bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory"); }
// Arrives, and has the barrier wait for so many bytes of copies.
WARPGROUP_FUNCTION void bar_expect(uint bar, uint bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
// The same without arriving.
WARPGROUP_FUNCTION void bar_expect_more(uint bar, uint bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
WARPGROUP_FUNCTION void bar_wait(uint bar, uint parity) {
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN;\n}\n" ::"r"(bar), "r"(parity) : "memory");
}
WARPGROUP_FUNCTION void bars_are_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Who says that a slot is filled: one invocation, for all or for the device, or each of four warps for what it has asked for.
#if defined(BUFFERS)
#define WRITERS 128u
#else
#define WRITERS 1u
#endif
// Of slots in shared memory, that each is filled (by one) and free (said by those that multiply, `readers` of them): eight bytes each from `bars` on.
WARPGROUP_FUNCTION void make_ring(uint full, uint empty, uint slots, uint readers) {
    for (uint i = 0u; i < slots; ++i) {
        bar_init(full + 8u * i, WRITERS);
        bar_init(empty + 8u * i, readers);
    }
}
// Where one stands in a ring, and how often it has been round.
template <uint SLOTS> struct Ring {
    uint slot = 0u, turn = 0u;
    __device__ __forceinline__ void next() {
        if (++slot == SLOTS) slot = 0u, turn ^= 1u;
    }
};
// A box of an operand of three axes from (x, y, z) on to shared memory; `bar` counts its bytes.
WARPGROUP_FUNCTION void copy_box(uint to, const TensorMap &map, uint bar, uint x, uint y, uint z) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z) : "memory");
}
// Of four axes; what is outside of the operand is zero.
WARPGROUP_FUNCTION void copy_box(uint to, const TensorMap &map, uint bar, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
// What is behind this kernel may be made ready; it waits by itself (BP_WAIT_FOR_THOSE_BEFORE).
#if defined(BUFFERS)
#define START_THOSE_BEHIND
#else
#define START_THOSE_BEHIND asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#endif
// The map itself, to where copies look for it.
WARPGROUP_FUNCTION void prefetch_map(const TensorMap &map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
// Bytes that lie in a row, from and to a multiple of 16.
WARPGROUP_FUNCTION void copy_row(uint to, const void *from, uint bar, uint bytes) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(bar) : "memory");
}
// By all of four warps, for an operand that does not begin so that the device can: lines `first` and after it, of which those before `end`
// are there, of each 64 elements from `column` on, of which those before `width` are; `pitch`: from one line to the next.
WARPGROUP_FUNCTION void copy_lines(uint to, const F16 *p, U64 matrix, uint lines, uint first, uint end, uint column, uint width, uint pitch) {
    for (uint i = threadIdx.x % 128u; i < lines * 8u; i += 128u) {
        uint line = i / 8u, own = column + i % 8u * 8u;
        uint w[4] = {0u, 0u, 0u, 0u};
        const ushort *from = (const ushort *)p + matrix + (U64)(first + line) * pitch + own;
        if (first + line < end && own < width) UNROLL for (uint j = 0u; j < 4u; ++j) w[j] = from[2u * j] | (uint)from[2u * j + 1u] << 16;
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + EIGHT_OF_LINE(line, i % 8u)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    }
}
// The same of an operand that begins at a multiple of 16 bytes, asked for: an invocation's copies go on while it does. What is not there is zero.
template <uint LINES>
WARPGROUP_FUNCTION void ask_lines(uint to, const F16 *p, U64 matrix, uint first, uint end, uint column, uint width, uint pitch) {
    uint line = threadIdx.x % 128u / 8u, eight = threadIdx.x % 8u, own = column + eight * 8u;
    uint place = to + EIGHT_OF_LINE(line, eight), lines_there = own < width && first + line < end ? (end - first - line + 15u) / 16u : 0u;
    const F16 *from = p + (lines_there != 0u ? matrix + (U64)(first + line) * pitch + own : 0u);
    UNROLL for (uint i = 0u; i < LINES / 16u; ++i) {
        bool there = i < lines_there;
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                     ::"r"(place + i * (16u * LINE_BYTES)), "l"(__cvta_generic_to_global(there ? from : p)), "r"(there ? 16u : 0u) : "memory");
        from += 16u * (U64)pitch;
    }
}
// What was written to shared memory is there for the matrix units.
WARPGROUP_FUNCTION void written_for_units() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#if defined(BUFFERS)
// What the copying four warps do for a slot: ask for their part, which is there when the barrier says so, or write it (`copy`).
template <typename Ask, typename Copy>
WARPGROUP_FUNCTION void fill(uint bar, bool asks, uint, const Ask &ask, const Copy &copy) {
    if (asks) {
        ask();
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
    } else {
        copy();
        bar_arrive(bar);
    }
}
// A slot is filled, and what invocations wrote there is what the units read.
WARPGROUP_FUNCTION void wait_filled(uint bar, uint parity) {
    bar_wait(bar, parity);
    written_for_units();
}
#else
WARPGROUP_FUNCTION void wait_filled(uint bar, uint parity) { bar_wait(bar, parity); }
// What the copying four warps do for a slot: the first has the device copy (`ask`, of `bytes` in all) or, where an operand lies so that it cannot, all
// copy by themselves (`copy`). Then `bar` says that it is filled.
template <typename Ask, typename Copy>
WARPGROUP_FUNCTION void fill(uint bar, bool by_device, uint bytes, const Ask &ask, const Copy &copy) {
    if (by_device) {
        bar_expect(bar, bytes);
        ask();
    } else {
        copy();
        written_for_units();
        asm volatile("bar.sync 1, 128;" ::: "memory");
        if (threadIdx.x == 0u) bar_arrive(bar);
    }
}
#endif
// What one of the copying four warps has and one each of the two others that multiply: together no more than a workgroup is started with, 504.
template <uint COUNT = 40u> WARPGROUP_FUNCTION void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT)); }
template <uint COUNT = 232u> WARPGROUP_FUNCTION void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT)); }
#define UNITS_BEGIN asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define UNITS_END asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
// Until all but the last n of what UNITS_END closed are done.
#define UNITS_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
// An operand in shared memory, of lines as above; `apart`: bytes from one 64 of its rows (or columns) to the next, where lines run along them.
WARPGROUP_FUNCTION U64 lines_at(uint place, uint apart) {
    return (U64)((place & 0x3ffffu) >> 4) | (U64)(apart >> 4) << 16 | (U64)(8u * LINE_BYTES >> 4) << 32 | (U64)1 << 62;
}
// The left one, 64 x 16, as conv_warpgroup_filters lays it out: eight rows of eight elements lie in a row, then the next rows, then the other eights.
WARPGROUP_FUNCTION U64 filters_at(uint place) { return (U64)((place & 0x3ffffu) >> 4) | (U64)(1024u >> 4) << 16 | (U64)(128u >> 4) << 32; }
// Sums (64 x N) of four warps: invocation i of a warp has of its row i / 4, and of that eight below, columns i % 4 * 2 and the next of each eight.
// += left (64 x 16) * right (16 x N), or = with add false. TA, TB: lines run across the depth.
template <int N> struct Units;
#define FLOATS_4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define FLOATS_32(i) FLOATS_4(i), FLOATS_4((i) + 4), FLOATS_4((i) + 8), FLOATS_4((i) + 12), FLOATS_4((i) + 16), FLOATS_4((i) + 20), FLOATS_4((i) + 24), FLOATS_4((i) + 28)
#define NAMES_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_32 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_64 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_96 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// Both operands in shared memory; the left one in registers, as sums of 64 x 16 are held, in halves.
#define UNITS_OF(N, names, floats, L, R, ADD, TURN_L, TURN_R, L1, L2, L3, R4, ADD5, TURN_R6)                                              \
    template <> struct Units<N> {                                                                                                          \
        template <int TA, int TB> static __device__ __forceinline__ void multiply(float (&d)[N / 2], U64 left, U64 right, bool add) {      \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" names    \
                         "}, " L ", " R ", p, 1, 1, " TURN_L ", " TURN_R ";\n}\n"                                                          \
                         : floats : "l"(left), "l"(right), "r"((int)add), "n"(TA), "n"(TB));                                               \
        }                                                                                                                                  \
        template <int TB> static __device__ __forceinline__ void multiply(float (&d)[N / 2], const uint (&left)[4], U64 right, bool add) { \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADD5 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" names   \
                         "}, {" L ", " L1 ", " L2 ", " L3 "}, " R4 ", p, 1, 1, " TURN_R6 ";\n}\n"                                          \
                         : floats : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"((int)add), "n"(TB));           \
        }                                                                                                                                  \
    };
#define COMMA ,
UNITS_OF(64, NAMES_0, FLOATS_32(0), "%32", "%33", "%34", "%35", "%36", "%33", "%34", "%35", "%36", "%37", "%38")
UNITS_OF(128, NAMES_0 ", " NAMES_32, FLOATS_32(0) COMMA FLOATS_32(32), "%64", "%65", "%66", "%67", "%68", "%65", "%66", "%67", "%68", "%69", "%70")
UNITS_OF(256, NAMES_0 ", " NAMES_32 ", " NAMES_64 ", " NAMES_96, FLOATS_32(0) COMMA FLOATS_32(32) COMMA FLOATS_32(64) COMMA FLOATS_32(96), "%128", "%129", "%130", "%131", "%132", "%129", "%130", "%131", "%132", "%133", "%134")
WARPGROUP_FUNCTION uint two_halves(float low, float high) {
    uint v;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}
// Of four invocations beside each other number q has word q of four eights of a row; then all of eight number q.
WARPGROUP_FUNCTION uint4 whole_eight(uint a, uint b, uint c, uint d, uint q) {
    bool odd = q % 2u != 0u, upper = q >= 2u;
    uint first = __shfl_xor_sync(0xffffffffu, odd ? a : b, 1), second = __shfl_xor_sync(0xffffffffu, odd ? c : d, 1);
    uint e0 = odd ? first : a, e1 = odd ? b : first, f0 = odd ? second : c, f1 = odd ? d : second;
    uint low = __shfl_xor_sync(0xffffffffu, upper ? e0 : f0, 2), high = __shfl_xor_sync(0xffffffffu, upper ? e1 : f1, 2);
    return upper ? make_uint4(low, high, f0, f1) : make_uint4(e0, e1, low, high);
}
// What is written once for all kernels is made part of these: a call would have sums leave the units' registers.
#undef FUNCTION
#undef FUNCTION_APART
#define FUNCTION WARPGROUP_FUNCTION
#define FUNCTION_APART WARPGROUP_FUNCTION
