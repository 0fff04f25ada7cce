#include <peerlane/machine.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace peerlane {
namespace {

constexpr std::array<const char*, 8> path_words{"UNKNOWN", "SYS", "NODE", "PHB", "PXB", "PIX", "XGMI", "NV"};

bool before(const Pair& a, const Pair& b) {
    return std::pair(a.accessor, a.owner) < std::pair(b.accessor, b.owner);
}

}  // namespace

const Pair* Machine::pair(int accessor, int owner) const {
    auto const n = static_cast<int>(devices.size());
    if (accessor < 0 || owner < 0 || accessor == owner) {
        return nullptr;
    }
    auto const matches = [&](const Pair& p) { return p.accessor == accessor && p.owner == owner; };
    // A completed machine has n - 1 pairs a row, so the place is known.
    auto const place = static_cast<std::size_t>(accessor) * static_cast<std::size_t>(std::max(n - 1, 0)) +
                       static_cast<std::size_t>(owner - (owner > accessor ? 1 : 0));
    if (place < pairs.size() && matches(pairs[place])) {
        return &pairs[place];
    }
    auto const found = std::find_if(pairs.begin(), pairs.end(), matches);
    return found == pairs.end() ? nullptr : &*found;
}

Pair* Machine::pair(int accessor, int owner) {
    return const_cast<Pair*>(std::as_const(*this).pair(accessor, owner));
}

const Device* Machine::device(int id) const {
    if (id >= 0 && static_cast<std::size_t>(id) < devices.size() && devices[static_cast<std::size_t>(id)].id == id) {
        return &devices[static_cast<std::size_t>(id)];
    }
    auto const found = std::find_if(devices.begin(), devices.end(), [id](const Device& d) { return d.id == id; });
    return found == devices.end() ? nullptr : &*found;
}

const char* to_string(PathClass path) {
    return path_words.at(static_cast<std::size_t>(path));
}

std::optional<PathClass> parse_path_class(const std::string& word) {
    std::string upper = word;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    if (upper == "SOC") {
        return PathClass::sys;
    }
    for (std::size_t i = 0; i < path_words.size(); ++i) {
        if (upper == path_words[i]) {
            return static_cast<PathClass>(i);
        }
    }
    return std::nullopt;
}

void complete_pairs(Machine& machine) {
    auto const n = static_cast<int>(machine.devices.size());
    if (n > most_devices) {
        throw std::invalid_argument(fmt::format("{} devices, more than {}", n, most_devices));
    }
    std::sort(machine.devices.begin(), machine.devices.end(),
              [](const Device& a, const Device& b) { return a.id < b.id; });
    for (int i = 0; i < n; ++i) {
        if (machine.devices[static_cast<std::size_t>(i)].id != i) {
            throw std::invalid_argument(fmt::format("device ids are not 0 to {}", n - 1));
        }
    }
    std::stable_sort(machine.pairs.begin(), machine.pairs.end(), before);
    std::vector<Pair> all;
    all.reserve(static_cast<std::size_t>(n) * static_cast<std::size_t>(std::max(n - 1, 0)));
    auto next = machine.pairs.begin();
    for (int accessor = 0; accessor < n; ++accessor) {
        for (int owner = 0; owner < n; ++owner) {
            if (accessor == owner) {
                continue;
            }
            if (next != machine.pairs.end() && next->accessor == accessor && next->owner == owner) {
                all.push_back(std::move(*next++));
            } else {
                all.emplace_back();
                all.back().accessor = accessor;
                all.back().owner = owner;
            }
        }
    }
    if (next != machine.pairs.end()) {
        throw std::invalid_argument(
            fmt::format("pair {}:{} is outside the machine, doubled, or of one device", next->accessor, next->owner));
    }
    machine.pairs = std::move(all);
    for (auto& nic : machine.nics) {
        nic.paths.resize(static_cast<std::size_t>(n), PathClass::unknown);
    }
}

}  // namespace peerlane
