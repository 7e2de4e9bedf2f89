// Loops over strided operands. Parameters from `at`: rank, sizes[8], then strides[8] of each operand, outermost loop first.
uvec2 nest_offsets(uint at, uint i) {
    uint rank = WORD(at);
    uvec2 offset = uvec2(0);
    for (uint d = rank; d-- > 0;) {
        uint size = WORD(at + NEST_SIZES + d);
        uint k = d == 0 ? i : i % size;
        i /= size;
        offset += k * uvec2(WORD(at + NEST_STRIDES + d), WORD(at + NEST_SECOND_STRIDES + d));
    }
    return offset;
}
