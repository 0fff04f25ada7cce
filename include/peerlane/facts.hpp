#pragma once
/// Everything that was read of a machine and is not a rate or a verdict: what causes are found from. A plain value with
/// a JSON form (`peerlane.facts/1`), so that an odd machine can be written down once and diagnosed anywhere.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/fault.hpp>
#include <peerlane/host_facts.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/nvml_facts.hpp>
#include <peerlane/process_facts.hpp>

namespace peerlane {

/// Something that could not be read.
struct Unread {
    std::string what, where;  ///< "access control of bridges", "/sys/bus/pci/devices/<bus>/config"
    std::string why;          ///< "not permitted"
    bool root_helps = false;  ///< running as root once would show it
    friend bool operator==(const Unread&, const Unread&) = default;
};

struct Facts {
    bool simulated = false;
    HostFacts host;
    NvmlFacts nvml;
    ProcessFacts process;
    RunFacts run;
    std::vector<Unread> unread;
    friend bool operator==(const Facts&, const Facts&) = default;
};

/// Facts of a machine that is not there and in which nothing is wrong: diagnose finds no cause in them. Devices without
/// a bus address get one ("0000:01:00.0" for the first). `simulated` is true.
Facts healthy_facts(const Machine& machine);

/// The facts with those faults `fact:NAME=VALUE` said of them, in order; other faults change nothing. Names and values:
/// docs/findings/facts.md. Throws InputError that names the words that could stand there.
Facts apply_facts(Facts facts, std::span<const Fault> faults);

/// Without what identifies people and machines: serial numbers, host names, names of users in paths, boot id, process
/// ids. UUIDs become "GPU-1", "GPU-2", ... in the order of the devices, so that they still tell devices apart.
Facts scrub(Facts facts);

/// The document `peerlane.facts/1`: only what was read is in it. `indent` < 0 puts it on one line.
std::string write_facts(const Facts& facts, int indent = 2);
/// Throws InputError (with `file` as its name) for what is no such document. Unknown keys are left out.
Facts read_facts(std::string_view text, const std::string& file);

}  // namespace peerlane
