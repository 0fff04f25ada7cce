/// What moves while links are used: their rate, and their error counters.

#include <fmt/format.h>

#include "discover/files.hpp"
#include "discover/read_host.hpp"
#include "machine/read/text.hpp"

namespace peerlane {
namespace {

/// Lines "RxErr 3" and at the end "TOTAL_ERR_COR 3".
std::optional<std::uint64_t> total_errors(const std::string& file) {
    std::optional<std::uint64_t> total;
    auto const text = files::text(file);
    for (auto const line : read::cells(text, '\n')) {
        auto const words = read::words(line);
        if (words.size() == 2 && words[0].rfind("TOTAL_ERR", 0) == 0 && read::all_digits(words[1])) {
            total = std::strtoull(std::string(words[1]).c_str(), nullptr, 10);
        }
    }
    return total;
}

}  // namespace

std::vector<PciErrors> read_pci_errors(const DiscoverRoots& roots) {
    std::vector<PciErrors> all;
    auto const folder = roots.sysfs + "/bus/pci/devices/";
    for (auto const& name : files::names(folder)) {
        PciErrors one;
        one.bus = read::bus_address(name).value_or("");
        one.correctable = total_errors(folder + name + "/aer_dev_correctable");
        one.nonfatal = total_errors(folder + name + "/aer_dev_nonfatal");
        one.fatal = total_errors(folder + name + "/aer_dev_fatal");
        if (!one.bus.empty() && (one.correctable || one.nonfatal || one.fatal)) {
            all.push_back(std::move(one));
        }
    }
    return all;
}

std::vector<LoadedLink> read_links(const DiscoverRoots& roots) {
    std::vector<LoadedLink> all;
    bool found = false;
    for (auto const& function : read_pci(roots, found)) {
        auto const base = function.class_code.value_or(0) >> 16U;
        if ((base == 0x03 || base == 0x12) && (function.current.generation || function.current.width)) {
            all.push_back({function.bus, function.current});
        }
    }
    return all;
}

}  // namespace peerlane
