#pragma once
/// What moving bytes costs on one machine: curves of every leg, what legs do to each other, what access in place costs,
/// what calls cost the host. Measured (measure.hpp), or nominal where nobody measured. JSON form `peerlane.profile/1`.
/// Times are seconds, rates GB/s = 1e9 bytes/s. A value; comparing and printing touch no device.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/plan.hpp>

namespace peerlane {

/// Median of several samples. `spread`: half the distance between the quartiles, as a part of the median; negative when
/// there were too few samples to tell (fewer than 5).
struct CurvePoint {
    std::uint64_t bytes = 0;
    double seconds = 0;
    double spread = -1;
    friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

/// Ascending in bytes, no size twice; points lie about evenly over the logarithm of the size. Between two of them time
/// is straight in bytes (src/model/cost.hpp).
struct Curve {
    std::vector<CurvePoint> points{};
    friend bool operator==(const Curve&, const Curve&) = default;
};

/// Where a figure comes from: measured here, from the link's nominal capacity, or assumed for want of either.
enum class Basis : std::uint8_t { measured, nominal, assumed };
const char* to_string(Basis basis);

struct LegCurve {
    Leg leg;
    Basis basis = Basis::measured;
    /// One transfer: from its submission by an idle host to completion observed by that host.
    Curve curve{};
    /// Further time of one more transfer of the size behind others of the same stream.
    Curve queued{};
    friend bool operator==(const LegCurve&, const LegCurve&) = default;
};

/// One leg of a group that ran at the same time: what it reached, and what it reaches alone at the same size.
struct LoadedLeg {
    Leg leg;
    double alone_gbs = 0;
    double gbs = 0;
    friend bool operator==(const LoadedLeg&, const LoadedLeg&) = default;
};

/// Legs that ran at the same time, each moving again and again until all had moved at least `bytes`.
struct LoadedGroup {
    std::string name{};  ///< "duplex", "host legs", "fabric beside host legs", "all out of one"; for people
    std::uint64_t bytes = 0;
    std::vector<LoadedLeg> legs{};
    friend bool operator==(const LoadedGroup&, const LoadedGroup&) = default;
};

/// Legs in sequence through bounded buffers, chunk by chunk, beside other routes.
struct LoadedRoute {
    std::vector<Leg> legs{};
    std::uint64_t bytes = 0;  ///< of a chunk; of the whole transfer where the route has one leg
    double gbs = 0;
    std::uint64_t small_bytes = 0;  ///< of a chunk in a second run, of small ones; 0: there was none
    double small_gbs = 0;
    friend bool operator==(const LoadedRoute&, const LoadedRoute&) = default;
};

/// Routes that ran at the same time and ended together, as a plan has them.
struct LoadedPlan {
    std::vector<LoadedRoute> routes{};
    friend bool operator==(const LoadedPlan&, const LoadedPlan&) = default;
};

/// A kernel of `accessor` reading memory at `place` in accesses of `width` bytes that lie `stride` bytes apart.
struct AccessRate {
    std::uint32_t width = 4;
    std::uint32_t stride = 4;
    double useful_gbs = 0;  ///< bytes asked for, not bytes moved
    friend bool operator==(const AccessRate&, const AccessRate&) = default;
};

/// What kernels of one device pay for memory at one place (their own, another device's, the host's).
struct AccessCosts {
    int accessor = 0;
    Place place;
    std::optional<double> load_s{};                 ///< dependent load
    std::vector<AccessRate> reads{};                ///< ascending by width, then stride
    std::vector<CurvePoint> touches{};              ///< seconds to read so many bytes once, in order, widest accesses
    std::optional<double> line_s{};                 ///< repeated system-scope read of one line
    std::optional<double> contended_line_s{};       ///< the same while the owner writes that line
    std::optional<double> fetch_add_s{};            ///< independent system-scope atomics, one thread each: time per add
    std::optional<double> dependent_fetch_add_s{};  ///< one after the other
    friend bool operator==(const AccessCosts&, const AccessCosts&) = default;
};

/// Time the calling thread spends in a call. Empty: not measured.
struct HostCosts {
    std::optional<double> copy_call_s{}, launch_call_s{}, graph_launch_call_s{}, synchronize_idle_s{}, query_s{},
        provenance_s{}, event_s{};
    friend bool operator==(const HostCosts&, const HostCosts&) = default;
};

struct Profile {
    std::string key{};  ///< of the machine it belongs to (profile_key); empty: nominal
    std::string taken_at{};
    bool simulated = false;
    bool complete = true;  ///< false: the measuring was interrupted; what is there is right
    bool quick = false;
    std::vector<LegCurve> legs{};
    std::vector<LoadedGroup> loaded{};
    std::vector<LoadedPlan> plans{};
    std::vector<AccessCosts> access{};
    HostCosts host_costs{};
    std::vector<std::string> notices{};  ///< what could not be measured, and why
    [[nodiscard]] const LegCurve* leg(const Leg& leg) const;
    [[nodiscard]] const AccessCosts* access_of(int accessor, Place place) const;
    friend bool operator==(const Profile&, const Profile&) = default;
};

/// The document peerlane.profile/1, and its reader: InputError "file:line: reason" for anything that is not one (a rate
/// or time that is not positive, sizes that do not ascend, a leg that names a place twice).
std::string profile_json(const Profile& profile);
Profile read_profile_json(std::string_view text, const std::string& file);

}  // namespace peerlane
