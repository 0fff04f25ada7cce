/// Facts in words: the host, its driver and the management library.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "diagnose/apply_facts.hpp"

namespace peerlane::fact_words {
namespace {

void iommu(Facts& facts, const Word& word) {
    auto const type = word.one_of<std::string>({{"translating", "DMA-FQ"}, {"identity", "identity"}, {"off", ""}});
    for (auto const& bus : buses(facts, word, word.subject.empty() ? "any" : word.subject)) {
        function(facts, bus).iommu_type = type;
    }
    facts.host.iommus = type.empty() ? std::vector<std::string>{} : std::vector<std::string>{"iommu0"};
}

void acs(Facts& facts, const Word& word) {
    auto const hidden = word.value == "unreadable";
    auto const control = hidden ? 0U : word.hexadecimal();
    auto const set = [&](PciFunction& one) {
        one.acs_control = hidden ? std::nullopt : std::optional(control);
        one.config_bytes = hidden ? 64 : 4096;
    };
    if (auto const address = word.address()) {
        if (facts.host.function(*address) == nullptr) {
            facts.host.pci.push_back(bridge(*address, control));
        }
        set(function(facts, *address));
        return;
    }
    for (auto const& bus : buses(facts, word, word.subject.empty() ? "any" : word.subject)) {
        give_port(facts, bus);
        for (auto const& above : std::vector(function(facts, bus).above)) {
            set(function(facts, above));
        }
    }
}

void hypervisor(Facts& facts, const Word& word) {
    using Pair = std::pair<std::string, std::string>;
    auto const [vendor, type] = word.one_of<Pair>({{"kvm", {"QEMU", ""}},
                                                   {"xen", {"Xen", "xen"}},
                                                   {"vmware", {"VMware, Inc.", ""}},
                                                   {"hyperv", {"Microsoft Corporation", ""}},
                                                   {"none", {"", ""}}});
    facts.host.hypervisor_flag = word.value != "none";
    facts.host.sys_vendor = vendor;
    facts.host.product_name = word.value == "hyperv" ? "Virtual Machine" : word.value == "kvm" ? "Standard PC" : "";
    facts.host.hypervisor_type = type;
}

void pci_tree(Facts& facts, const Word& word) {
    facts.host.pci_tree = word.one_of<bool>({{"present", true}, {"absent", false}});
    if (!facts.host.pci_tree) {
        facts.host.pci.clear();
    }
}

void nvml(Facts& facts, const Word& word) {
    if (word.is_list()) {
        set_order(facts, word.list_of_buses(facts));
        return;
    }
    using State = NvmlFacts::State;
    facts.nvml.state = word.one_of<State>(
        {{"hangs", State::hung}, {"absent", State::absent}, {"failed", State::failed}, {"ok", State::ok}});
    facts.nvml.reason = facts.nvml.state == State::hung     ? "a call did not return"
                        : facts.nvml.state == State::failed ? "nvmlInit answered 999"
                        : facts.nvml.state == State::absent ? "libnvidia-ml.so.1 is not installed"
                                                            : "";
    facts.nvml.hung.reset();
    if (facts.nvml.state == State::hung) {
        facts.nvml.hung = NvmlCall{"nvmlDeviceGetUtilizationRates", 0, 20};
    }
}

void driver(Facts& facts, const Word& word) {
    facts.nvml.driver_version = facts.host.module_version = word.version();
}

void module(Facts& facts, const Word& word) {
    auto const kind = word.one_of<int>({{"vendor", 0}, {"unsigned", 1}, {"patched", 2}});
    facts.host.module_taint = kind == 0 ? "O" : "OE";
    facts.host.module_signer = kind == 0 ? "NVIDIA" : "";
    if (kind == 2) {
        facts.host.module_version =
            (facts.host.module_version.empty() ? std::string("570.86") : facts.host.module_version) + "-p2p";
    }
}

void parameter(Facts& facts, const Word& word) {
    facts.host.module_parameters.emplace_back(word.subject, word.value);
}

constexpr std::array known{
    Known{"iommu", iommu},
    Known{"acs", acs},
    Known{"cmdline", [](Facts& facts, const Word& word) { facts.host.kernel_command_line = word.text(); }},
    Known{"log",
          [](Facts& facts, const Word& word) {
              auto& log = facts.process.kernel_log;
              (log ? *log : log.emplace()).push_back(word.text());
          }},
    Known{"xid",
          [](Facts& facts, const Word& word) {
              auto& log = facts.process.kernel_log;
              for (auto const& bus : buses(facts, word, word.subject)) {
                  (log ? *log : log.emplace())
                      .push_back(fmt::format("NVRM: Xid (PCI:{}): {}", bus.substr(0, bus.find('.')), word.count()));
              }
          }},
    Known{"hypervisor", hypervisor},
    Known{"pci-tree", pci_tree},
    Known{"driver", driver},
    Known{"driver-init", [](Facts& facts, const Word& word) { facts.process.init_code = word.count(); }},
    Known{"module", module},
    Known{"param", parameter},
    Known{"nvml", nvml},
    Known{"topo-query",
          [](Facts& facts, const Word& word) {
              facts.nvml.slow.push_back({"nvmlDeviceGetTopologyCommonAncestor", 0, word.seconds()});
          }},
};

}  // namespace

std::span<const Known> words_of_platform() {
    return known;
}

}  // namespace peerlane::fact_words
