#pragma once
/// What legs leave each other when they run at once: max-min shares of the machine's links, and of what measured groups
/// of legs reached together.

#include <span>
#include <utility>
#include <vector>

#include <peerlane/profile.hpp>

#include "plan/leg_costs.hpp"

namespace peerlane::plan {

/// A leg at work, with the links it takes.
struct LoadedUse {
    Leg leg;
    double rate = 0;         ///< alone, bytes/s
    std::vector<int> links;  ///< of the graph, see Load::links_of
};

/// Legs in sequence: bytes pass all of them at one rate.
using Stream = std::vector<LoadedUse>;

class Load {
  public:
    /// Both are referred to. `busy`: ways of data that something else keeps at work. `hopeful`: legs do nothing to each
    /// other that no route of a plan was seen to suffer, beyond sharing links.
    Load(const LegCosts& costs, const std::vector<std::pair<Place, Place>>& busy, bool hopeful = false);
    /// Plans that the profile got since.
    void learn_plans();
    /// Directed links of the graph that the leg takes, and behind them the memory of the NUMA node that it ends or
    /// begins in (numbered behind the links).
    [[nodiscard]] std::vector<int> links_of(const Leg& leg) const;
    /// Rates of these streams while all of them run, bytes/s. A group of legs that was measured together rules for its
    /// legs; for what no group holds, the links that the graph says they share.
    /// Routes of a plan that were measured together have what they had then; others of the same kinds lose as much.
    /// `guessed` is set when streams share a link and nobody measured what that leaves them, or when plans between
    /// these ends were measured and this is none of them.
    [[nodiscard]] std::vector<double> rates(std::span<const Stream* const> streams, bool* guessed = nullptr) const;
    /// Seconds that each chunk of each stream loses to the others beside its rate, from routes that were measured
    /// together; empty where neither these nor others of the same kinds were.
    [[nodiscard]] std::vector<double> chunk_waits(std::span<const Stream* const> streams) const;
    /// How many times longer this leg of a pipeline takes while the same legs of all of them are at work and no others,
    /// by the links that they share; 1 or more.
    [[nodiscard]] double crowd(std::span<const Stream* const> streams, std::size_t stream, std::size_t leg) const;
    [[nodiscard]] bool busy() const { return !busy_.empty(); }
    struct Measured {
        std::vector<Stream> streams{};
        double rate = 0;  ///< of all, bytes/s
    };
    /// Of each number of routes between these ends, two or more, those that reached most when they were measured
    /// together.
    [[nodiscard]] std::vector<Measured> measured_between(Place from, Place to) const;
    /// "pcie bridge:sw0 > host:0", for people: the links that more than one leg of these takes.
    [[nodiscard]] std::vector<std::string> shared(std::span<const Stream* const> streams) const;

  private:
    static constexpr double copy_engines = 3;  ///< of a device (h200-pair's attribute), where no group tells
    static std::size_t at(int index) { return static_cast<std::size_t>(index); }
    /// Legs of a group that take from the same, and how much of it they had together: sum of weight x rate.
    struct Common {
        std::vector<std::pair<std::size_t, double>> legs{};  ///< index, weight
        double capacity = 0;
    };
    struct Group {
        const LoadedGroup* measured = nullptr;
        std::vector<Common> common{};
    };
    /// Something that nobody knows of, all of which each of these legs takes alone: their parts of what they reach
    /// alone add up to `capacity`, about 1.
    struct Hidden {
        std::vector<Leg> legs{};
        double capacity = 0;
    };
    [[nodiscard]] std::vector<int> fabric_links(int from, int to) const;
    /// Routes that were measured together, as a plan has them.
    struct Known {
        std::vector<Stream> streams{};
        std::vector<double> rates{};  ///< of each, bytes/s
        std::vector<double> waits{};  ///< of each, seconds that a chunk loses beside that
        double kept = 1;              ///< of what would be expected without having measured them
    };
    [[nodiscard]] const Known* known(std::span<const Stream* const> streams) const;
    /// Others of the same kinds between the same ends; those that kept least where there are several.
    [[nodiscard]] const Known* alike(std::span<const Stream* const> streams) const;
    void learn_route(const LoadedRoute& route, double round_s, Known& known) const;
    [[nodiscard]] std::vector<double> expected(std::span<const Stream* const> streams, bool* guessed) const;
    void learn_hidden(const LoadedGroup& group, const std::vector<std::size_t>& legs, double capacity);
    void learn_capacities();
    void learn_groups();
    const LegCosts* costs_;
    bool hopeful_;
    std::vector<double> capacity_;  ///< of each link, then of the memory of each NUMA node; bytes/s
    std::vector<int> twin_;         ///< of each link: other direction of the same PCIe cable; -1: none
    std::vector<int> numa_node_;    ///< node of each NUMA memory
    std::vector<Group> groups_;
    std::vector<Hidden> hidden_;
    std::vector<Stream> busy_;
    std::vector<Known> known_;
    std::size_t learned_ = 0;  ///< plans of the profile
};

}  // namespace peerlane::plan
