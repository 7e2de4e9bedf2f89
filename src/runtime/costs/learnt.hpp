// What runs of a network took on a device, by what had been predicted of them, and what another size of it will take by that.
#pragma once

#include <span>
#include <vector>

namespace backplane::runtime {

class Learnt {
public:
    // Of runs that were predicted alike: what the last three took, the newest at the end. Seconds above 0.
    struct Size {
        double predicted = 0;
        std::vector<double> taken;
        // The median; of fewer than three the shortest, since what disturbs a run makes it longer.
        [[nodiscard]] double typical() const;
    };

    Learnt() = default;
    explicit Learnt(std::vector<Size> sizes) : sizes_(std::move(sizes)) {}

    // What is out of all proportion (a machine that slept) teaches nothing.
    void add(double predicted, double taken);
    // Of one size in its proportion, between two on the line through both, beyond them along it. 1 where nothing is known.
    [[nodiscard]] double ratio(double predicted) const;
    [[nodiscard]] const std::vector<Size>& sizes() const noexcept { return sizes_; }  // the newest at the end
    [[nodiscard]] size_t runs() const noexcept;                                       // that are kept, of all sizes
    [[nodiscard]] bool valid() const noexcept;                                        // what is read of a file is looked at

    static constexpr size_t kMostSizes = 12, kMostTaken = 3;

private:
    std::vector<Size> sizes_;
};

}  // namespace backplane::runtime
