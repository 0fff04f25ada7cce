#include "diagnose/fact_words.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "machine/nominal.hpp"
#include "machine/read/text.hpp"

namespace peerlane::fact_words {

Word::Word(const Fault& fault) : value(fault.value), whole_(fmt::format("fact:{}={}", fault.name, fault.value)) {
    auto const end = fault.name.find_first_of(":.[");
    head = fault.name.substr(0, end);
    if (end != std::string::npos) {
        subject = fault.name.substr(end + 1);
        subject.erase(std::remove(subject.begin(), subject.end(), ']'), subject.end());
    }
}

void Word::refuse(const std::string& reason) const {
    throw InputError(whole_, 0, reason);
}

int Word::number(const std::string& text, int most) const {
    auto const found = read::small_number(text);
    if (!found || *found > most) {
        refuse(fmt::format("\"{}\" is no number from 0 to {}", text, most));
    }
    return *found;
}

unsigned Word::hexadecimal() const {
    auto const digits = std::string_view(value).substr(value.rfind("0x", 0) == 0 ? 2 : 0);
    unsigned found = 0;
    auto const [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found, 16);
    if (digits.empty() || error != std::errc{} || rest != digits.data() + digits.size() || found > 0xffff) {
        refuse("the value is a register of 16 bits, as in 0x1d");
    }
    return found;
}

std::uint64_t Word::bytes() const {
    auto const found = parse_size(value);
    if (!found) {
        refuse("the value is a size, as in 64MiB");
    }
    return *found;
}

double Word::seconds() const {
    auto const found = parse_seconds(value);
    if (!found || *found < 0) {
        refuse("the value is a time, as in 112s");
    }
    return *found;
}

std::string Word::version() const {
    if (value.empty() || value.front() < '0' || value.front() > '9') {
        refuse("the value is a version, as in 550.90.07");
    }
    return value;
}

int Word::error_code() const {
    constexpr std::string_view start = "error:";
    if (value == "ok") {
        return 0;
    }
    if (value.rfind(start, 0) != 0) {
        refuse("the value is ok or error:CODE");
    }
    return number(value.substr(start.size()), 99'999);
}

PciRate Word::link_rate() const {
    auto const x = value.find('x');
    auto const first = value.substr(0, x);
    PciRate rate;
    auto const usable = (x != std::string::npos || !first.empty()) && (first.empty() || first.rfind("gen", 0) == 0);
    if (!usable) {
        refuse("the value is a link, as in gen4x16, gen1 or x4");
    }
    if (!first.empty()) {
        rate.generation = std::max(1, number(first.substr(3), 7));
    }
    if (x != std::string::npos) {
        rate.width = std::max(1, number(value.substr(x + 1), 32));
    }
    return rate;
}

std::optional<std::string> Word::address() const {
    return subject.find(':') == std::string::npos ? std::nullopt : read::bus_address(subject);
}

std::string Word::text() const {
    auto const quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    return quoted ? value.substr(1, value.size() - 2) : value;
}

std::vector<std::string> Word::list_of_buses(const Facts& facts) const {
    if (!is_list() || value.back() != ']') {
        refuse("the value is a list, as in [0,2] or [01:00.0,41:00.0]");
    }
    auto const inside = value.substr(1, value.size() - 2);
    std::vector<std::string> found;
    for (auto const part : read::cells(inside, ',')) {
        if (part.empty()) {
            continue;
        }
        if (part.find(':') != std::string_view::npos) {
            auto bus = read::bus_address(part);
            if (!bus) {
                refuse(fmt::format("\"{}\" is no bus address", part));
            }
            found.push_back(std::move(*bus));
        } else {
            found.push_back(buses(facts, *this, std::string(part)).front());
        }
    }
    return found;
}

std::vector<std::string> all_buses(const Facts& facts) {
    std::vector<std::pair<int, std::string>> order;
    for (auto const& device : facts.nvml.devices) {
        order.emplace_back(device.index, device.bus);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::string> all;
    for (auto& one : order) {
        all.push_back(std::move(one.second));
    }
    if (all.empty()) {
        for (auto const& one : facts.host.pci) {
            auto const base = one.class_code.value_or(0) >> 16U;
            if (base == 0x03 || base == 0x12) {
                all.push_back(one.bus);
            }
        }
    }
    return all;
}

std::vector<std::string> buses(const Facts& facts, const Word& word, const std::string& which) {
    auto const all = all_buses(facts);
    if (which == "any" || which == "*") {
        return all;
    }
    if (which.find(':') != std::string::npos) {
        auto const bus = read::bus_address(which);
        if (bus && std::find(all.begin(), all.end(), *bus) != all.end()) {
            return {*bus};
        }
        word.refuse(fmt::format("no device has the address {}", which));
    }
    auto const number = read::small_number(which);
    if (!number || static_cast<std::size_t>(*number) >= all.size()) {
        word.refuse(which.empty() ? fmt::format("names no device: fact:{}:0={}", word.head, word.value)
                                  : fmt::format("\"{}\" is no device of {} here; a number, an address or any", which,
                                                all.size()));
    }
    return {all[static_cast<std::size_t>(*number)]};
}

PciFunction& function(Facts& facts, const std::string& bus) {
    auto& pci = facts.host.pci;
    auto const found = std::find_if(pci.begin(), pci.end(), [&](const PciFunction& one) { return one.bus == bus; });
    if (found != pci.end()) {
        return *found;
    }
    PciFunction made;
    made.bus = bus;
    return pci.emplace_back(std::move(made));
}

NvmlDevice* managed(Facts& facts, const std::string& bus) {
    auto& all = facts.nvml.devices;
    auto const found = std::find_if(all.begin(), all.end(), [&](const NvmlDevice& one) { return one.bus == bus; });
    return found == all.end() ? nullptr : &*found;
}

NvmlPair& pair(Facts& facts, const std::string& accessor, const std::string& owner) {
    auto& all = facts.nvml.pairs;
    auto const found = std::find_if(
        all.begin(), all.end(), [&](const NvmlPair& one) { return one.accessor == accessor && one.owner == owner; });
    return found != all.end() ? *found : all.emplace_back(NvmlPair{accessor, owner, {}, std::nullopt});
}

void set_order(Facts& facts, const std::vector<std::string>& order) {
    auto const before = all_buses(facts);
    auto const known = std::all_of(order.begin(), order.end(), [&](const std::string& bus) {
        return std::find(before.begin(), before.end(), bus) != before.end();
    });
    if (!known) {
        auto const rename = [&](std::string& bus) {
            auto const at = static_cast<std::size_t>(std::find(before.begin(), before.end(), bus) - before.begin());
            if (at < order.size()) {
                bus = order[at];
            }
        };
        for (auto& one : facts.nvml.devices) {
            rename(one.bus);
        }
        for (auto& one : facts.nvml.pairs) {
            rename(one.accessor);
            rename(one.owner);
        }
        for (auto& one : facts.host.pci) {
            rename(one.bus);
        }
        for (auto* list : {&facts.process.runtime_order, &facts.process.driver_gpus}) {
            std::for_each(list->begin(), list->end(), rename);
        }
        return;
    }
    for (auto& one : facts.nvml.devices) {
        auto const at = std::find(order.begin(), order.end(), one.bus) - order.begin();
        one.index = static_cast<int>(at);
    }
}

std::vector<NvmlLink> links(int up, int down) {
    std::vector<NvmlLink> all;
    for (int number = 0; number < std::min(up + down, nvml_most_links_told); ++number) {
        NvmlLink link;
        link.number = number;
        link.active = number < up;
        all.push_back(link);
    }
    return all;
}

int usual_links(const NvmlDevice& device) {
    Device known;
    known.model = device.name;
    known.compute_capability = device.compute_capability;
    auto const part = nvlink_part(known);
    return part && part->links > 0 ? part->links : 4;
}

PciFunction bridge(const std::string& bus, unsigned control) {
    PciFunction made;
    made.bus = bus;
    made.class_code = 0x060400;
    made.config_bytes = 4096;
    made.acs_control = control;
    return made;
}

void give_port(Facts& facts, const std::string& bus) {
    if (function(facts, bus).above.empty()) {
        for (int slot = 1;; ++slot) {
            auto const address = fmt::format("{}:00:{:02x}.0", bus.substr(0, bus.find(':')), slot);
            if (facts.host.function(address) == nullptr) {
                function(facts, bus).above.push_back(address);
                facts.host.pci.push_back(bridge(address, 0));
                return;
            }
        }
    }
}

}  // namespace peerlane::fact_words
