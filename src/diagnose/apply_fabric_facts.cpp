/// Facts in words: nVLink, its switches, and what the driver says of pairs.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "diagnose/apply_facts.hpp"

namespace peerlane::fact_words {
namespace {

void nvlink(Facts& facts, const Word& word) {
    auto const dot = word.subject.find_first_of(".:");
    auto const which = word.subject.substr(0, dot);
    auto const what = dot == std::string::npos ? std::string() : word.subject.substr(dot + 1);
    for (auto const& bus : buses(facts, word, which.empty() ? "any" : which)) {
        auto* const device = managed(facts, bus);
        if (device == nullptr) {
            continue;
        }
        if (what == "capable" || what == "error") {
            (void)
                word.count();  // capability bits and links that answer with an error say nothing about links that exist
        } else if (what == "active") {
            device->links = links(word.count(), 0);
        } else if (what.empty()) {
            auto const state = word.one_of<int>({{"inactive", 0}, {"active", 1}, {"absent", 2}});
            if (device->links.empty() && state != 2) {
                device->links = links(0, usual_links(*device));
            }
            for (auto& one : device->links) {
                one.active = state == 1;
            }
            if (state == 2) {
                device->links.clear();
            }
        } else {
            auto const number = word.number(what, nvml_most_links_told);
            auto const down = word.one_of<bool>({{"down", true}, {"inactive", true}, {"up", false}, {"active", false}});
            if (device->links.empty()) {
                device->links = links(std::max(usual_links(*device), number + 1), 0);
            }
            auto const found = std::find_if(device->links.begin(), device->links.end(),
                                            [&](const NvmlLink& one) { return one.number == number; });
            if (found == device->links.end()) {
                word.refuse(fmt::format("{} has no link {}", bus, number));
            }
            found->active = !down;
        }
    }
}

void nvswitch(Facts& facts, const Word& word) {
    auto& pci = facts.host.pci;
    pci.erase(std::remove_if(pci.begin(), pci.end(),
                             [](const PciFunction& one) {
                                 return one.vendor == 0x10deU && one.class_code.value_or(0) >> 8U == 0x0680;
                             }),
              pci.end());
    auto const count = word.value == "absent" ? 0 : word.count();
    for (int i = 0; i < count; ++i) {
        PciFunction one;
        one.bus = fmt::format("0000:{:02x}:00.0", 0xf0 - i);
        one.vendor = 0x10de;
        one.class_code = 0x068000;
        pci.push_back(one);
    }
}

void fabric(Facts& facts, const Word& word) {
    if (word.subject != "state" && !word.subject.empty()) {
        word.refuse("knows only fabric.state");
    }
    auto const state =
        word.one_of<int>({{"not-supported", 0}, {"not-started", 1}, {"in-progress", 2}, {"completed", 3}});
    for (auto& device : facts.nvml.devices) {
        device.fabric_state = state;
    }
}

void fabric_manager(Facts& facts, const Word& word) {
    facts.process.sees_all_processes = true;
    facts.process.fabric_manager = word.value != "absent";
    facts.process.fabric_manager_version = word.value == "absent" || word.value == "running" ? "" : word.version();
}

void claims(Facts& facts, const Word& word) {
    auto const colon = word.subject.find(':');
    if (colon == std::string::npos) {
        word.refuse("names a pair, as in fact:p2p:0:1=CNS");
    }
    auto const status = word.one_of<std::string>(
        {{"OK", "OK"}, {"CNS", "CNS"}, {"GNS", "GNS"}, {"TNS", "TNS"}, {"NS", "NS"}, {"DR", "DR"}, {"U", "U"}});
    for (auto const& accessor : buses(facts, word, word.subject.substr(0, colon))) {
        for (auto const& owner : buses(facts, word, word.subject.substr(colon + 1))) {
            if (accessor != owner) {
                auto& said = pair(facts, accessor, owner).claims;
                said.read = said.write = status;
            }
        }
    }
}

constexpr std::array known{
    Known{"nvlink", nvlink},
    Known{"nvswitch", nvswitch},
    Known{"fabric", fabric},
    Known{"fabric-manager", fabric_manager},
    Known{"fabric-handle",
          [](Facts& facts, const Word& word) { facts.process.fabric_handle_code = word.error_code(); }},
    Known{"imex-channels", [](Facts& facts, const Word& word) { facts.process.imex_channels = word.count(); }},
    Known{"p2p", claims},
};

}  // namespace

std::span<const Known> words_of_fabric() {
    return known;
}

}  // namespace peerlane::fact_words
