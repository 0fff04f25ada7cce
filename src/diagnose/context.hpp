#pragma once
/// What the groups of causes look at, joined: devices by bus address, pairs by what was proven of them.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/diagnose.hpp>

namespace peerlane::causes {

using DirectedPair = std::pair<int, int>;  ///< accessor, owner
using Pairs = std::vector<DirectedPair>;

class Context {
  public:
    Context(const Machine& machine, const Facts& facts, const Verdicts& verdicts);

    const Machine& machine;
    const Facts& facts;
    const Verdicts& verdicts;

    [[nodiscard]] int devices() const { return static_cast<int>(machine.devices.size()); }
    /// Their numbers, ascending: some are missing where only a part of the machine is looked at.
    [[nodiscard]] std::vector<int> ids() const;
    /// Its bus address, "" when nothing tells it.
    [[nodiscard]] const std::string& bus(int device) const;
    /// The device with this address; an address without a function number matches too. -1 when none has it.
    [[nodiscard]] int device_at(const std::string& bus) const;
    [[nodiscard]] const PciFunction* function(int device) const;
    [[nodiscard]] const NvmlDevice* managed(int device) const;
    /// Nearest bridge above it, nullptr when not known.
    [[nodiscard]] const PciFunction* port_above(int device) const;
    /// As the management library names it, else as the machine does; "" when neither does.
    [[nodiscard]] std::string model(int device) const;
    /// "device 2 (0000:41:00.0)".
    [[nodiscard]] std::string label(int device) const;

    /// Every directed pair of the machine.
    [[nodiscard]] const Pairs& all() const { return all_; }
    /// Those that are not joined by a fabric: their peer traffic passes bridges.
    [[nodiscard]] bool over_fabric(DirectedPair pair) const;
    /// Pairs over PCI Express whose access the driver's table does not forbid anyway.
    [[nodiscard]] const Pairs& over_pcie() const { return over_pcie_; }
    /// All pairs that have this device as one end, of `among`.
    static Pairs touching(int device, const Pairs& among);

    /// The driver's answer: proven, else as the machine tells it; empty when nobody asked.
    [[nodiscard]] std::optional<bool> claim(DirectedPair pair) const;
    [[nodiscard]] Claims words(DirectedPair pair) const;
    /// A status word that no setting can change: CNS, GNS, NS.
    [[nodiscard]] bool refused_by_table(DirectedPair pair) const;
    /// Failed or slower than it should be: what causes are looked for.
    [[nodiscard]] bool not_right(DirectedPair pair) const { return not_right_.count(pair) != 0; }
    /// A check of a claimed pair is wrong, hangs or fails.
    [[nodiscard]] bool broken(DirectedPair pair) const;

    /// This kernel runs in a virtual machine; empty when not known.
    [[nodiscard]] bool guest() const { return guest_; }
    /// The system's own files were read at all.
    [[nodiscard]] bool host_was_read() const;
    /// NVSwitches that this system shows.
    [[nodiscard]] std::vector<std::string> switches() const;

  private:
    std::map<int, std::string> buses_;
    Pairs all_, over_pcie_;
    std::set<DirectedPair> not_right_;
    bool guest_ = false;
};

/// Collects findings; severities are those of the list of codes.
class Findings {
  public:
    void add(std::string_view code, Pairs pairs, std::vector<std::string> evidence, std::string cure);
    [[nodiscard]] bool has(std::string_view code) const;
    std::vector<Finding> all;
};

// The groups. Later ones may look at what earlier ones found: one cause is said once.
void proof(const Context& context, Findings& findings);
void rates(const Context& context, Findings& findings);
void run(const Context& context, Findings& findings);
void platform(const Context& context, Findings& findings);
void links(const Context& context, Findings& findings);
void device(const Context& context, Findings& findings);
void driver(const Context& context, Findings& findings);
void fabric(const Context& context, Findings& findings);
void process(const Context& context, Findings& findings);

/// A check that did not do what was claimed.
bool failed(const CheckResult& check);
/// "0:1, 1:0"; more than twelve are counted.
std::string list(const Pairs& pairs);
/// "/sys/bus/pci/devices/0000:01:00.0/NAME".
std::string sysfs(const std::string& bus, std::string_view name);
/// Bus addresses in a text, with domain and function; a missing function reads as 0.
std::vector<std::string> addresses_in(const std::string& text);
/// The middle value; of two middle ones the lower. Empty without values.
std::optional<double> median(std::vector<double> values);

}  // namespace peerlane::causes
