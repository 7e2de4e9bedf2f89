// clang-format off
// Slices of operands in shared memory (`slices`, of eight halves each), for kernels that multiply them on the matrix units.
#if !defined(SLOT)  // where an eight of a line stands: one more in each line, so that lines begin at different banks
#define PITCH(eights) ((eights) + 1u)
#define SLOT(line, eight, eights) ((line) * PITCH(eights) + (eight))
#define LOAD_SLICE_A(m, shared_, from, line, eight, eights, turned) LOAD_A(m, shared_, (from) + SLOT(line, eight, eights), PITCH(eights), turned)
#define LOAD_SLICE_B(m, shared_, from, line, eight, eights, turned) LOAD_B(m, shared_, (from) + SLOT(line, eight, eights), PITCH(eights), turned)
#endif
#define STAGE 5u  // fours of a row of a tile of sums, where it goes through there
// What is copied: the eight at at_ of an operand to place_, or zeros where it is not there_.
#define TWO(p, i) (HALF_BITS(p, i) | HALF_BITS(p, (i) + 1u) << 16)
#define NOTHING UINT4(0u, 0u, 0u, 0u)
#define BY_ELEMENTS(p) slices[place_] = there_ ? UINT4(TWO(p, at_), TWO(p, at_ + 2u), TWO(p, at_ + 4u), TWO(p, at_ + 6u)) : NOTHING;
