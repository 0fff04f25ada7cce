#include "machine/nominal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "machine/paths.hpp"

namespace peerlane {
namespace {

/// Signalling per lane, and payload bits per line bit: 8b/10b, 128b/130b, then FLITs of 256 bytes with 14 of overhead.
struct PcieGeneration {
    double gts, coding;
};
constexpr std::array<PcieGeneration, 7> pcie_table{{{2.5, 0.8},
                                                    {5, 0.8},
                                                    {8, 128.0 / 130},
                                                    {16, 128.0 / 130},
                                                    {32, 128.0 / 130},
                                                    {64, 242.0 / 256},
                                                    {128, 242.0 / 256}}};

/// Links a device and GB/s a link are what `nvidia-smi nvlink -s` prints for the part. The first match wins, so the
/// special form of a family stands before the family.
struct NamedPart {
    std::string_view word;
    FabricPart part;
};
constexpr FabricPart none{0, 0, 0};
constexpr std::array<NamedPart, 49> part_table{{
    {"GB300", {5, 18, 53.125}},
    {"GB200", {5, 18, 53.125}},
    {"B300", {5, 18, 53.125}},
    {"B200", {5, 18, 53.125}},
    {"B100", {5, 18, 53.125}},
    {"GB10", none},
    {"GH200", {4, 18, 26.5625}},
    {"H200 NVL", {4, 18, 26.5625}},
    {"H200", {4, 18, 26.5625}},
    {"H100 NVL", {4, 12, 26.5625}},
    {"H100 PCIe", {4, 12, 26.5625}},
    {"H100", {4, 18, 26.5625}},
    {"H800 PCIe", {4, 8, 26.5625}},
    {"H800", {4, 8, 26.5625}},
    {"H20", {4, 18, 26.5625}},
    {"A100", {3, 12, 25}},
    {"A800", {3, 8, 25}},
    {"A30", {3, 4, 25}},
    {"A40", {3, 4, 14.0625}},
    {"RTX A6000", {3, 4, 14.0625}},
    {"RTX A5500", {3, 4, 14.0625}},
    {"RTX A5000", {3, 4, 14.0625}},
    {"RTX A4500", {3, 4, 14.0625}},
    {"RTX 3090", {3, 4, 14.0625}},
    {"V100", {2, 6, 25.78125}},
    {"Titan V", none},
    {"Quadro GV100", {2, 4, 25.78125}},
    {"P100-SXM", {1, 4, 20}},
    {"Titan RTX", {2, 2, 25.78125}},
    {"RTX 2080 Ti", {2, 2, 25.78125}},
    {"RTX 2080 SUPER", {2, 1, 25.78125}},
    {"RTX 2080", {2, 1, 25.78125}},
    {"Quadro RTX 8000", {2, 2, 25.78125}},
    {"Quadro RTX 6000", {2, 2, 25.78125}},
    {"Quadro RTX 5000", {2, 1, 25.78125}},
    {"A10G", none},
    {"A10", none},
    {"A16", none},
    {"A2", none},
    {"L40", none},
    {"L4", none},
    {"L20", none},
    {"Ada", none},
    {"RTX 40", none},
    {"RTX 50", none},
    {"RTX PRO", none},
    {"Tesla T4", none},
    {"GTX 1", none},
    {"Tesla P4", none},
}};

std::optional<FabricPart> by_compute_capability(int capability) {
    switch (capability) {
        case 60:
            return FabricPart{1, 4, 20};
        case 70:
            return FabricPart{2, 6, 25.78125};
        case 75:
            return FabricPart{2, 2, 25.78125};
        case 80:
            return FabricPart{3, 12, 25};
        case 86:
            return FabricPart{3, 4, 14.0625};
        case 90:
            return FabricPart{4, 18, 26.5625};
        case 100:
        case 103:
            return FabricPart{5, 18, 53.125};
        case 61:
        case 89:
        case 120:
        case 121:
            return none;
        default:
            return std::nullopt;
    }
}

char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
bool alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (upper(c) >= 'A' && upper(c) <= 'Z');
}

/// The word stands in the text, case ignored, and is not the start or end of a longer one ("A10" is not in "A100"). A
/// word that ends in a digit family ("RTX 40") may go on in digits only where the table says so by its two-digit end.
bool names(std::string_view text, std::string_view word) {
    auto const same = [](char a, char b) { return upper(a) == upper(b); };
    auto const family = word == "RTX 40" || word == "RTX 50" || word == "GTX 1" || word == "L40";
    for (auto at = std::search(text.begin(), text.end(), word.begin(), word.end(), same); at != text.end();
         at = std::search(at + 1, text.end(), word.begin(), word.end(), same)) {
        auto const end = at + static_cast<std::ptrdiff_t>(word.size());
        bool const starts = at == text.begin() || !alphanumeric(*(at - 1));
        bool const ends = family || end == text.end() || !alphanumeric(*end);
        if (starts && ends) {
            return true;
        }
    }
    return false;
}

struct NamedXgmi {
    std::string_view architecture, older, model;
    double gbs;
};
/// From the vendor's data sheets: half of the bidirectional figure of one link.
constexpr std::array<NamedXgmi, 9> xgmi_table{{{"gfx906", "906", "MI50", 46},
                                               {"gfx906", "906", "MI60", 46},
                                               {"gfx908", "908", "MI100", 46},
                                               {"gfx90a", "910", "MI250X", 50},
                                               {"gfx90a", "910", "MI250", 50},
                                               {"gfx90a", "910", "MI210", 50},
                                               {"gfx942", "942", "MI300X", 64},
                                               {"gfx942", "942", "MI325X", 64},
                                               {"gfx950", "950", "MI355X", 76.8}}};

}  // namespace

