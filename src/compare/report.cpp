/// One machine in the words of a comparison.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <peerlane/compare.hpp>

namespace peerlane {
namespace {

std::string model_of(const Machine& machine) {
    std::map<std::string, int> models;
    for (auto const& device : machine.devices) {
        ++models[device.model.value_or("unknown model")];
    }
    std::string text;
    for (auto const& [model, count] : models) {
        text += fmt::format("{}{}", text.empty() ? "" : " and ",
                            models.size() == 1 ? model : fmt::format("{} x {}", count, model));
    }
    return text;
}

/// Equal for machines whose pairs are joined alike; names the kinds of paths and how many of each.
std::string topology_of(const Machine& machine) {
    std::map<std::string, int> kinds;
    std::uint64_t mix = 1469598103934665603U;
    for (auto const& pair : machine.pairs) {
        auto const word = fmt::format("{}{}", to_string(pair.path), pair.nvlinks ? fmt::to_string(*pair.nvlinks) : "");
        ++kinds[word];
        for (auto const c : word + ";") {
            mix = (mix ^ static_cast<unsigned char>(c)) * 1099511628211U;
        }
    }
    std::string text;
    for (auto const& [kind, count] : kinds) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
    }
    // The kinds may be the same and lie between other pairs.
    return kinds.size() > 1 ? fmt::format("{} (arrangement {:04x})", text, mix & 0xffff) : text;
}

void add_failures(NodeReport& node, const std::string& who, const CheckResult& check) {
    if (check.result == Result::wrong || check.result == Result::hang || check.result == Result::error) {
        node.failed.push_back(fmt::format("{} {}{}", who, to_string(check.result),
                                          check.kind ? fmt::format(" ({})", to_string(*check.kind)) : ""));
    }
}

}  // namespace

NodeReport report_of(std::string name, const Machine& machine, const Verdicts& verdicts,
                     std::map<std::string, std::string> traits) {
    NodeReport node;
    node.name = std::move(name);
    node.traits = std::move(traits);
    if (!machine.devices.empty()) {
        node.devices = static_cast<int>(machine.devices.size());
        node.traits["model"] = model_of(machine);
        node.traits["topology"] = topology_of(machine);
    }
    for (auto const& route : verdicts.routes) {
        auto const rate = route.use == RouteVerdict::Use::direct ? route.direct_gbs : route.staged_gbs;
        if (rate) {
            node.rates[{route.source, route.destination}] = *rate;
        }
        if (route.staged_gbs) {
            node.staged_rates[{route.source, route.destination}] = *route.staged_gbs;
        }
    }
    for (auto const& pair : verdicts.pairs) {
        for (auto const check : all_checks) {
            add_failures(node, fmt::format("{}:{} {}", pair.accessor, pair.owner, to_string(check)), pair[check]);
        }
    }
    for (auto const& arm : verdicts.control) {
        add_failures(node, fmt::format("{}>{} through the host", arm.source, arm.destination), arm.staged);
    }
    std::set<std::string> causes;
    for (auto const& finding : verdicts.findings) {
        if (finding.severity != Finding::Severity::info) {
            causes.insert(finding.code);
        }
    }
    node.causes.assign(causes.begin(), causes.end());
    if (!verdicts.pairs.empty()) {
        node.status = verdicts.status;
    }
    return node;
}

}  // namespace peerlane
