#include "machine/cpu_list.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <peerlane/units.hpp>

namespace peerlane {
namespace {

constexpr std::int64_t most_cpus = 8192;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::optional<std::string> cpu_list_of_mask(std::string_view mask) {
    std::vector<bool> cpus;
    // Groups of eight digits; only the first may be shorter, so digits simply follow each other.
    for (auto at = mask.rbegin(); at != mask.rend(); ++at) {
        if (*at == ',') {
            continue;
        }
        auto const digit = hex_digit(*at);
        if (digit < 0 || cpus.size() >= static_cast<std::size_t>(most_cpus)) {
            return std::nullopt;
        }
        for (int bit = 0; bit < 4; ++bit) {
            cpus.push_back((digit >> bit & 1) != 0);
        }
    }
    std::string list;
    for (std::size_t first = 0; first < cpus.size(); ++first) {
        if (!cpus[first]) {
            continue;
        }
        auto last = first;
        while (last + 1 < cpus.size() && cpus[last + 1]) {
            ++last;
        }
        list += list.empty() ? "" : ",";
        list += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
        first = last;
    }
    return list.empty() ? std::nullopt : std::optional(list);
}

std::optional<std::string> cpu_mask_of_list(std::string_view list) {
    std::vector<std::uint32_t> groups;
    while (!list.empty()) {
        auto const comma = list.find(',');
        auto const part = list.substr(0, comma);
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
        auto const dash = part.find('-');
        auto const first = parse_integer(part.substr(0, dash));
        auto const last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
        if (!first || !last || *first < 0 || *last < *first || *last >= most_cpus) {
            return std::nullopt;
        }
        for (auto cpu = static_cast<std::size_t>(*first); cpu <= static_cast<std::size_t>(*last); ++cpu) {
            groups.resize(std::max(groups.size(), cpu / 32 + 1));
            groups[cpu / 32] |= std::uint32_t{1} << cpu % 32;
        }
    }
    std::string mask;
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
        mask += fmt::format("{}{:08x}", mask.empty() ? "" : ",", *group);
    }
    return mask.empty() ? std::nullopt : std::optional(mask);
}

}  // namespace peerlane
