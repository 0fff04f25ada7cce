#include "machine/read/hwloc_console.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "machine/read/hwloc_objects.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

/// Value behind "key=", up to a blank or the closing bracket; quoted values lose their quotes.
std::string_view value_of(std::string_view text, std::string_view key) {
    for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
        if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(') {
            continue;
        }
        auto rest = text.substr(at + key.size());
        if (!rest.empty() && rest[0] == '"') {
            rest.remove_prefix(1);
            return rest.substr(0, rest.find('"'));
        }
        return rest.substr(0, rest.find_first_of(" )"));
    }
    return {};
}

/// "Package L#1 (P#8 total=...": the operating system's number.
std::optional<int> os_number(std::string_view text) {
    auto const at = text.find("P#");
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    auto const digits = text.substr(at + 2);
    return small_number(digits.substr(0, digits.find_first_not_of("0123456789")));
}

struct Open {
    std::size_t indent = 0;
    int pci = -1;  ///< index of a bridge or device, -1 for others
    int socket = -1;
    int group = -1;  ///< object that may hold NUMA nodes
};

class ConsoleReader {
  public:
    explicit ConsoleReader(const Source& source) : source_(source), lines_(plain_lines(source)) {}
    Machine read();

  private:
    void object(const Line& line);
    int add_pci(const Line& line, std::string_view text, HwlocPci::Kind kind);
    void add_numa(std::string_view text);
    void add_function(std::string_view text);
    void set_localities();
    void pick_gpus();

    const Source& source_;
    std::vector<Line> lines_;
    HwlocTopology topology_;
    std::vector<Open> open_;
    int groups_ = 0;
    std::vector<int> group_parent_;
    std::vector<std::vector<int>> group_numas_;
    std::vector<int> group_of_pci_;
};

int ConsoleReader::add_pci(const Line& line, std::string_view text, HwlocPci::Kind kind) {
    HwlocPci pci;
    pci.kind = kind;
    pci.line = line.number;
    pci.gp_index = topology_.pci.size() + 1;
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
        if (open->pci >= 0) {
            pci.parent = open->pci;
            break;
        }
    }
    if (kind != HwlocPci::Kind::host_bridge) {
        auto bus = bus_address(value_of(text, "busid="));
        if (!bus && words(text).size() > 1) {  // "PCI 34:00.0 (3D)", without -v
            bus = bus_address(words(text)[1]);
        }
        if (!bus && kind == HwlocPci::Kind::device) {
            refuse(source_, line.number, "a PCI device without an address");
        }
        pci.bus = bus.value_or("");
        auto const id = value_of(text, "id=");
        auto const type = value_of(text, "class=");
        parse_pci_type(fmt::format("{} [{}]", type.substr(0, 4), id), pci);
        if (pci.class_id == 0) {
            pci.class_id = text.find("(3D)") != std::string_view::npos    ? 0x0302
                           : text.find("(VGA)") != std::string_view::npos ? 0x0300
                                                                          : 0;
        }
        auto const speed = value_of(text, "link=");
        pci.link_gbs = std::max(0.0, parse_rate_gbs(speed).value_or(0));
        pci.product_name = std::string(value_of(text, "PCIDevice="));
    }
    if (topology_.pci.size() >= 20000 || open_.size() > 256) {
        refuse(source_, line.number, "more PCI devices, or deeper ones, than any host has");
    }
    group_of_pci_.push_back(open_.empty() ? -1 : open_.back().group);
    topology_.pci.push_back(std::move(pci));
    return static_cast<int>(topology_.pci.size()) - 1;
}

void ConsoleReader::add_numa(std::string_view text) {
    auto const index = os_number(text);
    if (!index) {
        return;
    }
    HwlocNuma numa;
    numa.number = *index;
    numa.socket = open_.empty() ? -1 : open_.back().socket;
    numa.gpu_memory = text.find("(GPUMemory)") != std::string_view::npos || !value_of(text, "PCIBusID=").empty();
    numa.gpu_bus = bus_address(value_of(text, "PCIBusID=")).value_or("");
    numa.bytes = parse_size(value_of(text, "local="));
    if (!numa.gpu_memory && !open_.empty()) {
        group_numas_[static_cast<std::size_t>(open_.back().group)].push_back(*index);
    }
    topology_.numas.push_back(std::move(numa));
}

void ConsoleReader::add_function(std::string_view text) {
    if (open_.empty() || open_.back().pci < 0) {
        return;
    }
    auto const open = text.find('"');
    auto const close = open == std::string_view::npos ? open : text.find('"', open + 1);
    if (close == std::string_view::npos) {
        return;
    }
    HwlocPci::Function f;
    f.name = std::string(text.substr(open + 1, close - open - 1));
    f.gp_index = (std::uint64_t{1} << 40) + topology_.pci.size() * 64 + topology_.pci.back().functions.size();
    f.fabric_nic = text.rfind("OpenFabrics", 0) == 0;
    f.network = f.fabric_nic || text.rfind("Net", 0) == 0;
    f.model = std::string(value_of(text, "GPUModel="));
    f.uuid = std::string(value_of(text, "NVIDIAUUID="));
    f.gpu = f.name.rfind("nvml", 0) == 0 || f.name.rfind("cuda", 0) == 0 || f.name.rfind("rsmi", 0) == 0;
    topology_.pci[static_cast<std::size_t>(open_.back().pci)].functions.push_back(std::move(f));
}

