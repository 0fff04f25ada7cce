#include <peerlane/merge.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "machine/join.hpp"
#include "machine/merge_graph.hpp"
#include "machine/nominal.hpp"

namespace peerlane {
namespace {

void notice(Machine& machine, const std::string& file, const char* code, std::string text) {
    machine.notices.push_back({code, file, 0, std::move(text)});
}

bool has_notice(const Machine& machine, std::string_view code) {
    return std::any_of(machine.notices.begin(), machine.notices.end(), [&](const Notice& n) { return n.code == code; });
}

/// Differences of one kind, told once with the first as an example.
class Differences {
  public:
    void add(std::string example) {
        if (count_++ == 0) {
            first_ = std::move(example);
        }
    }
    void tell(Machine& machine, const std::string& file, const char* code, const char* unit) const {
        if (count_ > 0) {
            notice(machine, file, code,
                   count_ == 1 ? first_ : fmt::format("{} (and {} more {})", first_, count_ - 1, unit));
        }
    }

  private:
    int count_ = 0;
    std::string first_;
};

template <typename T>
void fill(std::optional<T>& place, const std::optional<T>& value) {
    if (!place) {
        place = value;
    }
}

/// Takes `value` where nothing is known; tells where it is known otherwise.
template <typename T, typename Text>
void fill_or_tell(std::optional<T>& place, const std::optional<T>& value, Differences& differences, Text&& text) {
    if (!place) {
        place = value;
    } else if (value && *place != *value) {
        differences.add(text());
    }
}

bool is_fabric(PathClass path) {
    return path == PathClass::nv || path == PathClass::xgmi;
}

/// Two names of one part: "A100 SXM4 40GB" of a PCI data base and "NVIDIA A100-SXM4-40GB" of the vendor's tool.
bool same_part(const std::string& a, const std::string& b) {
    auto const plain = [](const std::string& text) {
        std::string out;
        for (char const c : text) {
            if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')) {
                out += c;
            } else if (c >= 'a' && c <= 'z') {
                out += static_cast<char>(c - 'a' + 'A');
            }
        }
        for (std::string const maker : {"NVIDIA", "AMD", "TESLA", "GEFORCE"}) {
            if (auto const at = out.find(maker); at != std::string::npos) {
                out.erase(at, maker.size());
            }
        }
        return out;
    };
    auto const x = plain(a), y = plain(b);
    return x.find(y) != std::string::npos || y.find(x) != std::string::npos;
}

void merge_device(Device& base, const Device& part, Differences& differences) {
    auto const differs = [&](const char* what) {
        return [&base, what] { return fmt::format("{} of device {} is told differently", what, base.id); };
    };
    if (base.model && part.model && *base.model != *part.model) {
        if (!same_part(*base.model, *part.model)) {
            differences.add(fmt::format("device {} is \"{}\" in one file and \"{}\" in another", base.id, *base.model,
                                        *part.model));
        } else if (part.model->rfind("NVIDIA ", 0) == 0 && base.model->rfind("NVIDIA ", 0) != 0) {
            base.model = part.model;
        }
    }
    fill(base.model, part.model);
    fill_or_tell(base.bus, part.bus, differences, differs("the PCI address"));
    fill_or_tell(base.uuid, part.uuid, differences, differs("the UUID"));
    fill_or_tell(base.numa, part.numa, differences, differs("the NUMA node"));
    if (!base.numa) {
        fill(base.numa_text, part.numa_text);
    }
    fill(base.cpu_affinity, part.cpu_affinity);
    fill(base.memory_numa, part.memory_numa);
    fill_or_tell(base.compute_capability, part.compute_capability, differences, differs("the compute capability"));
    fill(base.memory_bytes, part.memory_bytes);
    fill_or_tell(base.pcie_generation, part.pcie_generation, differences, differs("the PCIe generation of the link"));
    fill_or_tell(base.pcie_width, part.pcie_width, differences, differs("the width of the PCIe link"));
    if (part.nvlink_state && !base.nvlink_state) {
        base.nvlink_state = part.nvlink_state;
        base.inactive_nvlinks = part.inactive_nvlinks;
    }
    fill_or_tell(base.nvlinks, part.nvlinks, differences, differs("the number of NVLinks"));
    fill(base.nvlink_gbs, part.nvlink_gbs);
    if (part.mig) {
        base.mig = base.mig.value_or(false) || *part.mig;
    }
    base.mig_instances = std::max(base.mig_instances, part.mig_instances);
}

void merge_measured(Measured& base, const Measured& part, bool& differs) {
    for (auto const field : {&Measured::write_gbs, &Measured::read_gbs, &Measured::write_sm_gbs, &Measured::read_sm_gbs,
                             &Measured::staged_gbs, &Measured::bidirectional_gbs, &Measured::bidirectional_staged_gbs,
                             &Measured::latency_s, &Measured::staged_latency_s}) {
        differs = differs || (base.*field && part.*field && base.*field != part.*field);
        fill(base.*field, part.*field);
    }
}

class Merger {
  public:
    explicit Merger(Machine base) : base_(std::move(base)), file_(file_of(base_)) {
        hides_nvlink_ = has_notice(base_, "nvlink-hidden");
    }
    void add(Machine part);
    Machine finish();
    [[nodiscard]] const Machine& base() const { return base_; }

