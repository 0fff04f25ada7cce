#include "kernels/pages.hpp"
#include "kernels/rows.cuh"

namespace peerlane::cuda {
namespace {

/// The numbers of one side; without a list row i has number i.
template <class Number, bool given>
struct Numbers {
    const Number* list;
    __device__ Number operator[](std::uint64_t i) const { return __ldg(list + i); }
};
template <class Number>
struct Numbers<Number, false> {
    const Number* list;
    __device__ std::uint64_t operator[](std::uint64_t i) const { return i; }
};

template <class Number, bool to_given, bool from_given>
struct PageRows {
    std::uint64_t to, from;  ///< bases, or arrays of them
    Numbers<Number, to_given> to_numbers;
    Numbers<Number, from_given> from_numbers;
    std::uint64_t to_pitch, from_pitch;
    bool many_layers;

    struct Layer {
        std::uint64_t to, from;
    };
    struct Key {
        decltype(to_numbers[0]) to;
        decltype(from_numbers[0]) from;
    };
    __device__ static std::uint64_t base(std::uint64_t bases, std::uint64_t layer) {
        return __ldg(reinterpret_cast<const unsigned long long*>(bases) + layer);
    }
    __device__ Layer layer(std::uint64_t i) const {
        return many_layers ? Layer{base(to, i), base(from, i)} : Layer{to, from};
    }
    __device__ Key find(std::uint64_t row) const { return {to_numbers[row], from_numbers[row]}; }
    __device__ Ends locate(const Layer& layer, Key key) const {
        return {reinterpret_cast<unsigned char*>(layer.to + static_cast<std::uint64_t>(key.to) * to_pitch),
                reinterpret_cast<const unsigned char*>(layer.from + static_cast<std::uint64_t>(key.from) * from_pitch)};
    }
};

template <class Number, bool to_given, bool from_given>
cudaError_t launch_as(const LaunchSite& site, const PagesArguments& a) {
    auto const list = [](Address at) { return static_cast<const Number*>(pointer_to(at)); };
    PageRows<Number, to_given, from_given> const rows{static_cast<std::uint64_t>(a.to),
                                                      static_cast<std::uint64_t>(a.from),
                                                      {list(a.to_index)},
                                                      {list(a.from_index)},
                                                      a.to_pitch,
                                                      a.from_pitch,
                                                      a.many_layers};
    return launch_rows(site, rows, a.layers, a.pages, a.page_bytes, a.unit);
}

template <class Number>
cudaError_t launch_with(const LaunchSite& site, const PagesArguments& a) {
    auto const to = a.to_index != Address::null, from = a.from_index != Address::null;
    return to ? (from ? launch_as<Number, true, true>(site, a) : launch_as<Number, true, false>(site, a))
              : (from ? launch_as<Number, false, true>(site, a) : launch_as<Number, false, false>(site, a));
}

cudaError_t launch_pages(const LaunchSite& site, const PagesArguments& a) {
    return a.index_bytes == 4 ? launch_with<std::int32_t>(site, a) : launch_with<long long>(site, a);
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(pages, PagesArguments, launch_pages, &move_rows<PageRows<std::int32_t, true, true>>,
                     &move_rows<PageRows<std::int32_t, true, false>>, &move_rows<PageRows<std::int32_t, false, true>>,
                     &move_rows<PageRows<std::int32_t, false, false>>, &move_rows<PageRows<long long, true, true>>,
                     &move_rows<PageRows<long long, true, false>>, &move_rows<PageRows<long long, false, true>>,
                     &move_rows<PageRows<long long, false, false>>)
