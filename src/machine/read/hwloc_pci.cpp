#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "machine/read/hwloc_objects.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

constexpr int nvidia = 0x10de, amd = 0x1002;

int hex_number(std::string_view text) {
    int value = 0;
    auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc{} && rest == text.data() + text.size() ? value : 0;
}

}  // namespace

/// The makers whose devices exist only inside guests: Amazon (its bridges and display), Red Hat, virtio, Hyper-V,
/// VMware, Xen, VirtualBox, Google.
bool guest_only(const HwlocPci& pci) {
    constexpr std::array makers{0x1b36, 0x1af4, 0x1414, 0x15ad, 0x5853, 0x80ee, 0x1ae0};
    bool const amazon = pci.vendor == 0x1d0f && (pci.class_id == 0x0604 || pci.class_id == 0x0300);
    bool const emulated_chipset = pci.vendor == 0x8086 && (pci.product == 0x7113 || pci.product == 0x1237);
    return amazon || emulated_chipset || std::find(makers.begin(), makers.end(), pci.vendor) != makers.end();
}

/// Every display class of NVIDIA is a GPU. AMD also makes the 2D chips of older servers (small product numbers) and
/// graphics inside processors; those count only when a compute library lists them.
bool is_gpu(const HwlocPci& pci) {
    if (pci.kind != HwlocPci::Kind::device) {
        return false;
    }
    bool const display = pci.class_id >> 8 == 0x03;
    if (pci.vendor == nvidia) {
        return display;
    }
    bool const listed = std::any_of(pci.functions.begin(), pci.functions.end(), [](auto const& f) { return f.gpu; });
    if (pci.vendor == amd) {
        constexpr int first_compute_product = 0x6600;
        return listed || pci.class_id >> 8 == 0x12 || pci.class_id == 0x0380 ||
               (display && pci.product >= first_compute_product);
    }
    // A console text without vendors: a display device whose memory is a NUMA node of the host is set apart by its
    // caller.
    return pci.subtype == "GPU";
}

bool is_nvswitch(const HwlocPci& pci) {
    return pci.kind == HwlocPci::Kind::device &&
           (pci.subtype == "NVSwitch" || (pci.vendor == nvidia && pci.class_id == 0x0680));
}

bool is_nic(const HwlocPci& pci) {
    return pci.kind == HwlocPci::Kind::device &&
           (pci.class_id >> 8 == 0x02 ||
            std::any_of(pci.functions.begin(), pci.functions.end(), [](auto const& f) { return f.network; }));
}

std::string nic_name(const HwlocPci& pci) {
    for (bool const fabric : {true, false}) {
        for (auto const& f : pci.functions) {
            if (f.network && f.fabric_nic == fabric) {
                return f.name;
            }
        }
    }
    return "nic:" + pci.bus;
}

/// "GV100GL [Tesla V100 SXM2 32GB]" -> "Tesla V100 SXM2 32GB": the part's name stands in brackets behind the chip's.
std::string part_name(const std::string& product) {
    auto const open = product.find('[');
    auto const close = product.rfind(']');
    return open != std::string::npos && close != std::string::npos && close > open
               ? product.substr(open + 1, close - open - 1)
               : product;
}

void parse_pci_type(std::string_view text, HwlocPci& pci) {
    auto const parts = words(text);
    if (!parts.empty()) {
        pci.class_id = hex_number(parts[0]);
    }
    if (parts.size() > 1 && parts[1].size() == 11) {
        pci.vendor = hex_number(parts[1].substr(1, 4));
        pci.product = hex_number(parts[1].substr(6, 4));
    }
}

std::vector<int> bitmap_numbers(std::string_view bitmap, int most) {
    std::vector<int> numbers;
    constexpr std::size_t longest = 65536;
    if (bitmap.empty() || bitmap.size() > longest) {
        return numbers;
    }
    auto parts = cells(bitmap, ',');
    bool const endless = parts[0] == "0xf...f";
    if (endless) {
        parts.erase(parts.begin());
    }
    std::reverse(parts.begin(), parts.end());  // the last word holds bits 0 to 31
    for (std::size_t word = 0; word < parts.size(); ++word) {
        auto digits = parts[word];
        if (digits.substr(0, 2) == "0x") {
            digits.remove_prefix(2);
        }
        std::uint64_t bits = 0;
        auto const [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
        if (!digits.empty() && (error != std::errc{} || rest != digits.data() + digits.size())) {
            return {};
        }
        for (int bit = 0; bit < 64; ++bit) {
            if ((bits >> bit & 1U) != 0) {
                numbers.push_back(static_cast<int>(word) * 32 + bit);
            }
        }
    }
    for (int i = static_cast<int>(parts.size()) * 32; endless && i < most; ++i) {
        numbers.push_back(i);
    }
    return numbers;
}

std::string number_list(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        auto last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
            ++last;
        }
        text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
        if (last > i) {
            text += fmt::format("-{}", numbers[last]);
        }
        i = last + 1;
    }
    return text;
}

}  // namespace peerlane::read
