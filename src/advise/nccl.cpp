/// NCCL takes peer access up to a distance, the same for all pairs (src/graph/paths.cc of 2.30.7; docs/advise.md).

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "advise/software.hpp"

namespace peerlane::advising {
namespace {

/// NCCL's words for distances, nearest first. It counts two bridges of one NUMA node as PHB.
struct Distance {
    int rank;
    const char* word;
};

std::optional<Distance> distance(PathClass path) {
    switch (path) {
        case PathClass::nv:
            return Distance{1, "NVL"};
        case PathClass::pix:
            return Distance{2, "PIX"};
        case PathClass::pxb:
            return Distance{3, "PXB"};
        case PathClass::phb:
        case PathClass::node:
            return Distance{4, "PHB"};
        case PathClass::sys:
            return Distance{5, "SYS"};
        case PathClass::xgmi:
        case PathClass::unknown:
            break;
    }
    return std::nullopt;
}

constexpr int usual_rank = 3;  ///< PXB, without a setting

struct Sorted {
    std::vector<Neighbours> good, bad, unknown, fabric_denied;
};

Sorted sort(const Chosen& chosen) {
    Sorted sorted;
    for (auto const& pair : chosen.pairs) {
        if (!distance(pair.path)) {
            sorted.unknown.push_back(pair);
        } else if (in_trouble(pair)) {
            sorted.bad.push_back(pair);
        } else if (pair.standing == Standing::right) {
            sorted.good.push_back(pair);
        } else if (pair.path == PathClass::nv) {
            sorted.fabric_denied.push_back(pair);
        }
    }
    return sorted;
}

/// The farthest of the pairs nearer than `below`.
std::optional<Distance> farthest(const std::vector<Neighbours>& pairs, int below) {
    std::optional<Distance> found;
    for (auto const& pair : pairs) {
        auto const at = *distance(pair.path);
        if (at.rank < below && (!found || at.rank > found->rank)) {
            found = at;
        }
    }
    return found;
}

/// Stops short of the nearest pair in trouble.
void avoid(const Sorted& sorted, Advice& advice) {
    int nearest = usual_rank + 100;
    for (auto const& pair : sorted.bad) {
        nearest = std::min(nearest, distance(pair.path)->rank);
    }
    auto const dropped = std::count_if(sorted.good.begin(), sorted.good.end(),
                                       [&](const Neighbours& pair) { return distance(pair.path)->rank >= nearest; });
    auto const limit = dropped == 0 ? std::string()
                                    : fmt::format(
                                          "takes {} from peer access that {} right, too: a distance is the same "
                                          "for all pairs, no setting exists for one",
                                          pairs_text(static_cast<std::size_t>(dropped)), dropped == 1 ? "is" : "are");
    auto const level = farthest(sorted.good, nearest);
    auto const reason = "avoids " + troubles_text(sorted.bad) + "; data goes through shared memory of the host instead";
    if (level) {
        advice.settings.push_back({AdvisedSetting::Kind::variable, "NCCL_P2P_LEVEL", level->word,
                                   fmt::format("{}; peer access stays for pairs up to {}", reason, level->word),
                                   limit});
    } else {
        advice.settings.push_back({AdvisedSetting::Kind::variable, "NCCL_P2P_DISABLE", "1", reason, limit});
    }
}

/// Without a setting it stops at PXB.
void use_more(const Sorted& sorted, Advice& advice) {
    auto const level = farthest(sorted.good, usual_rank + 100);
    if (!level || level->rank <= usual_rank) {
        return;
    }
    std::size_t far = 0;
    double slowest = 0;
    for (auto const& pair : sorted.good) {
        if (distance(pair.path)->rank > usual_rank) {
            ++far;
            slowest = slowest == 0 ? pair.gbs : std::min(slowest, pair.gbs);
        }
    }
    advice.settings.push_back(
        {AdvisedSetting::Kind::variable, "NCCL_P2P_LEVEL", level->word,
         fmt::format("{} beyond PCIe switches {} proven right and no slower than through the host{}; NCCL uses peer "
                     "access only up to PXB by itself",
                     pairs_text(far), far == 1 ? "is" : "are",
                     slowest > 0 ? fmt::format(" (the slowest {:.3g} GB/s)", slowest) : ""),
         "two devices of a machine with AMD processors have SYS without it"});
}

}  // namespace

void add_nccl(const Chosen& chosen, Advice& advice) {
    auto const sorted = sort(chosen);
    if (!sorted.bad.empty()) {
        avoid(sorted, advice);
    } else {
        use_more(sorted, advice);
    }
    if (!sorted.fabric_denied.empty()) {
        advice.settings.push_back(
            {AdvisedSetting::Kind::variable, "NCCL_IGNORE_DISABLED_P2P", "1",
             fmt::format("{} with NVLink {} not claimed by the driver: NCCL ends with an error there unless told to go "
                         "on",
                         pairs_text(sorted.fabric_denied.size()), sorted.fabric_denied.size() == 1 ? "is" : "are"),
             "those pairs go through the host; find out why first (peerlane doctor)"});
    }
    if (!sorted.unknown.empty()) {
        advice.notes.push_back(fmt::format("of {} the distance is not known: NCCL_P2P_LEVEL cannot be said for them",
                                           pairs_text(sorted.unknown.size())));
    }
    bool const cut_off = std::any_of(chosen.pairs.begin(), chosen.pairs.end(),
                                     [](const Neighbours& pair) { return pair.standing == Standing::cut_off; });
    if (cut_off) {
        advice.notes.push_back(
            "the host's own path is not right between some of them: no setting helps, do not use "
            "them together");
    }
    for (auto const& finding : chosen.verdicts.findings) {
        if (finding.code == "shm-small") {
            advice.notes.push_back(
                "/dev/shm is small, and what goes through the host needs it: start the container "
                "with a larger one (--shm-size, or --ipc=host)");
        }
    }
}

}  // namespace peerlane::advising
