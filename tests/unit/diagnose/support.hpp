#pragma once
/// Machines, facts and verdicts for tests of causes, written in the words of faults.

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <peerlane/diagnose.hpp>
#include <peerlane/named.hpp>

namespace peerlane::testing_diagnose {

inline std::vector<Fault> facts_faults(const std::vector<std::string>& facts) {
    std::vector<Fault> faults;
    for (auto const& fact : facts) {
        faults.push_back(parse_fault("fact:" + fact));
    }
    return faults;
}

/// Every pair of the machine as it should be: claimed and all right, or not claimed where the machine says so.
inline Verdicts proven(const Machine& machine) {
    Verdicts verdicts;
    verdicts.simulated = true;
    for (auto const& pair : machine.pairs) {
        PairVerdict one{pair.accessor, pair.owner};
        auto const claimed = pair.claim.value_or(true) && (!pair.claims.read || *pair.claims.read == "OK");
        for (auto const check : all_checks) {
            one[check].result = claimed ? Result::ok : check == Check::claim ? Result::no : Result::skipped;
        }
        verdicts.pairs.push_back(one);
        ControlVerdict control{pair.accessor, pair.owner};
        control.staged.result = Result::ok;
        verdicts.control.push_back(control);
    }
    judge(verdicts);
    return verdicts;
}

/// Sets one check of the pairs that `accessor` and `owner` name (-1 any): "ok", "no", "wrong(flip)", "hang",
/// "error205".
inline void set(Verdicts& verdicts, int accessor, int owner, Check check, const std::string& word) {
    for (auto& pair : verdicts.pairs) {
        if ((accessor != -1 && pair.accessor != accessor) || (owner != -1 && pair.owner != owner)) {
            continue;
        }
        auto& result = pair[check];
        result = {};
        if (word.rfind("wrong", 0) == 0) {
            result.result = Result::wrong;
            for (auto const kind :
                 {WrongKind::zero, WrongKind::stale, WrongKind::flip, WrongKind::mirror, WrongKind::offset}) {
                if (word == std::string("wrong(") + to_string(kind) + ")") {
                    result.kind = kind;
                }
            }
            result.first_bad_offset = 0;
            result.at_bytes = 8;
        } else if (word.rfind("error", 0) == 0) {
            result.result = Result::error;
            result.code = std::stoi(word.substr(5));
        } else {
            result.result = *parse_result(word);
        }
    }
    judge(verdicts);
}

/// Nobody may reach anybody.
inline void refuse(Verdicts& verdicts, int accessor = -1, int owner = -1) {
    for (auto const check : all_checks) {
        set(verdicts, accessor, owner, check, check == Check::claim ? "no" : "skipped");
    }
}

inline std::set<std::string> codes(const std::vector<Finding>& findings) {
    std::set<std::string> all;
    for (auto const& finding : findings) {
        all.insert(finding.code);
    }
    return all;
}

inline const Finding* find(const std::vector<Finding>& findings, const std::string& code) {
    auto const found =
        std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.code == code; });
    return found == findings.end() ? nullptr : &*found;
}

/// All evidence and the cure in one text.
inline std::string text(const std::vector<Finding>& findings, const std::string& code) {
    auto const* const found = find(findings, code);
    std::string all;
    if (found != nullptr) {
        for (auto const& line : found->evidence) {
            all += line + "\n";
        }
        all += found->cure;
    }
    return all;
}

/// What the findings alone ask of the exit status: 2 for an error, 1 for a warning.
inline int least_status(const std::vector<Finding>& findings) {
    int status = 0;
    for (auto const& finding : findings) {
        status = std::max(status, static_cast<int>(finding.severity));
    }
    return status;
}

inline bool shared_is_here() {
    return std::filesystem::exists(std::string(PEERLANE_SHARED_DIR) + "/machines");
}
/// A file of the shared folder.
inline std::string shared(const std::string& name) {
    return std::string(PEERLANE_SHARED_DIR) + "/machines/" + name;
}

/// A machine, what was proven of it and what was read.
struct Scene {
    Machine machine;
    Facts facts;
    Verdicts verdicts;
    explicit Scene(Machine given, const std::vector<std::string>& told = {})
        : machine(std::move(given)),
          facts(apply_facts(healthy_facts(machine), facts_faults(told))),
          verdicts(proven(machine)) {}
    [[nodiscard]] std::vector<Finding> findings() const { return diagnose(machine, facts, verdicts); }
};

}  // namespace peerlane::testing_diagnose
