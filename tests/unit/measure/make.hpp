#pragma once
/// Measurements of simulated machines, trusted as the driver claims them unless a test brings verdicts.

#include <string>
#include <vector>

#include <peerlane/fault.hpp>
#include <peerlane/measure.hpp>
#include <peerlane/named.hpp>
#include <peerlane/simulated.hpp>

namespace peerlane::test {

inline std::vector<Fault> faults_of(const std::vector<std::string>& texts) {
    std::vector<Fault> faults;
    for (auto const& text : texts) {
        faults.push_back(parse_fault(text));
    }
    return faults;
}

inline Profile measured(const std::string& machine, MeasureOptions options = {},
                        const std::vector<std::string>& faults = {}) {
    SimOptions simulation;
    simulation.faults = faults_of(faults);
    auto const driver = open_simulated(load_machine(machine), simulation);
    options.trust_claimed = options.verdicts == nullptr;
    return measure(*driver, options);
}

/// Only legs.
inline MeasureOptions legs_only() {
    MeasureOptions options;
    options.loaded = options.access = options.host_costs = false;
    return options;
}

inline const CurvePoint* point(const Curve& curve, std::uint64_t bytes) {
    for (auto const& p : curve.points) {
        if (p.bytes == bytes) {
            return &p;
        }
    }
    return nullptr;
}

inline double gbs(const CurvePoint& p) {
    return static_cast<double>(p.bytes) / p.seconds / 1e9;
}

}  // namespace peerlane::test