std::optional<int> pcie_generation(const std::string& speed_text) {
    double gts = 0;
    auto const* begin = speed_text.data();
    auto const [rest, error] = std::from_chars(begin, begin + speed_text.size(), gts, std::chars_format::fixed);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    auto const unit = std::string_view(rest, static_cast<std::size_t>(begin + speed_text.size() - rest));
    if (!unit.empty() && unit.find("GT/s") == std::string_view::npos) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < pcie_table.size(); ++i) {
        if (gts == pcie_table[i].gts) {
            return static_cast<int>(i) + 1;
        }
    }
    return std::nullopt;
}

std::string pcie_speed_text(int generation) {
    return fmt::format("{:.1f} GT/s PCIe", pcie_table.at(static_cast<std::size_t>(generation) - 1).gts);
}

std::optional<double> pcie_gbs(std::optional<int> generation, std::optional<int> width) {
    if (!generation || !width || *generation < 1 || *generation > static_cast<int>(pcie_table.size()) || *width < 1 ||
        *width > 32) {
        return std::nullopt;
    }
    auto const& row = pcie_table[static_cast<std::size_t>(*generation) - 1];
    return row.gts * row.coding / 8 * *width;
}

std::optional<FabricPart> nvlink_part(const Device& device) {
    if (device.model) {
        for (auto const& entry : part_table) {
            if (names(*device.model, entry.word)) {
                // The PCIe form of the first NVLink parts has none.
                bool const plain_card =
                    entry.word == "V100" && (names(*device.model, "PCIE") || names(*device.model, "V100-PCIE"));
                return plain_card ? none : entry.part;
            }
        }
    }
    return device.compute_capability ? by_compute_capability(*device.compute_capability) : std::nullopt;
}

std::optional<double> xgmi_link_gbs(const std::string& architecture) {
    for (auto const& entry : xgmi_table) {
        if (architecture.substr(0, 6) == entry.architecture || architecture == entry.older) {
            return entry.gbs;
        }
    }
    return std::nullopt;
}

std::optional<double> xgmi_link_gbs(const Device& device) {
    if (auto const rate = device.architecture ? xgmi_link_gbs(*device.architecture) : std::nullopt) {
        return rate;
    }
    for (auto const& entry : xgmi_table) {
        if (device.model && names(*device.model, entry.model)) {
            return entry.gbs;
        }
    }
    return std::nullopt;
}

std::optional<double> nominal_gbs(const Machine& machine, const Pair& pair) {
    auto const* const from = machine.device(pair.accessor);
    auto const* const to = machine.device(pair.owner);
    if (from == nullptr || to == nullptr || pair.path == PathClass::unknown) {
        return std::nullopt;
    }
    auto const a = machine.graph.device_node(pair.accessor);
    auto const b = machine.graph.device_node(pair.owner);
    if (pair.path == PathClass::nv || pair.path == PathClass::xgmi) {
        if (auto const capacity = a >= 0 && b >= 0 ? fabric_gbs(machine.graph, a, b) : std::nullopt) {
            return capacity;
        }
        if (!pair.nvlinks) {
            return std::nullopt;
        }
        if (pair.path == PathClass::xgmi) {
            auto const rate = xgmi_link_gbs(*from);
            return rate ? std::optional(*rate * *pair.nvlinks) : std::nullopt;
        }
        auto const part = nvlink_part(*from);
        auto const other = nvlink_part(*to);
        if (!part || !other || part->links == 0 || other->links == 0) {
            return std::nullopt;
        }
        return std::min(part->link_gbs, other->link_gbs) * *pair.nvlinks;
    }
    if (a >= 0 && b >= 0) {
        if (auto const capacity = pcie_path_gbs(machine.graph, a, b)) {
            return capacity;
        }
    }
    auto const one = pcie_gbs(from->pcie_generation, from->pcie_width);
    auto const two = pcie_gbs(to->pcie_generation, to->pcie_width);
    return one && two ? std::optional(std::min(*one, *two)) : std::nullopt;
}

void fill_nominal(Machine& machine) {
    for (auto& pair : machine.pairs) {
        if (!pair.nominal_gbs) {
            pair.nominal_gbs = nominal_gbs(machine, pair);
        }
    }
}

double assumed_gbs(const Link& link) {
    if (link.capacity_gbs) {
        return *link.capacity_gbs;
    }
    auto const width = link.width.value_or(0) > 0 ? *link.width : 0;
    switch (link.kind) {
        case LinkKind::pcie: {
            auto const generation = link.generation.value_or(4);
            return pcie_gbs(generation, width > 0 ? width : 16).value_or(*pcie_gbs(4, 16));
        }
        case LinkKind::nvlink:
            return 25.0 * std::max(width, 1);
        case LinkKind::xgmi:
            return 50.0 * std::max(width, 1);
        case LinkKind::interconnect:
            return 40;
        case LinkKind::memory:
            return 200;
        case LinkKind::network:
            return 12.5;
    }
    return 1;
}

}  // namespace peerlane
