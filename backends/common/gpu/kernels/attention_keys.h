// What kernels of attention share: a workgroup makes ROWS rows of those that share a head of k, or the last of them.
// pair: the head of k; first_row (`first`), rows: its rows there; start: where the first query stands among the keys; first_key, last_key: between which
// keys any of its rows sees; window: 0: none.
#define KEYS_OF_BLOCK(first)                                                                       \
    uint pair = GROUP_INDEX / P.blocks;                                                            \
    if (pair >= P.pairs) return;                                                                   \
    uint first_row = first;                                                                        \
    uint rows = min(P.rows - first_row, CAST(uint, ROWS));                                         \
    uint batch = pair / P.heads;                                                                   \
    int length = CAST(int, P.keys);                                                                \
    if (P.length_words != 0u) {                                                                    \
        int low = RAW(lengths, batch * P.length_words);                                            \
        int high = P.length_words == 2u ? RAW(lengths, batch * 2u + 1u) : low < 0 ? -1 : 0;        \
        length = high < 0 ? 0 : high > 0 || low < 0 ? length : min(length, low);                   \
    }                                                                                              \
    int start = (P.padded != 0u ? CAST(int, P.keys) : length) - CAST(int, P.queries);              \
    int window = CAST(int, P.window);                                                              \
    /* What the first and the last query of the block stand at. */                                 \
    bool one_head = first_row / P.queries == (first_row + rows - 1u) / P.queries;                  \
    int early = start + CAST(int, one_head ? first_row % P.queries : 0u);                          \
    int late = start + CAST(int, one_head ? (first_row + rows - 1u) % P.queries : P.queries - 1u); \
    uint first_key = window == 0 ? 0u : CAST(uint, max(early - window + 1, 0));                    \
    int end = P.causal == 0u ? length : min(length, late + 1);                                     \
    uint last_key = CAST(uint, max(window == 0 ? end : min(end, late + window), 0));
// Does a query that stands at `at` see the key, which is below last_key?
#define SEES(at, key) sees(CAST(int, at) - CAST(int, key), P.causal != 0u, CAST(int, P.window))
FUNCTION bool sees(int distance, bool causal, int window) {
    return (!causal || distance >= 0) && (window == 0 || (distance < window && -distance < window));
}
// Where the mask of a row of the pair begins.
#define MASK_OF(pair, row)                                                                                           \
    ((pair) / P.heads * P.mask_batch + ((pair) % P.heads * (P.rows / P.queries) + (row) / P.queries) * P.mask_head + \
     (row) % P.queries * P.mask_query)
// A score with what a mask of bytes or of numbers, which are bytes here too, makes of it; numbers are in units of 1 / `unit`.
#define MASKED_BY_ANY(v, i, unit) \
    (P.masked == MASKED_BY_TRUTHS ? (RAW(mask, i) != 0 ? (v) : -K_INFINITY) : (v) + LOAD(NUMBERS_IN(mask), i) * (unit))
