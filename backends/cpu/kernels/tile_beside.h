// What vectors do between the products of a matrix unit, which leave them idle: the next panel is packed, sums become results, lines are asked for.
// A step is some hundred instructions: more of them would keep the unit waiting for its next products.
#pragma once

#include "kernels/tile.h"
#include "kernels/tile_panels.h"

namespace {

// So much work in so many steps, as evenly as can be.
class Pace {
public:
    Pace() = default;
    Pace(int64_t work, int64_t steps) : work_(work), steps_(HWY_MAX(steps, int64_t{1})) {}
    // How much of it is due.
    HWY_INLINE int64_t step() {
        int64_t n = 0;
        for (due_ += work_; due_ >= steps_; due_ -= steps_) ++n;
        return n;
    }

private:
    int64_t work_ = 0, steps_ = 1, due_ = 0;
};

// A panel of floats (packs_between()) that is packed a pair of depths by two vectors at a time.
class NextPanel {
public:
    // `depth` rows from `from` on, in as many steps as there may be.
    void begin(const TilesTask& t, const uint8_t* from, int64_t depth, const PanelForm& form, uint16_t* panel,
               int64_t steps) {
        const bool floats = t.type == backplane::cpu::kPackedF32;
        if (floats)
            one_ = t.exact ? &pack<true, float> : &pack<false, float>;
        else
            one_ = t.exact ? &pack<true, uint16_t> : &pack<false, uint16_t>;
        from_ = from;
        row_bytes_ = form.width() * (floats ? 4 : 2);
        depth_ = depth;
        form_ = form;
        panel_ = panel;
        vector_ = row_ = 0;
        left_ = form.parts * (kTileDepth / 2) * whole_tiles(form.vectors, 2);
        pace_ = Pace(left_, steps);
        lost_ = 0;
    }
    HWY_INLINE void step() {
        if (left_ == 0) return;
        for (int64_t i = pace_.step(); i > 0 && left_ > 0; --i) one_(*this);
    }
    void rest() {
        while (left_ > 0) one_(*this);
    }
    [[nodiscard]] bool held() const { return lost_ == 0; }

private:
    template <bool EXACT, typename T>
    static HWY_NOINLINE void pack(NextPanel& p) {
        constexpr int64_t kAhead = 16;  // rows
        const auto* from = reinterpret_cast<const T*>(p.from_) + p.vector_ * kLanes;
        const int64_t width = p.form_.width();
        const int64_t there = p.depth_ - 2 * p.row_;
        uint16_t* to = p.panel_ + p.form_.at(p.vector_, p.row_ / (kTileDepth / 2)) + p.row_ % (kTileDepth / 2) * kTileDepth;
        const int planes = p.form_.planes;
        __mmask16 lost = 0;
        const auto both = [&](int n) HWY_ATTR {
            lost |= pack_pair<EXACT>(from, there, width, n, to);
            if (p.vector_ + 1 < p.form_.vectors)
                lost |= pack_pair<EXACT>(from + kLanes, there, width, n, to + planes * kTileNumbers);
        };
        if (planes == 3)
            both(3);
        else
            both(planes);
        p.lost_ |= lost;
        for (int64_t i = 0; i < 2; ++i) {
            __builtin_prefetch(from + (kAhead + i) * width, 0, 2);
            __builtin_prefetch(from + (kAhead + i) * width + kLanes, 0, 2);
        }
        --p.left_;
        if ((p.vector_ += 2) < p.form_.vectors) return;
        p.vector_ = 0;
        p.from_ += 2 * p.row_bytes_;
        ++p.row_;
    }

