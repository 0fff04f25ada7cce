#include "driver/cuda/host_pages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <stdexcept>

namespace peerlane::cuda {
namespace {

constexpr int bits_a_word = sizeof(unsigned long) * CHAR_BIT;
constexpr int most_nodes = 1024;  // the kernel's own limit, CONFIG_NODES_SHIFT 10
constexpr int mode_bind = 2;      // MPOL_BIND of linux/mempolicy.h, which is not everywhere installed

/// 0 or errno.
int bind_to_node(void* base, std::uint64_t bytes, int node) {
    std::array<unsigned long, most_nodes / bits_a_word> mask{};
    mask[static_cast<std::size_t>(node / bits_a_word)] = 1UL << (node % bits_a_word);
    // The kernel reads one bit less than it is told.
    auto const result = syscall(SYS_mbind, base, bytes, mode_bind, mask.data(), most_nodes + 1UL, 0U);
    return result == 0 ? 0 : errno;
}

}  // namespace

HostPages map_pages(std::uint64_t bytes, int node) {
    if (node < 0 || node >= most_nodes) {
        throw std::invalid_argument(fmt::format("host:{}: no such NUMA node", node));
    }
    auto const page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    auto const mapped = (bytes + page - 1) / page * page;
    if (mapped < bytes) {
        return {};
    }
    void* const base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return {};
    }
    auto const problem = bind_to_node(base, mapped, node);
    if (problem == EINVAL) {
        unmap_pages(base, mapped);
        throw std::invalid_argument(fmt::format("host:{}: no such NUMA node", node));
    }
    return {base, mapped,
            problem == 0 ? PagesOf::node : PagesOf::any};  // ENOSYS: no nodes; EPERM: a container's filter
}

void unmap_pages(void* base, std::uint64_t bytes) noexcept {
    munmap(base, bytes);
}

}  // namespace peerlane::cuda
