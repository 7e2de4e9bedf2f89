// Loops over strided operands. Parameters from `at`: rank, sizes[8], then strides[8] of each operand, outermost loop first.
uint2 nest_offsets(constant uint *words, uint at, uint i) {
    uint2 offset = (uint2)(0u, 0u);
    for (uint d = P(at); d-- > 0;) {
        uint size = P(at + 1 + d);
        uint k = d == 0 ? i : i % size;
        i /= size;
        offset.x += k * P(at + 9 + d);
        offset.y += k * P(at + 17 + d);
    }
    return offset;
}
