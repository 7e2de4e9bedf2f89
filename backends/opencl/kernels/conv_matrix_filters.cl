#include "common.cl"
#define P PARAMETERS_OF(ConvFilters)
// The filters of a convolution as conv_matrix.cl reads them: tiles of 16 output channels x 16 channels of the input, in each the eight
// elements of a lane's fragment one behind the other; tiles of output channels fastest, then taps, slices, groups. A workgroup of 32 makes a
// tile. P: output channels of a group, channels, taps, tiles of output channels, slices, tiles in all.
ENTRY bp_conv_matrix_filters(PARAMETERS, READ(w, ushort), WRITE(y, uint4)) {
    WORDS_HERE;
    AT(w), AT(y);
    uint i = GROUP_INDEX;
    uint lane = get_local_id(0);
    if (i >= P.tiles) return;
    uint tile = i % P.down;
    uint tap = i / P.down % P.taps;
    uint slice = i / P.down / P.taps % P.slices;
    uint group = i / P.down / P.taps / P.slices;
    uint v[4];
    UNROLL for (uint k = 0; k < 4; ++k) {
        uint output = tile * 16 + k % 2 * 8 + lane / 4;
        uint channel = slice * 16 + k / 2 * 8 + lane % 4 * 2;
        ulong from = ((ulong)(group * P.outputs + output) * P.channels + channel) * P.taps + tap;
        uint low = output < P.outputs && channel < P.channels ? w[from] : 0;
        uint high = output < P.outputs && channel + 1 < P.channels ? w[from + P.taps] : 0;
        v[k] = low | high << 16;
    }
    y[i * 32 + lane] = (uint4)(v[0], v[1], v[2], v[3]);
}
