#include "backplane/einsum.hpp"

#include <algorithm>
#include <cctype>

#include "backplane/ops.hpp"

namespace backplane {

namespace {

// Axes of a tensor as letters; those of "..." are characters behind the letters, the last axis the first of them.
using Axes = std::string;
constexpr char kUnnamed = 'z' + 1;

class Einsum {
public:
    Einsum(Graph& graph, std::string_view equation, const std::string& name)
        : graph_(graph), equation_(equation), name_(name) {}

    TensorId add(std::span<const TensorId> operands) {
        std::string text;
        std::copy_if(equation_.begin(), equation_.end(), std::back_inserter(text), [](char c) { return c != ' '; });
        const size_t arrow = text.find("->");
        std::vector<std::string> terms = split(text.substr(0, arrow));
        if (terms.size() != operands.size())
            refuse("names " + std::to_string(terms.size()) + " operands, " + std::to_string(operands.size()) + " are given");
        if (operands.size() > 2) refuse("has more than two operands: multiply them in pairs");
        std::vector<Part> parts;
        for (size_t i = 0; i < terms.size(); ++i) parts.push_back(part(operands[i], terms[i]));
        result_ = arrow == std::string::npos ? usual_result(parts) : axes_of(text.substr(arrow + 2), most_unnamed_);
        check_result(parts);
        for (Part& p : parts) p = diagonal(std::move(p));
        for (size_t i = 0; i < parts.size(); ++i) sum_own(parts[i], parts.size() == 2 ? parts[1 - i].axes : Axes());
        Part made = parts.size() == 2 ? product(parts[0], parts[1]) : parts[0];
        return ordered(std::move(made), result_).tensor;
    }

private:
    struct Part {
        TensorId tensor;
        Axes axes;
    };

    [[noreturn]] void refuse(const std::string& why) const {
        throw Error(Code::invalid, "Einsum '" + std::string(equation_) + "' " + why);
    }
    static std::vector<std::string> split(const std::string& text) {
        std::vector<std::string> terms(1);
        for (const char c : text) {
            if (c == ',')
                terms.emplace_back();
            else
                terms.back() += c;
        }
        return terms;
    }
    static bool has(const Axes& axes, char c) { return axes.find(c) != Axes::npos; }

    // "b...i" with two axes that are not named: b, the second of them, the first, i.
    [[nodiscard]] Axes axes_of(const std::string& term, size_t unnamed) const {
        Axes axes;
        for (size_t i = 0; i < term.size(); ++i) {
            if (term.compare(i, 3, "...") == 0) {
                if (term.find("...") != i) refuse("has ... twice in one term");
                for (size_t k = unnamed; k-- > 0;) axes += static_cast<char>(kUnnamed + k);
                i += 2;
                continue;
            }
            if (std::isalpha(static_cast<unsigned char>(term[i])) == 0)
                refuse(std::string("has '") + term[i] + "', which is no letter, comma or arrow");
            axes += term[i];
        }
        return axes;
    }
    static std::string said(char c) { return c >= kUnnamed ? "..." : std::string("'") + c + "'"; }

    Part part(TensorId operand, const std::string& term) {
        if (operand.index >= graph_.tensors().size()) refuse("is given a tensor that the graph does not have");
        const Shape shape = graph_[operand].shape;
        const size_t dots = term.find("...");
        const size_t named = term.size() - (dots == std::string::npos ? 0 : 3);
        if (named > shape.size() || (dots == std::string::npos && named != shape.size()))
            refuse("has " + std::to_string(named) + " letters for an operand " + to_string(shape));
        const size_t unnamed = shape.size() - named;
        most_unnamed_ = std::max(most_unnamed_, unnamed);
        Part made{operand, axes_of(term, unnamed)};
        for (size_t d = 0; d < shape.size(); ++d) {
            int64_t& extent = extents_[static_cast<unsigned char>(made.axes[d])];
            if (extent >= 0 && extent != shape[d])
                refuse("has " + said(made.axes[d]) + " of " + std::to_string(extent) + " and of " +
                       std::to_string(shape[d]));
            extent = shape[d];
        }
        return made;
    }

    [[nodiscard]] Axes usual_result(const std::vector<Part>& parts) const {
        Axes all, once;
        for (const Part& p : parts) all += p.axes;
        for (const char c : all)
            if (c < kUnnamed && std::count(all.begin(), all.end(), c) == 1) once += c;
        std::sort(once.begin(), once.end());
        Axes unnamed;
        for (size_t k = most_unnamed_; k-- > 0;) unnamed += static_cast<char>(kUnnamed + k);
        return unnamed + once;
    }
    void check_result(const std::vector<Part>& parts) const {
        for (const char c : result_) {
            if (std::none_of(parts.begin(), parts.end(), [&](const Part& p) { return has(p.axes, c); }))
                refuse("has " + said(c) + " in its result, and in no operand");
            if (std::count(result_.begin(), result_.end(), c) > 1) refuse("has " + said(c) + " twice in its result");
        }
    }