    void (*one_)(NextPanel&) = nullptr;
    const uint8_t* from_ = nullptr;
    uint16_t* panel_ = nullptr;
    int64_t row_bytes_ = 0, depth_ = 0, vector_ = 0, row_ = 0, left_ = 0;  // of depths two are a row
    Pace pace_;
    PanelForm form_{0, 0, 1};
    __mmask16 lost_ = 0;
};

// Sums of whole tiles become results, as many rows as there are and so many vectors of columns: two rows by two vectors at a time.
class Finish {
public:
    // In as many steps as there may be. The first of them wait until sums are where they are read.
    void begin(const TilesTask& t, const float* sums, int64_t row, int64_t row_end, int64_t column, int64_t vectors,
               int64_t steps) {
        rest();
        task_ = &t;
        sums_ = sums;
        row_ = row;
        row_end_ = row_end;
        column_ = column;
        columns_ = HWY_MIN(vectors * kLanes, t.columns - column);
        wait_ = steps / 8;
        pace_ = Pace(whole_tiles(row_end - row, int64_t{kRows}), steps - wait_);
    }
    HWY_INLINE void step() {
        if (row_ >= row_end_ || wait_-- > 0) return;
        for (int64_t i = pace_.step(); i > 0 && row_ < row_end_; --i) one();
    }
    void rest() {
        while (row_ < row_end_) one();
    }

private:
    static constexpr int kRows = 2;
    HWY_NOINLINE void one() {
        const int64_t valid = HWY_MIN(static_cast<int64_t>(kRows), row_end_ - row_);
        const int64_t rows[kRows] = {row_, row_ + valid - 1};
        float* out = task_->out + row_ * task_->out_row + column_;
        const auto finish_vectors = [&](auto tile, int64_t columns) HWY_ATTR {
            constexpr int kTaken = sizeof(tile.v[0]) / sizeof(tile.v[0][0]);
            each(tile, [&](VF, int i, int j) HWY_ATTR { return hn::LoadU(f, sums_ + i * kBlock + j * kLanes); });
            finish_copy(tile, task_->epilogue, rows, column_, columns);
            store_rows<kRows, kTaken>(tile, valid, columns, out, task_->out_row);
        };
        if (columns_ > kLanes)
            finish_vectors(Tile<kRows, 2>(), columns_);
        else
            finish_vectors(Tile<kRows, 1>(), columns_);
        row_ += kRows;
        sums_ += kRows * kBlock;
    }

    const TilesTask* task_ = nullptr;
    const float* sums_ = nullptr;
    int64_t row_ = 0, row_end_ = 0, column_ = 0, columns_ = 0, wait_ = 0;
    Pace pace_;
};

// Rows of the result that are written next, two lines of each, asked for between the products: stores by themselves wait for ten lines at a time.
struct NextRows {
    const float* at = nullptr;
    int64_t row = 0, rows = 0;  // floats from one to the next; how many
    int64_t some = 0;           // at a time

    HWY_INLINE void ask() {
        const int64_t n = HWY_MIN(some, rows);
        for (int64_t i = 0; i < n; ++i, at += row) {
            __builtin_prefetch(at, 0, 2);
            __builtin_prefetch(at + kLanes, 0, 2);
        }
        rows -= n;
    }
};

// Lines of the left side that the next part of the depth takes, of two rows of tiles.
struct NextLeft {
    const uint16_t* at = nullptr;
    int64_t row = 0, lines = 0;  // numbers from one row of tiles to the next; how many lines of each
    int64_t some = 0;            // at a time

    HWY_INLINE void ask() {
        constexpr int64_t kNumbers = 32;  // of a line
        const int64_t n = HWY_MIN(some, lines);
        for (int64_t i = 0; i < n; ++i, at += kNumbers) {
            __builtin_prefetch(at, 0, 2);
            if (row > 0) __builtin_prefetch(at + row, 0, 2);
        }
        lines -= n;
    }
};

struct Beside {
    NextPanel panel;
    Finish finish;
    NextRows rows;
    NextLeft left;
    NextTiles* tiles = nullptr;

    HWY_INLINE void step() {
        rows.ask();
        left.ask();
        if (tiles != nullptr) tiles->step();
        finish.step();
        panel.step();
    }
};

}  // namespace
