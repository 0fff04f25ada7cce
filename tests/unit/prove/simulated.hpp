#pragma once
/// Proofs on simulated machines.

#include <initializer_list>
#include <string>
#include <vector>

#include <peerlane/prove.hpp>
#include <peerlane/simulated.hpp>

namespace peerlane::test {

/// Devices that all claim each other, joined in one way.
inline SimulatedMachine machine_of(int devices, PathClass path = PathClass::pix) {
    Machine machine;
    for (int id = 0; id < devices; ++id) {
        Device device;
        device.id = id;
        device.pcie_generation = 4;
        device.pcie_width = 16;
        device.numa = 0;
        machine.devices.push_back(device);
    }
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.path = path;
        pair.claim = true;
        if (path == PathClass::nv) {
            pair.nvlinks = 18;
            pair.nominal_gbs = 478;
        }
    }
    return SimulatedMachine(machine);
}

inline std::vector<Fault> faults_of(const std::vector<std::string>& texts) {
    std::vector<Fault> faults;
    for (auto const& text : texts) {
        faults.push_back(parse_fault(text));
    }
    return faults;
}

struct Proof {
    Verdicts verdicts;
    std::vector<std::string> journal;  ///< "begin 0:1 push", "end 0:1 push ok"
    int opened = 0;                    ///< drivers
};

inline Proof prove_with(const SimulatedMachine& machine, const std::vector<std::string>& texts,
                        prove::ProveOptions options = {}) {
    auto const faults = faults_of(texts);
    Proof proof;
    auto const host = prove::in_process_host({[&] {
                                                  ++proof.opened;
                                                  return open_simulated(machine, {faults});
                                              },
                                              prove::freezes_of(faults)});
    options.simulated = true;
    options.begin = [&](const prove::ProbeStep& step) { proof.journal.push_back("begin " + describe(step)); };
    options.end = [&](const prove::ProbeOutcome& outcome) {
        proof.journal.push_back("end " + describe(outcome.step) + " " + to_string(outcome.result.result));
    };
    proof.verdicts = prove::prove(*host, machine.machine(), options);
    return proof;
}

/// "0:1 push wrong(flip)" for everything that is neither right nor outside of this proof; the control arm as "control
/// 0>1 ...".
inline std::vector<std::string> complaints(const Verdicts& verdicts) {
    std::vector<std::string> lines;
    auto const add = [&](const std::string& who, const CheckResult& check) {
        if (check.result == Result::ok || check.reason == "not part of this proof") {
            return;
        }
        auto line = who + " " + to_string(check.result);
        if (check.kind) {
            line += std::string("(") + to_string(*check.kind) + ")";
        }
        if (check.result == Result::error) {
            line += std::to_string(check.code.value_or(-1));
        }
        lines.push_back(line + (check.frozen ? " frozen" : ""));
    };
    for (auto const& pair : verdicts.pairs) {
        for (auto const check : all_checks) {
            add(std::to_string(pair.accessor) + ":" + std::to_string(pair.owner) + " " + to_string(check), pair[check]);
        }
    }
    for (auto const& arm : verdicts.control) {
        add("control " + std::to_string(arm.source) + ">" + std::to_string(arm.destination), arm.staged);
    }
    return lines;
}

}  // namespace peerlane::test
