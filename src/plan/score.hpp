#pragma once
/// Seconds of lanes, alone and together.

#include <optional>
#include <vector>

#include "model/pipeline.hpp"
#include "plan/lane.hpp"

namespace peerlane::plan {

/// Routes with shares, chunks and buffers, and what they take. Empty routes: not possible.
struct Scored {
    std::vector<Route> routes{};
    double seconds = 0;
    std::vector<double> loaded_gbs{};  ///< of each route while all run
    bool guessed = false;              ///< they share a link, and nobody measured what that leaves them
    [[nodiscard]] bool possible() const { return !routes.empty(); }
};

class Scorer {
  public:
    /// Referred to. `staging_bytes`: most that the buffers of a route hold at one place.
    Scorer(const LegCosts& costs, const Load& load, std::uint64_t staging_bytes);
    /// All bytes by one usable lane.
    [[nodiscard]] Scored one(const Lane& lane, std::uint64_t bytes) const;
    /// Split over these usable lanes so that they end together. Routes of one leg stand first: they are issued first.
    /// Not possible when one of them could not begin in time to help.
    [[nodiscard]] Scored together(std::vector<const Lane*> lanes, std::uint64_t bytes) const;
    [[nodiscard]] const Load& load() const { return *load_; }
    /// These shares and chunks as they are.
    [[nodiscard]] double given(const std::vector<Lane>& lanes, const std::vector<Route>& routes,
                               std::uint64_t bytes) const;

  private:
    struct Timed {
        double seconds = 0;
        double s_per_byte = 0;
        model::Chunking chunking{};
    };
    /// Of a lane the others at work: the host issues them for `issued_s` before it issues this one's first chunk, and
    /// for `issue_s` between two of its chunks.
    struct Beside {
        double issued_s = 0;
        double issue_s = 0;
        std::uint64_t pipelines = 1;  ///< with this one
        std::vector<double> crowd{};  ///< of each leg: how much longer it takes while all pipelines fill, or drain
        double wait_s = 0;            ///< what each of its chunks loses to them beside its rate
    };
    /// `rate`: what the lane gets while all run.
    [[nodiscard]] Timed timed(const Lane& lane, double rate, std::uint64_t bytes, const Beside& beside,
                              std::uint64_t chunk = 0) const;
    [[nodiscard]] double issue_s(const Lane& lane) const;
    [[nodiscard]] double begin_s(const Lane& lane) const;
    [[nodiscard]] std::vector<std::uint64_t> even_chunks(const std::vector<Beside>& around,
                                                         const std::vector<double>& parts,
                                                         const std::vector<Timed>& times) const;
    [[nodiscard]] std::vector<Beside> beside(const std::vector<const Lane*>& lanes) const;
    const Load* load_;
    HostTimes host_;
    model::ChunkLimits limits_;
};

}  // namespace peerlane::plan
