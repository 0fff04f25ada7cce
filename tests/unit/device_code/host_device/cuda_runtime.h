#pragma once
#include <algorithm>

#include "cuda_runtime_api.h"

#pragma GCC diagnostic ignored "-Wpedantic"  // __int128, which nvcc takes too

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

template <class T>
T __ldcv(const T* at) {
    return *at;
}
template <class T>
T __ldcs(const T* at) {
    return *at;
}
template <class T>
T __ldg(const T* at) {
    return *at;
}
template <class T>
void __stcs(T* at, T value) {
    *at = value;
}
inline std::uint64_t __umul64hi(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{a} * b) >> 64);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((std::uint64_t{high} << 32) | low) >> (shift & 31));
}
inline void __syncthreads() {}
inline void __threadfence_system() {}
inline void __threadfence_block() {}
inline void atomicMin(unsigned long long* at, unsigned long long value) {
    *at = std::min(*at, value);
}
inline void atomicAdd(unsigned long long* at, unsigned long long value) {
    *at += value;
}
inline unsigned atomicCAS(unsigned* at, unsigned expected, unsigned value) {
    auto const old = *at;
    *at = old == expected ? value : old;
    return old;
}
inline unsigned atomicAdd_system(unsigned* at, unsigned value) {
    auto const old = *at;
    *at = old + value;
    return old;
}