  private:
    void tell_joining(const Machine& part, const Joining& joining);
    void merge_pairs(const Machine& part, const Joining& joining);
    void merge_path(Pair& base, const Pair& part, const Machine& part_machine, Differences& differences);
    void merge_host(const Machine& part, const Joining& joining);
    void merge_nics(const Machine& part, const Joining& joining);
    void merge_origin(const Machine& part);
    void tell_hosts(const Machine& part);

    Machine base_;
    std::string file_;
    bool hides_nvlink_ = false;
};

void Merger::tell_joining(const Machine& part, const Joining& joining) {
    auto const file = file_of(part);
    if (!joining.by_identity) {
        notice(base_, file, "joined-by-index",
               fmt::format("no address or UUID in common with {}: devices are joined by their numbers", file_));
    } else if (joining.renumbers()) {
        Differences moved;
        for (std::size_t i = 0; i < joining.base_id.size(); ++i) {
            if (joining.base_id[i] != static_cast<int>(i)) {
                moved.add(fmt::format("device {} of this file is device {} of {}", i, joining.base_id[i], file_));
            }
        }
        moved.tell(base_, file, "numbered-differently", "devices");
    }
}

void Merger::merge_path(Pair& base, const Pair& part, const Machine& part_machine, Differences& differences) {
    if (part.path == PathClass::unknown) {
        fill(base.nvlinks, part.nvlinks);
        fill(base.nominal_gbs, part.nominal_gbs);
        return;
    }
    bool take = base.path == PathClass::unknown;
    if (!take && base.path == part.path) {
        fill_or_tell(base.nvlinks, part.nvlinks, differences, [&] {
            return fmt::format("{} links join {} and {} in one file, {} in another", *base.nvlinks, base.accessor,
                               base.owner, *part.nvlinks);
        });
        fill(base.nominal_gbs, part.nominal_gbs);
        return;
    }
    if (!take) {
        bool const part_hides = has_notice(part_machine, "nvlink-hidden");
        bool const expected = (is_fabric(part.path) && hides_nvlink_) || (is_fabric(base.path) && part_hides);
        // A fabric that one file shows is there; a guest's PCI tree yields to a host's.
        take = is_fabric(part.path) != is_fabric(base.path)
                   ? is_fabric(part.path)
                   : base_.origin.virtualized.value_or(false) && !part_machine.origin.virtualized.value_or(false) &&
                         !is_fabric(base.path);
        if (!expected) {
            differences.add(fmt::format("{} reaching {} is {} in one file and {} in another; {} is used", base.accessor,
                                        base.owner, to_string(base.path), to_string(part.path),
                                        to_string(take ? part.path : base.path)));
        }
    }
    if (take) {
        base.path = part.path;
        base.nvlinks = part.nvlinks;
        base.nominal_gbs = part.nominal_gbs;
    }
}

void Merger::merge_pairs(const Machine& part, const Joining& joining) {
    Differences paths, claims, rates;
    for (auto const& pair : part.pairs) {
        auto const accessor = joining.base_id[static_cast<std::size_t>(pair.accessor)];
        auto const owner = joining.base_id[static_cast<std::size_t>(pair.owner)];
        auto& base = *base_.pair(accessor, owner);
        merge_path(base, pair, part, paths);
        if (base.claim && pair.claim && *base.claim != *pair.claim) {
            claims.add(fmt::format("peer access of {} to {} is answered yes in one file and no in another; no is used",
                                   accessor, owner));
            base.claim = false;
        }
        fill(base.claim, pair.claim);
        for (auto const field : {&Claims::read, &Claims::write, &Claims::nvlink, &Claims::atomics, &Claims::pcie}) {
            fill_or_tell(base.claims.*field, pair.claims.*field, claims, [&] {
                return fmt::format("a status word of {} reaching {} is told differently", accessor, owner);
            });
        }
        bool differs = false;
        merge_measured(base.measured, pair.measured, differs);
        if (differs) {
            rates.add(fmt::format("{} reaching {} is measured differently; the first file is used", accessor, owner));
        }
    }
    auto const file = file_of(part);
    paths.tell(base_, file, "paths-differ", "pairs");
    claims.tell(base_, file, "claims-differ", "answers");
    rates.tell(base_, file, "rates-differ", "pairs");
}

void Merger::merge_host(const Machine& part, const Joining& joining) {
    for (auto const& rates : part.host) {
        auto const id = joining.base_id[static_cast<std::size_t>(rates.device)];
        auto known =
            std::find_if(base_.host.begin(), base_.host.end(), [&](const HostRates& r) { return r.device == id; });
        if (known == base_.host.end()) {
            base_.host.push_back({.device = id});
            known = base_.host.end() - 1;
        }
        for (auto const field : {&HostRates::to_device_gbs, &HostRates::from_device_gbs,
                                 &HostRates::to_device_loaded_gbs, &HostRates::from_device_loaded_gbs}) {
            fill((*known).*field, rates.*field);
        }
    }
    std::sort(base_.host.begin(), base_.host.end(),
              [](const HostRates& a, const HostRates& b) { return a.device < b.device; });
}

void Merger::merge_nics(const Machine& part, const Joining& joining) {
    for (auto const& nic : part.nics) {
        auto known = std::find_if(base_.nics.begin(), base_.nics.end(),
                                  [&](const Nic& n) { return (n.bus && n.bus == nic.bus) || n.name == nic.name; });
        if (known == base_.nics.end()) {
            base_.nics.push_back({nic.name, nic.bus, std::vector<PathClass>(base_.devices.size(), PathClass::unknown)});
            known = base_.nics.end() - 1;
        }
        fill(known->bus, nic.bus);
        for (std::size_t i = 0; i < nic.paths.size() && i < joining.base_id.size(); ++i) {
            auto& path = known->paths[static_cast<std::size_t>(joining.base_id[i])];
            path = path == PathClass::unknown ? nic.paths[i] : path;
        }
    }
}

/// Names and hashes, each against its own kind. A hash changes when the host starts anew, a name with the container: it
/// is a question, not an error.
void Merger::tell_hosts(const Machine& part) {
    auto const is_hash = [](const std::string& host) { return host.rfind("0x", 0) == 0; };
    for (auto const& host : part.origin.hosts) {
        auto const known = std::find_if(base_.origin.hosts.begin(), base_.origin.hosts.end(),
                                        [&](const std::string& other) { return is_hash(other) == is_hash(host); });
        if (known == base_.origin.hosts.end()) {
            base_.origin.hosts.push_back(host);
        } else if (*known != host) {
            notice(base_, file_of(part), "hosts-differ",
                   fmt::format("taken on host {}, and {} on host {}: these are two machines, or one that started anew "
                               "in between",
                               host, file_, *known));
        }
    }
}

void Merger::merge_origin(const Machine& part) {
    tell_hosts(part);
    base_.origin.files.insert(base_.origin.files.end(), part.origin.files.begin(), part.origin.files.end());
    if (part.origin.virtualized) {
        base_.origin.virtualized = base_.origin.virtualized.value_or(false) || *part.origin.virtualized;
    }
    if (base_.origin.source.empty()) {
        base_.origin.source = part.origin.source;
    }
    if (base_.origin.name.empty()) {
        base_.origin.name = part.origin.name;
    }
}

void Merger::add(Machine part) {
    auto const joining = join_devices(base_, part);
    std::vector<Notice> own = part.notices;
    if (!part.devices.empty()) {
        tell_joining(part, joining);
    }
    Differences devices;
    for (auto const& device : part.devices) {
        merge_device(base_.devices[static_cast<std::size_t>(joining.base_id[static_cast<std::size_t>(device.id)])],
                     device, devices);
    }
    devices.tell(base_, file_of(part), "facts-differ", "facts");
    merge_pairs(part, joining);
    merge_host(part, joining);
    merge_nics(part, joining);
    merge_graph(base_, part, joining);
    merge_origin(part);
    hides_nvlink_ = hides_nvlink_ && has_notice(part, "nvlink-hidden");
    base_.notices.insert(base_.notices.end(), own.begin(), own.end());
}

/// Links counted by the matrix times the rate that the management tool printed: nearer to the truth than the table of
/// parts.
void printed_link_rates(Machine& machine) {
    for (auto& pair : machine.pairs) {
        auto const& a = machine.devices[static_cast<std::size_t>(pair.accessor)].nvlink_gbs;
        auto const& b = machine.devices[static_cast<std::size_t>(pair.owner)].nvlink_gbs;
        if (pair.path == PathClass::nv && pair.nvlinks && !pair.nominal_gbs && a && b) {
            pair.nominal_gbs = *pair.nvlinks * std::min(*a, *b);
        }
    }
}

/// A guest's PCI classes say little; a rate that no PCIe link carries does. Such a pair is joined by the parts' fabric,
/// with a number of links that nobody told.
void classes_from_rates(Machine& machine) {
    constexpr double fastest_pcie_gbs = 64;  // generation 5, 16 lanes
    Differences changed;
    for (auto& pair : machine.pairs) {
        auto const rate = std::max(pair.measured.write_gbs.value_or(0), pair.measured.read_gbs.value_or(0));
        auto const part = nvlink_part(machine.devices[static_cast<std::size_t>(pair.accessor)]);
        if (machine.origin.virtualized.value_or(false) && !is_fabric(pair.path) && rate > fastest_pcie_gbs &&
            (!part || part->links > 0)) {
            changed.add(fmt::format("{} reaching {} moves {:.0f} GB/s, so it is not {}: NV", pair.accessor, pair.owner,
                                    rate, to_string(pair.path)));
            pair.path = PathClass::nv;
            pair.nominal_gbs = std::nullopt;
        }
    }
    changed.tell(machine, file_of(machine), "measured-class", "pairs");
}

Machine Merger::finish() {
    drop_lone_fabric(base_);
    printed_link_rates(base_);
    classes_from_rates(base_);
    fill_nominal(base_);
    note_contradictions(base_);
    return std::move(base_);
}

}  // namespace