    // Each letter once: of n x n elements those of the diagonal lie n + 1 apart.
    Part diagonal(Part p) {
        for (size_t first = 0; first < p.axes.size(); ++first) {
            const char c = p.axes[first];
            const size_t second = p.axes.find(c, first + 1);
            if (second == Axes::npos) continue;
            Axes rest;
            std::vector<int64_t> perm;
            Shape shape;
            for (size_t d = 0; d < p.axes.size(); ++d) {
                if (d == first || d == second) continue;
                rest += p.axes[d];
                perm.push_back(static_cast<int64_t>(d));
                shape.push_back(graph_[p.tensor].shape[d]);
            }
            const int64_t n = extent_of(Axes(1, c));
            if (second + 1 != p.axes.size() || first + 1 != second) {
                perm.insert(perm.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
                p.tensor = graph_.add(Op::transpose, {p.tensor}, {{Attr::perm, perm}}, name_);
            }
            shape.push_back(n * n);
            std::vector<int64_t> steps(shape.size(), 1);
            steps.back() = n + 1;
            p.tensor = graph_.add(Op::slice, {reshaped(p.tensor, shape)},
                                  {{Attr::starts, std::vector<int64_t>(shape.size(), 0)},
                                   {Attr::ends, std::vector<int64_t>(shape)},
                                   {Attr::steps, steps}},
                                  name_);
            return diagonal({p.tensor, rest + c});
        }
        return p;
    }

    // Sums over what this operand alone has.
    void sum_own(Part& p, const Axes& other) {
        std::vector<int64_t> summed;
        Axes left;
        for (size_t d = 0; d < p.axes.size(); ++d) {
            if (has(result_, p.axes[d]) || has(other, p.axes[d]))
                left += p.axes[d];
            else
                summed.push_back(static_cast<int64_t>(d));
        }
        if (summed.empty()) return;
        p.tensor = graph_.add(Op::reduce_sum, {p.tensor}, {{Attr::axes, summed}, {Attr::keepdims, 0}}, name_);
        p.axes = left;
    }

    Part ordered(Part p, const Axes& wanted) {
        if (p.axes == wanted) return p;
        std::vector<int64_t> perm;
        for (const char c : wanted) perm.push_back(static_cast<int64_t>(p.axes.find(c)));
        return {graph_.add(Op::transpose, {p.tensor}, {{Attr::perm, perm}}, name_), wanted};
    }
    [[nodiscard]] int64_t extent_of(const Axes& axes) const {
        int64_t n = 1;
        for (const char c : axes) n *= extents_[static_cast<unsigned char>(c)];
        return n;
    }
    TensorId reshaped(TensorId tensor, const Shape& shape) {
        if (graph_[tensor].shape == shape) return tensor;
        return graph_.add(Op::reshape, {tensor}, {{Attr::shape, std::vector<int64_t>(shape)}}, name_);
    }

    // An operand as [batch..., rows, depth], or [batch..., depth, rows] where it lies so: `swapped`.
    TensorId matrix(const Part& p, const Axes& batch, const Axes& rows, const Axes& depth, bool* swapped) {
        *swapped = p.axes == batch + depth + rows && p.axes != batch + rows + depth;
        const Part lying = *swapped ? p : ordered(p, batch + rows + depth);
        Shape shape;
        for (const char c : batch) shape.push_back(extent_of(Axes(1, c)));
        shape.push_back(extent_of(*swapped ? depth : rows));
        shape.push_back(extent_of(*swapped ? rows : depth));
        return reshaped(lying.tensor, shape);
    }

    Part product(const Part& a, const Part& b) {
        Axes batch, depth, rows, columns;
        for (const char c : a.axes) (!has(b.axes, c) ? rows : has(result_, c) ? batch : depth) += c;
        for (const char c : b.axes)
            if (!has(a.axes, c)) columns += c;
        bool a_swapped = false, b_swapped = false;
        const TensorId left = matrix(a, batch, rows, depth, &a_swapped);
        const TensorId right = matrix(b, batch, columns, depth, &b_swapped);
        const TensorId y =
            graph_.add(Op::matmul, {left, right},
                       {{Attr::transpose_a, a_swapped ? 1 : 0}, {Attr::transpose_b, b_swapped ? 0 : 1}}, name_);
        Part made{y, batch + rows + columns};
        Shape shape;
        for (const char c : made.axes) shape.push_back(extent_of(Axes(1, c)));
        made.tensor = reshaped(y, shape);
        return made;
    }

    Graph& graph_;
    std::string_view equation_;
    const std::string& name_;
    Axes result_;
    size_t most_unnamed_ = 0;
    std::array<int64_t, 256> extents_ = [] {
        std::array<int64_t, 256> none{};
        none.fill(-1);
        return none;
    }();
};

}  // namespace

TensorId einsum(Graph& graph, std::string_view equation, std::span<const TensorId> operands, const std::string& name) {
    return Einsum(graph, equation, name).add(operands);
}

}  // namespace backplane
