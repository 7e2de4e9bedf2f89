// A set of flags of one enumeration: bits that cannot be mixed up with those of another.
//
//   const bool overlaps = device.info().capabilities.has(Capability::async);
//   Flags<Capability> wanted = Flags(Capability::async) | Capability::map;
#pragma once

#include <type_traits>

namespace backplane {

template <class E>
class Flags {
public:
    using Bits = std::underlying_type_t<E>;
    constexpr Flags() = default;                                        // none
    constexpr Flags(E one) noexcept : bits_(static_cast<Bits>(one)) {}  // NOLINT(google-explicit-constructor)
    constexpr explicit Flags(Bits bits) noexcept : bits_(bits) {}       // as they cross the ABI; unknown ones are kept

    [[nodiscard]] constexpr bool has(E one) const noexcept { return (bits_ & static_cast<Bits>(one)) != 0; }
    [[nodiscard]] constexpr bool none() const noexcept { return bits_ == 0; }
    [[nodiscard]] constexpr Bits bits() const noexcept { return bits_; }
    friend constexpr Flags operator|(Flags a, Flags b) noexcept { return Flags(static_cast<Bits>(a.bits_ | b.bits_)); }
    friend constexpr Flags operator&(Flags a, Flags b) noexcept { return Flags(static_cast<Bits>(a.bits_ & b.bits_)); }
    friend constexpr bool operator==(Flags a, Flags b) noexcept { return a.bits_ == b.bits_; }

private:
    Bits bits_ = 0;
};

}  // namespace backplane
