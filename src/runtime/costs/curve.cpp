#include <algorithm>
#include <cmath>

#include "backplane/cost.hpp"

namespace backplane {

double CostCurve::fixed() const {
    if (points.empty()) return 0;
    if (points.size() == 1) return 0;
    const Point &a = points[0], &b = points[1];
    // Of the line through the first two; work that grows slower than its time has none.
    return std::clamp(a.seconds - a.work * (b.seconds - a.seconds) / (b.work - a.work), 0.0, a.seconds);
}

double CostCurve::rate() const { return points.empty() ? 0 : points.back().work / points.back().seconds; }

double CostCurve::seconds(double work) const {
    if (points.empty()) return 0;
    if (work >= points.back().work) return work / rate();
    Point from{0, fixed()};
    for (const Point& to : points) {
        if (work <= to.work) return from.seconds + (work - from.work) / (to.work - from.work) * (to.seconds - from.seconds);
        from = to;
    }
    return from.seconds;
}

bool CostCurve::valid() const noexcept {
    double last = 0;
    for (const Point& point : points) {
        if (!std::isfinite(point.work) || !std::isfinite(point.seconds) || point.work <= last || point.seconds <= 0)
            return false;
        last = point.work;
    }
    return true;
}

bool DeviceCosts::is_by_operations(std::string_view kind) {
    const std::string_view op = kind.substr(0, kind.find(' '));
    return op == "product" || op == "convolution" || op == "attention";
}

}  // namespace backplane
