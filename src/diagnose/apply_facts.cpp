/// Faults of the form fact:NAME=VALUE, said of facts. The table below and docs/findings/facts.md list the same names.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "diagnose/fact_words.hpp"

namespace peerlane::fact_words {
namespace {

void iommu(Facts& facts, const Word& word) {
    auto const type = word.one_of<std::string>({{"translating", "DMA-FQ"}, {"identity", "identity"}, {"off", ""}});
    for (auto const& bus : buses(facts, word, word.subject.empty() ? "any" : word.subject)) {
        function(facts, bus).iommu_type = type;
    }
    facts.host.iommus = type.empty() ? std::vector<std::string>{} : std::vector<std::string>{"iommu0"};
}

PciFunction bridge(const std::string& bus, unsigned control) {
    PciFunction made;
    made.bus = bus;
    made.class_code = 0x060400;
    made.config_bytes = 4096;
    made.acs_control = control;
    return made;
}

/// A device that nothing is known to be above gets a root port.
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

void display(Facts& facts, const Word& word) {
    auto const kind = word.one_of<int>({{"boot-console", 2}, {"active", 1}, {"none", 0}});
    for (auto const& bus : buses(facts, word, word.subject)) {
        function(facts, bus).boot_display = kind == 2;
        if (auto* const device = managed(facts, bus)) {
            device->display_active = kind == 1;
        }
    }
}

void mig(Facts& facts, const Word& word) {
    auto const on = word.one_of<bool>({{"on", true}, {"off", false}});
    for (auto const& bus : buses(facts, word, word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->mig = on;
            device->mig_instances = on ? std::max(device->mig_instances, 1) : 0;
        }
    }
}

void bar1(Facts& facts, const Word& word) {
    auto const bytes = word.bytes();
    for (auto const& bus : buses(facts, word, word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->window_bytes = bytes;
            device->memory_bytes = device->memory_bytes.value_or(24ULL << 30U);
        }
        function(facts, bus).largest_window_bytes = bytes;
    }
}

/// Both ends can this much where the machine does not tell.
constexpr PciRate usual{4, 16};

void link(Facts& facts, const Word& word) {
    auto const rate = word.link_rate();
    auto const idle = word.subject == "idle";
    auto const everywhere = idle || word.subject == "load";
    for (auto const& bus : buses(facts, word, everywhere ? "any" : word.subject)) {
        auto& own = function(facts, bus);
        auto* const device = managed(facts, bus);
        auto most = own.most;
        most.generation = std::max(most.generation.value_or(*usual.generation), rate.generation.value_or(1));
        most.width = std::max(most.width.value_or(*usual.width), rate.width.value_or(1));
        PciRate const now{rate.generation ? rate.generation : most.generation, rate.width ? rate.width : most.width};
        own.most = most;
        own.current = now;
        if (device != nullptr) {
            device->most = most;
            device->current = now;
        }
        auto& loaded = facts.run.loaded;
        if (!idle) {
            loaded.erase(std::remove_if(loaded.begin(), loaded.end(), [&](auto const& one) { return one.bus == bus; }),
                         loaded.end());
            loaded.push_back({bus, now});
        }
    }
}

void slot(Facts& facts, const Word& word) {
    auto const rate = word.link_rate();
    for (auto const& bus : buses(facts, word, word.subject)) {
        give_port(facts, bus);
        auto& own = function(facts, bus);
        own.most.width = own.most.width.value_or(*usual.width);
        function(facts, function(facts, bus).above.front()).most.width = rate.width;
    }
}

void aer(Facts& facts, const Word& word) {
    auto const kind = word.one_of<int>({{"correctable", 0}, {"nonfatal", 1}, {"fatal", 2}});
    for (auto const& bus : buses(facts, word, word.subject)) {
        facts.run.errors_before.push_back({bus, 0, 0, 0});
        facts.run.errors_after.push_back({bus, kind == 0 ? 14U : 0U, kind == 1 ? 2U : 0U, kind == 2 ? 1U : 0U});
    }
}

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

void model(Facts& facts, const Word& word) {
    for (auto const& bus : buses(facts, word, word.subject.empty() ? "any" : word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->name = word.value;
        }
    }
}

void capability(Facts& facts, const Word& word) {
    for (auto const& bus : buses(facts, word, word.subject.empty() ? "any" : word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->compute_capability = word.count();
        }
    }
}

void environment(Facts& facts, const Word& word) {
    auto& settings = facts.process.settings;
    settings.erase(
        std::remove_if(settings.begin(), settings.end(), [&](const Setting& one) { return one.name == word.subject; }),
        settings.end());
    if (word.subject.empty()) {
        word.refuse("names no variable: fact:env:NAME=VALUE");
    }
    if (word.value != "unset") {
        settings.push_back({word.subject, word.value, "environment"});
    }
}

void parameter(Facts& facts, const Word& word) {
    facts.host.module_parameters.emplace_back(word.subject, word.value);
}

NeighbourProcess& neighbour(Facts& facts) {
    auto& all = facts.process.neighbours;
    if (all.empty()) {
        all.push_back({"B", true, std::nullopt, std::nullopt, {}, ""});
    }
    return all.front();
}

void shm(Facts& facts, const Word& word) {
    if (word.subject == "device") {
        facts.process.shm_device = "0:24";
        neighbour(facts).shm_device = word.one_of<bool>({{"same", true}, {"different", false}}) ? "0:24" : "0:57";
    } else if (word.subject == "free") {
        facts.process.shm_free_bytes = word.bytes();
    } else {
        facts.process.shm_bytes = word.bytes();
        facts.process.shm_free_bytes = facts.process.shm_bytes;
    }
}

void namespaces(Facts& facts, const Word& word) {
    if (word.subject != "ipc" && word.subject != "pid" && word.subject != "mnt") {
        word.refuse("knows ns:ipc, ns:pid and ns:mnt");
    }
    auto const same = word.one_of<bool>({{"same", true}, {"different", false}});
    facts.process.namespaces.push_back({word.subject, word.subject + ":[4026531839]", "/proc/self/ns"});
    neighbour(facts).namespaces.push_back(
        {word.subject, word.subject + (same ? ":[4026531839]" : ":[4026532407]"), "/proc/B/ns"});
}

void visible(Facts& facts, const Word& word) {
    facts.process.runtime_order = word.list_of_buses(facts);
}

void other_visible(Facts& facts, const Word& word) {
    if (word.subject != "visible") {
        word.refuse("knows A.visible and B.visible");
    }
    auto& seen = word.head == "A" ? facts.process.runtime_order : neighbour(facts).visible.emplace();
    seen = word.list_of_buses(facts);
}

void host_devices(Facts& facts, const Word& word) {
    auto const count = word.count();
    auto& known = facts.process.driver_gpus;
    if (known.empty()) {
        known = all_buses(facts);
    }
    for (int i = 1; static_cast<int>(known.size()) < count; ++i) {
        known.push_back(fmt::format("0000:{:02x}:00.0", 0xe0 - i));
    }
    known.resize(static_cast<std::size_t>(count));
}

void users(Facts& facts, const Word& word) {
    auto const count = word.count();
    auto const kind = word.head.substr(0, word.head.find('-'));
    for (auto const& bus : buses(facts, word, word.subject)) {
        for (int i = 0; i < count; ++i) {
            facts.process.device_users.push_back({bus, 1000 + i, kind});
        }
    }
}

void busy(Facts& facts, const Word& word) {
    auto const percent = word.number(word.value, 100);
    for (auto const& bus : buses(facts, word, word.subject)) {
        for (double const after : {2.0, 5.0}) {
            facts.run.activity.push_back({bus, percent, percent >= 95 ? 120.0 : 20.0, 0, after});
        }
    }
}

void key(Facts& facts, const Word& word) {
    auto const arrow = word.value.find('>');
    if (word.subject.empty() || arrow == std::string::npos) {
        word.refuse("takes THEN>NOW, as in fact:key:driver=550.54.15>550.90.07");
    }
    auto& stored = facts.run.key ? *facts.run.key : facts.run.key.emplace();
    stored.in_use = word.head == "changed";
    stored.then.push_back({word.subject, word.value.substr(0, arrow), "stored verdict"});
    stored.now.push_back({word.subject, word.value.substr(arrow + 1), "now"});
}

void open_step(Facts& facts, const Word& word) {
    OpenStep step;
    step.file = "record";
    step.step = word.value;
    auto const colon = word.value.find(':');
    auto const blank = word.value.find_first_of(" :", colon == std::string::npos ? colon : colon + 1);
    if (colon == std::string::npos || blank == std::string::npos) {
        word.refuse("takes a step, as in fact:open-step=0:1:store");
    }
    step.accessor = word.number(word.value.substr(0, colon), most_devices);
    step.owner = word.number(word.value.substr(colon + 1, blank - colon - 1), most_devices);
    step.step = fmt::format("{}:{} {}", step.accessor, step.owner, word.value.substr(blank + 1));
    step.process_alive = false;
    facts.run.open_step = step;
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

using Apply = void (*)(Facts&, const Word&);

struct Known {
    const char* head;
    Apply apply;
};

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
    Known{"link", link},
    Known{"slot", slot},
    Known{"aer", aer},
    Known{"display", display},
    Known{"bar1", bar1},
    Known{"mig", mig},
    Known{"model", model},
    Known{"capability", capability},
    Known{"driver", driver},
    Known{"driver-init", [](Facts& facts, const Word& word) { facts.process.init_code = word.count(); }},
    Known{"module", module},
    Known{"param", parameter},
    Known{"nvml", nvml},
    Known{"topo-query",
          [](Facts& facts, const Word& word) {
              facts.nvml.slow.push_back({"nvmlDeviceGetTopologyCommonAncestor", 0, word.seconds()});
          }},
    Known{"nvlink", nvlink},
    Known{"nvswitch", nvswitch},
    Known{"fabric", fabric},
    Known{"fabric-manager", fabric_manager},
    Known{"fabric-handle",
          [](Facts& facts, const Word& word) { facts.process.fabric_handle_code = word.error_code(); }},
    Known{"imex-channels", [](Facts& facts, const Word& word) { facts.process.imex_channels = word.count(); }},
    Known{"p2p", claims},
    Known{"env", environment},
    Known{"runtime", visible},
    Known{"visible", visible},
    Known{"host-devices", host_devices},
    Known{"A", other_visible},
    Known{"B", other_visible},
    Known{"same-host",
          [](Facts& facts, const Word& word) {
              neighbour(facts).same_host = word.one_of<bool>({{"yes", true}, {"no", false}});
          }},
    Known{"import", [](Facts& facts, const Word& word) { neighbour(facts).import_code = word.error_code(); }},
    Known{"shm", shm},
    Known{"ns", namespaces},
    Known{"graphics-processes", users},
    Known{"compute-processes", users},
    Known{"busy", busy},
    Known{"open-step", open_step},
    Known{"key", key},
    Known{"changed", key},
};

}  // namespace

std::vector<std::string> heads() {
    std::vector<std::string> all;
    for (auto const& one : known) {
        all.emplace_back(one.head);
    }
    return all;
}

}  // namespace peerlane::fact_words

namespace peerlane {

Facts apply_facts(Facts facts, std::span<const Fault> faults) {
    for (auto const& fault : faults) {
        if (fault.what != Fault::What::fact) {
            continue;
        }
        fact_words::Word const word(fault);
        auto const found = std::find_if(fact_words::known.begin(), fact_words::known.end(),
                                        [&](auto const& one) { return word.head == one.head; });
        if (found == fact_words::known.end()) {
            word.refuse(fmt::format("is no known fact; known are {}", fmt::join(fact_words::heads(), ", ")));
        }
        found->apply(facts, word);
    }
    return facts;
}

}  // namespace peerlane
