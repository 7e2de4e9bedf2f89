// Loops over strided operands. Parameters from `at`: rank, sizes[8], then strides[8] of each operand, outermost loop first.
uint2 nest_offsets(constant uint *words, uint at, uint i) {
    uint2 offset = (uint2)(0u, 0u);
    for (uint d = WORD(at); d-- > 0;) {
        uint size = WORD(at + NEST_SIZES + d);
        uint k = d == 0 ? i : i % size;
        i /= size;
        offset.x += k * WORD(at + NEST_STRIDES + d);
        offset.y += k * WORD(at + NEST_SECOND_STRIDES + d);
    }
    return offset;
}