Machine merge(std::vector<Machine> parts) {
    if (parts.empty()) {
        throw std::invalid_argument("no description of a machine to merge");
    }
    auto const most = std::max_element(parts.begin(), parts.end(), [](const Machine& a, const Machine& b) {
        // Among equals the one that says something about pairs keeps its numbers.
        return std::pair(a.devices.size(), says_pairs(a)) < std::pair(b.devices.size(), says_pairs(b));
    });
    std::vector<std::string> files;
    for (auto const& part : parts) {
        files.insert(files.end(), part.origin.files.begin(), part.origin.files.end());
    }
    Merger merger(std::move(*most));
    parts.erase(most);
    // Those that share an identity with what is known come first: they bring identities for the others.
    while (!parts.empty()) {
        auto next = std::find_if(parts.begin(), parts.end(),
                                 [&](const Machine& part) { return has_common_identity(merger.base(), part); });
        next = next == parts.end() ? parts.begin() : next;
        merger.add(std::move(*next));
        parts.erase(next);
    }
    auto machine = merger.finish();
    auto const place = [&](const Notice& n) { return std::find(files.begin(), files.end(), n.file) - files.begin(); };
    std::stable_sort(machine.notices.begin(), machine.notices.end(),
                     [&](const Notice& a, const Notice& b) { return place(a) < place(b); });
    machine.origin.files = std::move(files);
    return machine;
}

}  // namespace peerlane
