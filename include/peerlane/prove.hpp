#pragma once
/// The proof of a machine: which steps, run where, and what follows from their outcomes.

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/probe_host.hpp>
#include <peerlane/units.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane::prove {

/// accessor, owner
using DirectedPair = std::pair<int, int>;

/// Sizes of a full proof and of a quick one.
inline constexpr std::array<std::uint64_t, 5> full_sizes{8, 4 * KiB, 64 * KiB, 512 * KiB + 4, 16 * MiB + 36};
inline constexpr std::array<std::uint64_t, 2> quick_sizes{4 * KiB, 16 * MiB + 36};

/// What the first proof of a machine asks; the full one asks all_checks.
inline constexpr std::array first_checks{Check::claim, Check::map, Check::push, Check::pull, Check::store, Check::load};

struct ProveOptions {
    std::vector<DirectedPair> pairs{};  ///< empty: every directed pair of the machine
    std::vector<std::uint64_t> sizes{quick_sizes.begin(), quick_sizes.end()};
    std::vector<Check> checks{first_checks.begin(), first_checks.end()};
    bool ways = false;             ///< the other mappings of each pair too, kept in its check `map`
    bool groups = false;           ///< then pairs together
    std::uint64_t seed = 1;        ///< draw one on real devices; an input under simulation
    double seconds_per_step = 10;  ///< hard limit of one step, all its sizes together
    bool simulated = false;        ///< what the result says of itself
    OnBegin begin{};
    OnEnd end{};
};

/// The steps that `options` ask for: of each data direction that a pair serves the control arm, then the checks of the
/// pair, in the order of the ladder. Both directions of two devices follow each other. Throws std::invalid_argument for
/// a pair that the machine does not have, for no size and for a size of 0.
std::vector<ProbeStep> proof_steps(const Machine& machine, const ProveOptions& options);
/// The same of the first proof.
std::vector<ProbeStep> first_proof_steps(const Machine& machine, std::span<const DirectedPair> pairs,
                                         std::span<const std::uint64_t> sizes, std::uint64_t seed);

/// Steps that keep every pair that is right under load for `seconds` in all, pushed and pulled in turn, each for at
/// most `at_once_s`; between them the kernels' ways of one device after the other are proven again. Empty where fewer
/// than two pairs are right.
std::vector<ProbeStep> soak_steps(const Verdicts& verdicts, double seconds, double at_once_s, std::uint64_t seed);

/// Bytes that each pair of a group moves.
inline constexpr std::uint64_t group_bytes = 16 * MiB;
/// Pairs together, of those whose pushes (pulls) are right: all out of one device, all into one, disjoint pairs, all at
/// once; each pushed and pulled. To run after the pairs were assembled; the outcomes of both are assembled again.
std::vector<ProbeStep> group_steps(const Verdicts& verdicts, std::uint64_t seed);

/// Verdicts of the pairs that the outcomes speak of, judged. Checks without an outcome are skipped, with a reason.
Verdicts assemble(const Machine& machine, std::span<const ProbeOutcome> outcomes, std::uint64_t seed, bool simulated);

/// All of it. Throws what first_proof_steps throws, and Error when no prober can be started at all.
Verdicts prove(ProbeHost& host, const Machine& machine, const ProveOptions& options);

}  // namespace peerlane::prove
