/// What the checks, the findings and what was required come to; and the document that says it.

#include <algorithm>

#include <fmt/format.h>

#include "cli/doctor.hpp"
#include "cli/doctor_pairs.hpp"

namespace peerlane::cli {
namespace {

int severity(Health status) {
    switch (status) {
        case Health::healthy:
            return 0;
        case Health::degraded:
            return 1;
        case Health::broken:
            return 2;
        case Health::inconclusive:
            break;
    }
    return 3;
}

Health status_of(Finding::Severity severity) {
    switch (severity) {
        case Finding::Severity::error:
            return Health::broken;
        case Finding::Severity::warn:
            return Health::degraded;
        case Finding::Severity::info:
            break;
    }
    return Health::healthy;
}

/// Claimed, mapped, and yet bytes were not moved: no room, a stop, a device that is left alone. Nothing is known of it.
bool untried(const PairVerdict& pair) {
    auto const moving = {Check::push, Check::pull, Check::store, Check::load};
    return pair[Check::claim].result == Result::skipped ||
           (pair[Check::claim].result == Result::ok && pair[Check::map].result != Result::no &&
            std::any_of(moving.begin(), moving.end(),
                        [&](Check check) { return pair[check].result == Result::skipped; }));
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (auto const c : text) {
        auto const code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += code < 0x20 ? fmt::format("\\u{:04x}", code) : std::string(1, c);
    }
    return out + "\"";
}

template <class Items, class Text>
std::string list(const Items& items, Text text) {
    std::string out = "[";
    for (auto const& item : items) {
        out += (out.size() > 1 ? ", " : "") + text(item);
    }
    return out + "]";
}

std::string truth(bool value) {
    return value ? "true" : "false";
}

}  // namespace

void conclude(Examination& examination, const std::vector<Check>& required) {
    auto& verdicts = examination.verdicts;
    if (examination.passive) {  // nothing was tried that could be missing
        verdicts.status = Health::healthy;
    }
    auto const at_least = [&](Health status) {
        if (verdicts.status != Health::inconclusive && severity(verdicts.status) < severity(status)) {
            verdicts.status = status;
        }
    };
    for (auto const& finding : verdicts.findings) {
        at_least(status_of(finding.severity));
    }
    if (!examination.passive && (verdicts.status == Health::healthy || verdicts.status == Health::degraded)) {
        if (std::any_of(verdicts.pairs.begin(), verdicts.pairs.end(), untried)) {
            verdicts.status = Health::inconclusive;
        }
    }
    examination.missing.clear();
    for (auto const& pair : examination.pairs) {
        auto const* const verdict = verdicts.pair(pair.first, pair.second);
        for (auto const check : required) {
            if (verdict == nullptr || (*verdict)[check].result != Result::ok) {
                examination.missing.push_back(fmt::format("{}:{} {}", pair.first, pair.second, to_string(check)));
            }
        }
    }
    if (!examination.missing.empty()) {
        at_least(Health::degraded);
    }
}

std::string doctor_json(const Examination& found) {
    auto document = write_verdicts(found.verdicts);
    document.resize(document.find_last_of('}'));
    while (!document.empty() && document.back() == '\n') {
        document.pop_back();
    }
    auto const plain = [](const std::string& text) { return quoted(text); };
    std::vector<std::pair<std::string, std::string>> members{
        {"version", quoted(found.version)},
        {"words", quoted(verdict_in_words(found))},
        {"quick", truth(found.quick)},
        {"replayed", truth(found.replayed)},
        {"passive", truth(found.passive)},
        {"from_cache", truth(found.from_cache)},
        {"stopped", truth(found.stopped_by != 0)},
        {"pairs_asked", fmt::format("{}", found.pairs.size())},
        {"pairs_proven", fmt::format("{}", pairs_proven(found.verdicts))},
        {"seconds", found.seconds ? fmt::format("{}", *found.seconds) : "null"},
        {"disturbed", list(found.disturbed, [](int device) { return fmt::format("{}", device); })},
        {"required_missing", list(found.missing, plain)},
        {"interrupted", list(found.interrupted, [](auto const& open) { return quoted(describe(open.step)); })},
        {"notices", list(found.notices, plain)},
        {"root_would_show", list(found.root_would_show, plain)},
    };
    if (!found.expected.empty()) {
        members.emplace_back("expected", quoted(found.expected));
        members.emplace_back("unexpected", list(found.unexpected, [](const Difference& one) {
                                 return fmt::format("{{\"kind\": {}, \"text\": {}}}", quoted(to_string(one.kind)),
                                                    quoted(one.text));
                             }));
    }
    if (found.soak.asked_s > 0) {
        auto const gbs = [](std::optional<double> rate) { return rate ? fmt::format("{}", *rate) : "null"; };
        members.emplace_back(
            "soak",
            fmt::format("{{\"asked_s\": {}, \"loaded_s\": {}, \"loads\": {}, \"proofs\": {}, \"bytes\": {:.0f}, "
                        "\"first_gbs\": {}, \"least_gbs\": {}, \"failure\": {}, \"counters\": {}}}",
                        found.soak.asked_s, found.soak.loaded_s, found.soak.loads, found.soak.proofs, found.soak.bytes,
                        gbs(found.soak.first_gbs), gbs(found.soak.least_gbs),
                        found.soak.failure.empty() ? "null" : quoted(found.soak.failure),
                        list(found.soak.counters, plain)));
    }
    auto const report = report_of(found);
    auto node = fmt::format("{{\"devices\": {}", found.machine.devices.size());
    for (auto const& [name, value] : report.traits) {
        node += fmt::format(", {}: {}", quoted(name), quoted(value));
    }
    members.emplace_back("node", node + "}");
    std::string key = "{";
    for (auto const& [name, value] : found.key.parts) {
        key += fmt::format("{}{}: {}", key.size() > 1 ? ", " : "", quoted(name), quoted(value));
    }
    members.emplace_back("key", key + "}");
    document += ",\n  \"doctor\": {";
    for (std::size_t i = 0; i < members.size(); ++i) {
        document += fmt::format("{}\n    {}: {}", i == 0 ? "" : ",", quoted(members[i].first), members[i].second);
    }
    return document + "\n  }\n}\n";
}

}  // namespace peerlane::cli
