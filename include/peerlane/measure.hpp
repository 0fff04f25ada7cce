#pragma once
/// Measures a machine: what each leg that was proven costs, what legs do to each other, what access in place costs,
/// what calls cost the host. How samples are taken and when there are enough: docs/measuring.md.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/profile.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

struct MeasureProgress {
    double part = 0;   ///< of the work, as far as it can be known before: 0 .. 1, never less than before
    std::string what;  ///< that begins: "gpu0 > gpu1, pushed by gpu0"
};

struct MeasureOptions {
    /// Numbered as the driver's devices are. nullptr: nothing is proven, and no leg between devices is measured.
    const Verdicts* verdicts = nullptr;
    /// Without verdicts: every pair that the driver claims, for copies and kernels alike.
    bool trust_claimed = false;
    /// What is known of the driver's machine, numbered as its devices are: links and NUMA nodes decide which legs are
    /// looked at together, and which stand for each other. nullptr: what the driver itself says.
    const Machine* machine = nullptr;
    bool quick = false;          ///< fewer sizes, samples and groups
    std::vector<int> devices{};  ///< empty: all
    std::vector<int> nodes{};    ///< NUMA nodes whose memory is staged in; empty: those of the driver's machine
    bool loaded = true;          ///< groups of legs at the same time
    bool access = true;          ///< kernels reading in place
    bool host_costs = true;      ///< calls
    std::uint64_t most_bytes = std::uint64_t{1} << 30;  ///< of a transfer, and of the memory taken at each place
    std::string key{};                                  ///< put into the profile
    std::string taken_at{};                             ///< put into the profile
    std::function<void(const MeasureProgress&)> progress{};
    /// Asked between samples. Once it says true, measuring ends and gives what is whole until then.
    std::function<bool()> stopped{};
};

/// Takes seconds on real devices; no time passes under simulation but virtual time, and equal calls give equal
/// profiles. Maps what it needs and takes back the mappings that it made. A leg that fails is left out, and `notices`
/// of the profile say why; after a failure that ends the process's use of the devices (sticky, or work that does not
/// end) the profile is not complete. Throws std::invalid_argument for a device or node that the machine does not have.
Profile measure(Driver& driver, const MeasureOptions& options = {});

}  // namespace peerlane
