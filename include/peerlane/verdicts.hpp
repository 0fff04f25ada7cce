#pragma once
/// What was proven of each directed pair. A plain value with a JSON form (`peerlane.verdicts/1`).

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/plan.hpp>

namespace peerlane {

/// One thing a directed pair can be trusted for, in the order of the ladder.
enum class Check : std::uint8_t { claim, map, push, pull, store, load, atomic, flag };
inline constexpr std::array all_checks{Check::claim, Check::map,  Check::push,   Check::pull,
                                       Check::store, Check::load, Check::atomic, Check::flag};

/// no: right by design, but not there (claim denied; a copy that the driver would stage). skipped: not tried, with a reason.
enum class Result : std::uint8_t { ok, no, wrong, hang, error, skipped };

/// What the memory that should have received the bytes holds instead. zero: zeros. stale: what lay there before. flip: other
/// bytes. mirror: the accessor reads its own bytes back, the owner never saw them. offset: right bytes in the wrong place.
enum class WrongKind : std::uint8_t { zero, stale, flip, mirror, offset };

struct CheckResult {
    Result result = Result::skipped;
    std::optional<WrongKind> kind{};
    std::optional<std::uint64_t> first_bad_offset{}, bad_bytes{};
    std::optional<std::uint64_t> at_bytes{};     ///< smallest size that failed
    std::optional<int> code{};                   ///< of an error
    bool frozen = false;                         ///< hang: the prober could not be ended in time
    std::string reason{};                        ///< for no and skipped; empty otherwise
    std::vector<std::uint64_t> sizes{};          ///< sizes tried, ascending
    std::optional<double> gbs{}, seconds{};      ///< of the largest size that was right, where timed
    friend bool operator==(const CheckResult&, const CheckResult&) = default;
};

struct PairVerdict {
    int accessor = 0;
    int owner = 0;
    std::array<CheckResult, all_checks.size()> checks{};
    [[nodiscard]] const CheckResult& operator[](Check check) const { return checks[static_cast<std::size_t>(check)]; }
    [[nodiscard]] CheckResult& operator[](Check check) { return checks[static_cast<std::size_t>(check)]; }
    friend bool operator==(const PairVerdict&, const PairVerdict&) = default;
};

/// The control arm: the same bytes from source to destination through the host.
struct ControlVerdict {
    int source = 0;
    int destination = 0;
    CheckResult staged{};
    friend bool operator==(const ControlVerdict&, const ControlVerdict&) = default;
};

/// What serves the data direction source > destination, from the checks that serve it.
struct RouteVerdict {
    int source = 0;
    int destination = 0;
    enum class Use : std::uint8_t { direct, staged, none } use = Use::none;
    Engine engine = Engine::copy;
    int issuer = -1;  ///< device; -1 when not direct
    std::optional<double> direct_gbs{}, staged_gbs{};
    friend bool operator==(const RouteVerdict&, const RouteVerdict&) = default;
};

enum class Status : std::uint8_t { healthy, degraded, broken, inconclusive };

struct Verdicts {
    bool simulated = false;
    Status status = Status::inconclusive;
    std::uint64_t seed = 0;
    std::vector<PairVerdict> pairs{};        ///< sorted by accessor, owner
    std::vector<ControlVerdict> control{};   ///< sorted by source, destination
    std::vector<RouteVerdict> routes{};      ///< sorted by source, destination
    [[nodiscard]] const PairVerdict* pair(int accessor, int owner) const;
    [[nodiscard]] PairVerdict* pair(int accessor, int owner);
    [[nodiscard]] const ControlVerdict* control_of(int source, int destination) const;
    [[nodiscard]] const RouteVerdict* route(int source, int destination) const;
    friend bool operator==(const Verdicts&, const Verdicts&) = default;
};

const char* to_string(Check check);
const char* to_string(Result result);
const char* to_string(WrongKind kind);
const char* to_string(Status status);
const char* to_string(RouteVerdict::Use use);

/// Routes from checks: direct pushed by copy engine (source:destination push), pulled (destination:source pull), then kernel
/// store, then kernel load; staged when none of them is proven and the control arm is right; none otherwise.
void judge(Verdicts& verdicts);

}  // namespace peerlane
