#include "ops/integers.hpp"

#include <cmath>
#include <type_traits>

#include "common/saturated.hpp"

namespace backplane::cpu {

namespace {

// Arithmetic modulo 2^32 or 2^64: what the hardware does, without undefined overflow.
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
T negated(T x) {
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
}

struct Add {
    template <typename T>
    static T of(T x, T y) {
        return static_cast<T>(static_cast<Unsigned<T>>(x) + static_cast<Unsigned<T>>(y));
    }
};
struct Sub {
    template <typename T>
    static T of(T x, T y) {
        return static_cast<T>(static_cast<Unsigned<T>>(x) - static_cast<Unsigned<T>>(y));
    }
};
struct Mul {
    template <typename T>
    static T of(T x, T y) {
        return static_cast<T>(static_cast<Unsigned<T>>(x) * static_cast<Unsigned<T>>(y));
    }
};
struct Div {
    template <typename T>
    static T of(T x, T y) {
        return y == 0 ? T{0} : y == -1 ? negated(x) : static_cast<T>(x / y);
    }
};
// With the sign of x.
struct Remainder {
    template <typename T>
    static T of(T x, T y) {
        return y == 0 || y == -1 ? T{0} : static_cast<T>(x % y);
    }
};
// With the sign of y.
struct Modulo {
    template <typename T>
    static T of(T x, T y) {
        const T rest = Remainder::of(x, y);
        return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
    }
};
// y below 0: what 1 / x^-y truncates to, 0 where x is 0.
struct Pow {
    template <typename T>
    static T of(T x, T y) {
        if (y < 0) return x == 1 || x == -1 ? (y % 2 == 0 ? T{1} : x) : T{0};
        T power = 1;
        for (T square = x; y > 0; y /= 2, square = Mul::of(square, square))
            if (y % 2 == 1) power = Mul::of(power, square);
        return power;
    }
};
struct PRelu {
    template <typename T>
    static T of(T x, T slope) {
        return x < 0 ? Mul::of(x, slope) : x;
    }
};
struct Max {
    template <typename T>
    static T of(T x, T y) {
        return x > y ? x : y;
    }
};
struct Min {
    template <typename T>
    static T of(T x, T y) {
        return x < y ? x : y;
    }
};

template <typename T, typename Op>
void binary(const std::byte* x, int64_t x_step, const std::byte* y, int64_t y_step, std::byte* out, int64_t n) {
    const T* a = reinterpret_cast<const T*>(x);
    const T* b = reinterpret_cast<const T*>(y);
    T* into = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) into[i] = Op::of(a[i * x_step], b[i * y_step]);
}

template <typename T>
void clip(const std::byte* x, std::byte* out, int64_t n, double least, double most) {
    const T* a = reinterpret_cast<const T*>(x);
    T* into = reinterpret_cast<T*>(out);
    const T low = backend::saturated<T>(std::ceil(least));
    const T high = backend::saturated<T>(std::floor(most));
    for (int64_t i = 0; i < n; ++i) into[i] = Min::of(Max::of(a[i], low), high);
}

template <typename T>
void negate(const std::byte* x, std::byte* out, int64_t n, double, double) {
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(out)[i] = negated(reinterpret_cast<const T*>(x)[i]);
}

template <typename T>
void absolute(const std::byte* x, std::byte* out, int64_t n, double, double) {
    const T* a = reinterpret_cast<const T*>(x);
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(out)[i] = a[i] < 0 ? negated(a[i]) : a[i];
}

template <typename T>
void relu(const std::byte* x, std::byte* out, int64_t n, double, double) {
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(out)[i] = Max::of(reinterpret_cast<const T*>(x)[i], T{0});
}

template <typename T>
IntegerUnary unary_of(uint32_t op) {
    switch (op) {
        case BP_OP_abs: return absolute<T>;
        case BP_OP_neg: return negate<T>;
        case BP_OP_clip: return clip<T>;
        case BP_OP_relu: return relu<T>;
        default: return nullptr;
    }
}

template <typename T>
IntegerBinary binary_of(const Node& node) {
    switch (node.op) {
        case BP_OP_add: return binary<T, Add>;
        case BP_OP_sub: return binary<T, Sub>;
        case BP_OP_mul: return binary<T, Mul>;
        case BP_OP_div: return binary<T, Div>;
        case BP_OP_mod: return node.as<backplane::ops::ModAttributes>().fmod ? binary<T, Remainder> : binary<T, Modulo>;
        case BP_OP_pow: return binary<T, Pow>;
        case BP_OP_p_relu: return binary<T, PRelu>;
        case BP_OP_max: return binary<T, Max>;
        case BP_OP_min: return binary<T, Min>;
        default: return nullptr;
    }
}

}  // namespace

IntegerUnary find_integer_unary(uint32_t op, uint32_t dtype) {
    if (dtype == BP_I32) return unary_of<int32_t>(op);
    return dtype == BP_I64 ? unary_of<int64_t>(op) : nullptr;
}

IntegerBinary find_integer_binary(const Node& node, uint32_t dtype) {
    if (dtype == BP_I32) return binary_of<int32_t>(node);
    return dtype == BP_I64 ? binary_of<int64_t>(node) : nullptr;
}

}  // namespace backplane::cpu
