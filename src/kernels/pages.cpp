#include "kernels/pages.hpp"

#include <cstring>

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

/// Element i of a list of 4- or 8-byte signed numbers.
std::uint64_t element(const std::vector<unsigned char>& list, std::uint64_t i, unsigned bytes) {
    if (bytes == 4) {
        std::int32_t narrow = 0;
        std::memcpy(&narrow, list.data() + i * 4, 4);
        return static_cast<std::uint64_t>(narrow);
    }
    std::uint64_t wide = 0;
    std::memcpy(&wide, list.data() + i * 8, 8);
    return wide;
}

struct List {
    std::vector<unsigned char> bytes{};
    unsigned width = 8;
    [[nodiscard]] std::uint64_t at(std::uint64_t i) const { return bytes.empty() ? i : element(bytes, i, width); }
};

KernelSteps meaning(PagesArguments a) {
    List to_index, from_index, to_bases, from_bases;
    if (a.to_index != Address::null) {
        to_index = {std::vector<unsigned char>(a.pages * a.index_bytes), a.index_bytes};
        co_yield step::fetch(a.to_index, to_index.bytes.size(), to_index.bytes.data());
    }
    if (a.from_index != Address::null) {
        from_index = {std::vector<unsigned char>(a.pages * a.index_bytes), a.index_bytes};
        co_yield step::fetch(a.from_index, from_index.bytes.size(), from_index.bytes.data());
    }
    if (a.many_layers) {
        to_bases = from_bases = {std::vector<unsigned char>(a.layers * 8), 8};
        co_yield step::fetch(a.to, to_bases.bytes.size(), to_bases.bytes.data());
        co_yield step::fetch(a.from, from_bases.bytes.size(), from_bases.bytes.data());
    }
    std::vector<MemoryPiece> pieces;
    pieces.reserve(a.pages * a.layers);
    for (std::uint64_t layer = 0; layer < a.layers; ++layer) {
        auto const to = a.many_layers ? Address{to_bases.at(layer)} : a.to;
        auto const from = a.many_layers ? Address{from_bases.at(layer)} : a.from;
        for (std::uint64_t i = 0; i < a.pages; ++i) {
            pieces.push_back({to + to_index.at(i) * a.to_pitch, from + from_index.at(i) * a.from_pitch, a.page_bytes});
        }
    }
    co_yield step::copies(pieces, a.unit);
}

/// The pages themselves are named by lists in memory and not known here.
Footprint footprint(const PagesArguments& a) {
    Footprint touched;
    for (auto const list : {a.to_index, a.from_index}) {
        if (list != Address::null) {
            touched.reads.push_back({list, a.pages * a.index_bytes});
        }
    }
    if (a.many_layers) {
        touched.reads.push_back({a.to, a.layers * 8});
        touched.reads.push_back({a.from, a.layers * 8});
    }
    return touched;
}

}  // namespace

const Kernel pages_kernel = define_kernel<PagesArguments, meaning, footprint>("pages");

}  // namespace peerlane
