#pragma once
/// What was proven of each directed pair. A plain value with a JSON form (`peerlane.verdicts/1`).

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peerlane/plan.hpp>

namespace peerlane {

/// One thing a directed pair can be trusted for, in the order of the ladder.
enum class Check : std::uint8_t { claim, map, push, pull, store, load, atomic, flag };
inline constexpr std::array all_checks{Check::claim, Check::map,  Check::push,   Check::pull,
                                       Check::store, Check::load, Check::atomic, Check::flag};

/// no: right by design, but not there (claim denied; a copy that the driver would stage). skipped: not tried, with a
/// reason.
enum class Result : std::uint8_t { ok, no, wrong, hang, error, skipped };

/// What the memory that should have received the bytes holds instead. zero: zeros. stale: what lay there before. flip:
/// other bytes. mirror: the accessor reads its own bytes back, the owner never saw them. offset: right bytes in the
/// wrong place.
enum class WrongKind : std::uint8_t { zero, stale, flip, mirror, offset };

/// One way to map the memory of the owner for the accessor.
struct MappingWay {
    /// enable, pool, virtual, import_legacy, import_virtual, together (beside all other peers of the accessor)
    std::string way;
    Result result = Result::skipped;
    std::optional<int> code{};  ///< of a refusal
    std::string reason{};
    friend bool operator==(const MappingWay&, const MappingWay&) = default;
};

struct CheckResult {
    Result result = Result::skipped;
    std::optional<WrongKind> kind{};
    std::optional<std::uint64_t> first_bad_offset{}, bad_bytes{};
    std::optional<std::uint64_t> at_bytes{};  ///< smallest size that failed
    std::optional<int> code{};                ///< of an error
    bool frozen = false;                      ///< hang: the prober could not be ended in time
    std::string reason{};  ///< why no, skipped, hang or error, in words; when right, what was left out and why
    std::vector<std::uint64_t> sizes{};      ///< sizes tried, ascending
    std::optional<double> gbs{}, seconds{};  ///< of the largest size that was right, where timed
    std::optional<double> small_seconds{};   ///< of the smallest size, where it was right and timed
    std::vector<MappingWay> ways{};          ///< check map only: each that was tried
    std::vector<double> rates{};             ///< groups only: GB/s of each pair
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

/// Whether those that look at a device's memory find a wrong byte that was planted there. Where they do not, nothing
/// that they find right is proven.
struct SelfTest {
    int device = 0;
    CheckResult found{};
    friend bool operator==(const SelfTest&, const SelfTest&) = default;
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

/// Directed pairs (accessor, owner) that moved at once.
struct GroupVerdict {
    std::vector<std::pair<int, int>> pairs{};
    Result result = Result::skipped;
    std::optional<double> gbs{};  ///< of each pair, the slowest
    std::string name{};           ///< "all out of 0"
    bool pull = false;            ///< issued by the destinations
    std::vector<double> rates{};  ///< GB/s of each of `pairs`, where all was right
    std::string reason{};         ///< why not ok, in words
    friend bool operator==(const GroupVerdict&, const GroupVerdict&) = default;
};

/// A cause read from the machine; `code` is one of docs/findings.
struct Finding {
    enum class Severity : std::uint8_t { info, warn, error };
    std::string code;
    Severity severity = Severity::info;
    std::vector<std::pair<int, int>> pairs{};  ///< accessor, owner
    std::vector<std::string> evidence{};       ///< what was read, where, the value
    std::string cure;
    friend bool operator==(const Finding&, const Finding&) = default;
};

/// healthy: all that was tried is right, or `no` by design. degraded: right but less than it should be. broken: wrong
/// bytes, a hang or an error in a claimed pair. inconclusive: the control arm is not right, or nothing could run.
enum class Status : std::uint8_t { healthy, degraded, broken, inconclusive };

struct Verdicts {
    bool simulated = false;
    Status status = Status::inconclusive;
    std::uint64_t seed = 0;
    std::vector<PairVerdict> pairs{};       ///< sorted by accessor, owner
    std::vector<ControlVerdict> control{};  ///< sorted by source, destination
    std::vector<SelfTest> self_tests{};     ///< sorted by device; empty where none was asked for
    std::vector<RouteVerdict> routes{};     ///< sorted by source, destination
    std::vector<GroupVerdict> groups{};
    std::vector<Finding> findings{};
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

const char* to_string(Finding::Severity severity);
/// The words above read back; empty for any other.
std::optional<Check> parse_check(std::string_view word);
std::optional<Result> parse_result(std::string_view word);

/// Sets `routes` and `status` from the checks, the control arm and the groups; a function of those alone. A mapping way
/// that is refused and a collapsed group degrade; wrong bytes and hangs there break, as they do in a check.
/// Routes: direct pushed by copy engine (source:destination push), pulled (destination:source pull), then kernel store,
/// then kernel load, the first that is right and within 10 % of the fastest of them; staged when none of them is right,
/// or when all of them are measured slower than 90 % of staging, and the control arm is right; none otherwise.
void judge(Verdicts& verdicts);

/// A group whose slowest pair gets less than a tenth of what it gets alone, divided by the number of pairs of the group
/// that leave the same device or enter the same device, whichever is more: less than sharing of ports explains. False
/// where a rate is not known.
bool collapsed(const Verdicts& verdicts, const GroupVerdict& group);

/// The document `peerlane.verdicts/1`; `indent` < 0 puts it on one line.
std::string write_verdicts(const Verdicts& verdicts, int indent = 2);
/// Throws InputError (with `file` as its name) for what is no such document.
Verdicts read_verdicts(std::string_view text, const std::string& file);

}  // namespace peerlane
