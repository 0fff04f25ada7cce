#include "kernels/pages.hpp"
#include "kernels/rows.cuh"

namespace peerlane::cuda {
namespace {

/// Rows of all layers one behind the other.
struct PageRows {
    PagesArguments a;

    template <class Number>
    __device__ std::int64_t index(Address list, Number i) const {
        if (list == Address::null) {
            return static_cast<std::int64_t>(i);
        }
        auto const* const at = reinterpret_cast<const void*>(static_cast<std::uint64_t>(list));
        return a.index_bytes == 4 ? static_cast<const std::int32_t*>(at)[i] : static_cast<const std::int64_t*>(at)[i];
    }
    __device__ static std::uint64_t base(Address list, std::uint64_t layer) {
        return reinterpret_cast<const std::uint64_t*>(static_cast<std::uint64_t>(list))[layer];
    }

    template <class Number>
    __device__ void locate(Number row, unsigned char*& to, const unsigned char*& from) const {
        auto to_base = static_cast<std::uint64_t>(a.to);
        auto from_base = static_cast<std::uint64_t>(a.from);
        auto i = row;
        if (a.many_layers) {
            auto const layer = row / static_cast<Number>(a.pages);
            i = row - layer * static_cast<Number>(a.pages);
            to_base = base(a.to, layer);
            from_base = base(a.from, layer);
        }
        to = reinterpret_cast<unsigned char*>(to_base + static_cast<std::uint64_t>(index(a.to_index, i)) * a.to_pitch);
        from = reinterpret_cast<const unsigned char*>(from_base + static_cast<std::uint64_t>(index(a.from_index, i)) *
                                                                      a.from_pitch);
    }
};

cudaError_t launch_pages(const LaunchSite& site, const PagesArguments& a) {
    return launch_rows(site, PageRows{a}, a.pages * a.layers, a.page_bytes, a.unit);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(pages, PagesArguments, launch_pages, &move_rows<PageRows>)