void ConsoleReader::object(const Line& line) {
    auto const indent = line.text.find_first_not_of(" \t");
    auto const text = trimmed(line.text);
    while (!open_.empty() && open_.back().indent >= indent) {
        open_.pop_back();
    }
    auto const word = text.substr(0, text.find_first_of(" ("));
    Open next{indent, -1, open_.empty() ? -1 : open_.back().socket, groups_};
    if (word == "NUMANode") {
        add_numa(text);
        return;
    }
    if (word == "HostBridge") {
        next.pci = add_pci(line, text, HwlocPci::Kind::host_bridge);
    } else if (word == "PCIBridge" || word == "Bridge") {
        next.pci = add_pci(line, text, HwlocPci::Kind::bridge);
    } else if (word == "PCI" || word == "PCIDev") {
        next.pci = add_pci(line, text, HwlocPci::Kind::device);
    } else if (word == "Package" || word == "Socket") {
        next.socket = os_number(text).value_or(-1);
    } else if (text.find("L#") == std::string_view::npos && !open_.empty()) {
        return;
    } else if (text.find('"') != std::string_view::npos && !open_.empty() && open_.back().pci >= 0) {
        add_function(text);
        return;
    }
    group_parent_.push_back(open_.empty() ? -1 : open_.back().group);
    group_numas_.emplace_back();
    ++groups_;
    open_.push_back(next);
}

/// A host bridge is near the NUMA nodes of the first object above it that holds any.
void ConsoleReader::set_localities() {
    for (std::size_t i = 0; i < topology_.pci.size(); ++i) {
        auto& pci = topology_.pci[i];
        if (pci.parent >= 0) {
            continue;
        }
        for (auto group = group_of_pci_[i]; group >= 0; group = group_parent_[static_cast<std::size_t>(group)]) {
            auto const& numas = group_numas_[static_cast<std::size_t>(group)];
            if (!numas.empty()) {
                pci.numa = numas.size() == 1 ? std::optional(numas[0]) : std::nullopt;
                break;
            }
        }
    }
}

void ConsoleReader::pick_gpus() {
    std::set<std::string> with_memory;
    for (auto const& numa : topology_.numas) {
        if (numa.gpu_memory) {
            with_memory.insert(numa.gpu_bus);
        }
    }
    for (auto& pci : topology_.pci) {
        bool const listed =
            std::any_of(pci.functions.begin(), pci.functions.end(), [](auto const& f) { return f.gpu; });
        // A 3D controller has no screen: it is a GPU whoever made it.
        if (pci.vendor == 0 &&
            (listed || pci.class_id == 0x0302 || (pci.class_id >> 8 == 0x03 && with_memory.count(pci.bus) != 0))) {
            pci.subtype = "GPU";
        }
    }
}

Machine ConsoleReader::read() {
    std::size_t first = lines_.size(), last = 0;
    int second_machine = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        auto const text = trimmed(lines_[i].text);
        if (first == lines_.size() && text.substr(0, 8) == "Machine ") {
            first = i;
        }
        if (first < lines_.size() && (text.substr(0, 8) == "depth 0:" || text.substr(0, 7) == "Special")) {
            break;
        }
        if (first < lines_.size() && !text.empty()) {
            if (i > first && text.substr(0, 8) == "Machine ") {
                Machine none;
                add_notice(none, source_, "two-tables", lines_[i].number,
                           "a second machine follows; the first is used");
                break;
            }
            object(lines_[i]);
            last = i;
        }
    }
    if (first == lines_.size()) {
        refuse(source_, 0, "no line that begins with Machine");
    }
    set_localities();
    pick_gpus();
    auto machine = machine_from_hwloc(source_, topology_);
    if (second_machine > 0) {
        add_notice(machine, source_, "two-tables", second_machine, "a second machine follows; the first is used");
    }
    note_wrapping(lines_, first, last + 1, source_, machine);
    return machine;
}

}  // namespace

bool recognizes_hwloc_console(std::string_view text) {
    LineScanner scanner(text);
    bool machine = false;
    int looked_at = 0;
    for (Line line; scanner.next(line) && looked_at < 5000; ++looked_at) {
        auto const body = trimmed(line.text);
        if (!machine) {
            machine = body.substr(0, 9) == "Machine (" || body.substr(0, 11) == "Machine L#0";
        } else if (body.find("L#") != std::string_view::npos &&
                   (body.substr(0, 4) == "Pack" || body.substr(0, 4) == "NUMA" || body.substr(0, 10) == "HostBridge" ||
                    body.substr(0, 2) == "L3" || body.substr(0, 5) == "Group" || body.substr(0, 4) == "Core" ||
                    body.substr(0, 6) == "Socket")) {
            return true;
        }
    }
    return false;
}

Machine read_hwloc_console(const Source& source) {
    return ConsoleReader(source).read();
}

}  // namespace peerlane::read
