#include "common.cl"
// The filters of a convolution as conv_matrix.cl reads them: tiles of 16 output channels x 16 channels of the input, in each the eight
// elements of a lane's fragment one behind the other; tiles of output channels fastest, then taps, slices, groups. A workgroup of 32 makes a
// tile. P: output channels of a group, channels, taps, tiles of output channels, slices, tiles in all.
ENTRY bp_conv_matrix_filters(PARAMETERS, READ(w, ushort), WRITE(y, uint4)) {
    BEGIN;
    AT(w), AT(y);
    uint i = group_index();
    uint lane = get_local_id(0);
    if (i >= P(5)) return;
    uint tile = i % P(3);
    uint tap = i / P(3) % P(2);
    uint slice = i / P(3) / P(2) % P(4);
    uint group = i / P(3) / P(2) / P(4);
    uint v[4];
    UNROLL for (uint k = 0; k < 4; ++k) {
        uint output = tile * 16 + k % 2 * 8 + lane / 4;
        uint channel = slice * 16 + k / 2 * 8 + lane % 4 * 2;
        ulong from = ((ulong)(group * P(0) + output) * P(1) + channel) * P(2) + tap;
        uint low = output < P(0) && channel < P(1) ? w[from] : 0;
        uint high = output < P(0) && channel + 1 < P(1) ? w[from + P(2)] : 0;
        v[k] = low | high << 16;
    }
    y[i * 32 + lane] = (uint4)(v[0], v[1], v[2], v[3]);
}
