#pragma once
/// Many machines that should be alike: what they have in common, and what the odd ones differ in.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// One machine as far as a saved or recorded document tells.
struct NodeReport {
    std::string name;  ///< of the file
    std::optional<int> devices{};
    /// What has one value: "model", "driver", "kernel", "topology", "simulated", ...
    std::map<std::string, std::string> traits{};
    std::map<std::pair<int, int>, double> rates{};         ///< of the route of data, source and destination; GB/s
    std::map<std::pair<int, int>, double> staged_rates{};  ///< through the host
    std::vector<std::string> failed{};                     ///< "0:1 push wrong (flip)"
    std::vector<std::string> causes{};                     ///< codes of findings that warn or worse, sorted
    std::optional<Status> status{};
    std::string unreadable{};  ///< why nothing is known; empty when it was read
};

struct Difference {
    /// In the order in which they matter.
    enum class Kind { unreadable, failed, devices, topology, model, rate, trait, cause };
    Kind kind = Kind::trait;
    double weight = 0;  ///< of its kind; more is worse: per cent for rates, a count else
    std::string text;   ///< "0>1 is 31 % slower: 240 GB/s, the others 348"
    friend bool operator==(const Difference&, const Difference&) = default;
};
const char* to_string(Difference::Kind kind);

struct OddNode {
    std::string name;
    std::vector<Difference> differences{};  ///< worst first
};

struct Comparison {
    int nodes = 0;
    std::vector<std::string> alike{};  ///< "8 x NVIDIA H100", "driver 580.65": what most have
    std::vector<OddNode> odd{};        ///< worst first
};

/// Each trait against what most have, each rate against the median of those with the same topology: one that is slower
/// by more than `tolerance` (0.1: a tenth) differs. Faster is no difference.
Comparison compare(const std::vector<NodeReport>& nodes, double tolerance);

/// What `node` differs in from one that is as it should be.
std::vector<Difference> differences(const NodeReport& expected, const NodeReport& node, double tolerance);

NodeReport report_of(std::string name, const Machine& machine, const Verdicts& verdicts,
                     std::map<std::string, std::string> traits);

/// A document `peerlane.record/1`, `peerlane.verdicts/1` or `peerlane.machine/1`. Throws InputError.
NodeReport read_report(std::string_view text, const std::string& file);

/// The document `peerlane.comparison/1`.
std::string write_comparison(const Comparison& comparison, double tolerance);

}  // namespace peerlane
