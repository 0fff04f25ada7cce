#pragma once
/// Where bytes live, and addresses within it.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peerlane {

/// `gpu0`, `host:1` (memory of NUMA node 1) or `host` (any node).
struct Place {
    enum class Kind : std::uint8_t { device, host };
    static constexpr int any = -1;

    Kind kind = Kind::device;
    int index = 0;  ///< device ordinal, or NUMA node, or `any`

    [[nodiscard]] constexpr bool is_device() const { return kind == Kind::device; }
    [[nodiscard]] constexpr bool is_host() const { return kind == Kind::host; }
    friend constexpr auto operator<=>(const Place&, const Place&) = default;
};

constexpr Place gpu(int device) {
    return {Place::Kind::device, device};
}
constexpr Place host(int numa = Place::any) {
    return {Place::Kind::host, numa};
}

/// Reads `0`, `gpu0`, `host`, `host:1`. Empty when it is no place; does not know which places a machine has.
std::optional<Place> parse_place(std::string_view text);
std::string to_string(Place place);

/// An address in the space that devices and host share (unified addressing). Under simulation no memory stands behind
/// it.
enum class Address : std::uint64_t { null = 0 };

constexpr Address operator+(Address a, std::uint64_t bytes) {
    return Address{static_cast<std::uint64_t>(a) + bytes};
}
constexpr std::uint64_t operator-(Address a, Address b) {
    return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
}
inline Address address_of(const void* pointer) {
    return Address{reinterpret_cast<std::uintptr_t>(pointer)};
}
inline void* pointer_to(Address a) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(a));
}

/// An address and the place it is known to belong to.
struct Location {
    Place place;
    Address address = Address::null;
    friend constexpr auto operator<=>(const Location&, const Location&) = default;
};

}  // namespace peerlane
