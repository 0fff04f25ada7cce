#pragma once
/// Anonymous pages of one NUMA node, by the kernel's own calls: one function does not justify a library.

#include <cstdint>

namespace peerlane::cuda {

enum class PagesOf : std::uint8_t { node, any };

struct HostPages {
    void* base = nullptr;     ///< nullptr: no memory
    std::uint64_t bytes = 0;  ///< mapped: rounded up to whole pages
    PagesOf where = PagesOf::any;
};

/// Maps `bytes` bytes whose pages will come from `node`. `any` where the kernel knows no nodes or does not allow the
/// process to choose. std::invalid_argument for a node that this machine does not have.
HostPages map_pages(std::uint64_t bytes, int node);
void unmap_pages(void* base, std::uint64_t bytes) noexcept;

}  // namespace peerlane::cuda
