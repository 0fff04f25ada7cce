#pragma once
/// Division by a number that a whole launch has in common, as a multiplication. Method: Granlund and Montgomery,
/// "Division by Invariant Integers using Multiplication", PLDI 1994, figure 4.1.

#include "kernels/device.cuh"

namespace peerlane::cuda {

/// For numerators below 2^63 and values from 1 to 2^62.
struct Divisor {
    std::uint64_t value = 1, multiplier = 1;
    unsigned shift = 0;

    Divisor() = default;
    explicit Divisor(std::uint64_t by) : value(by) {
        while ((std::uint64_t{1} << shift) < by) {
            ++shift;
        }
        __extension__ using Wide = unsigned __int128;
        auto const excess = Wide{(std::uint64_t{1} << shift) - by} << 64;
        multiplier = static_cast<std::uint64_t>(excess / by) + 1;
    }
    __device__ std::uint64_t quotient(std::uint64_t number) const {
        return (__umul64hi(number, multiplier) + number) >> shift;
    }
};

}  // namespace peerlane::cuda
