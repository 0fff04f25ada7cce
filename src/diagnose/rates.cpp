/// Causes that rates tell: slower than through the host, slow together, slow for one device.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "diagnose/context.hpp"

namespace peerlane::causes {
namespace {

/// Within this share two rates are the same for a choice.
constexpr double no_difference = 0.1;
/// A device whose best rate is below this share of what the others reach is weak.
constexpr double weak_share = 0.6;
/// An access this many times slower than through the host is no use for flags.
constexpr double latency_factor = 10;

/// Paths that should be equally fast: of one class, with as many links. A mesh of one and of two links between devices
/// is a design, not a weakness.
using Kind = std::pair<PathClass, int>;

Kind kind_of(const Pair& pair) {
    return {pair.path, pair.nvlinks.value_or(0)};
}

struct Rated {
    DirectedPair pair;  ///< source, destination
    Kind path{};
    double gbs = 0;
};

enum class Way { direct, staged };

/// Rates that the run measured.
std::vector<Rated> timed(const Context& context, Way way) {
    std::vector<Rated> found;
    for (auto const& route : context.verdicts.routes) {
        auto const& gbs = way == Way::direct ? route.direct_gbs : route.staged_gbs;
        auto const* const pair = context.machine.pair(route.source, route.destination);
        if (gbs && pair != nullptr) {
            found.push_back({{route.source, route.destination}, kind_of(*pair), *gbs});
        }
    }
    return found;
}

std::optional<double> direct_of(const Measured& measured) {
    return measured.write_gbs           ? measured.write_gbs
           : measured.bidirectional_gbs ? std::optional(*measured.bidirectional_gbs / 2)
                                        : std::nullopt;
}
std::optional<double> staged_of(const Measured& measured) {
    return measured.staged_gbs                 ? measured.staged_gbs
           : measured.bidirectional_staged_gbs ? std::optional(*measured.bidirectional_staged_gbs / 2)
                                               : std::nullopt;
}

/// Rates that came with the description of the machine: those of a real one, where the run itself is simulated.
std::vector<Rated> told(const Context& context, Way way) {
    std::vector<Rated> found;
    for (auto const& pair : context.machine.pairs) {
        if (auto const gbs = way == Way::direct ? direct_of(pair.measured) : staged_of(pair.measured)) {
            found.push_back({{pair.accessor, pair.owner}, kind_of(pair), *gbs});
        }
    }
    return found;
}

/// Best rate of each device on each kind of path, either direction.
std::map<Kind, std::map<int, double>> best_of_devices(const std::vector<Rated>& rates) {
    std::map<Kind, std::map<int, double>> best;
    for (auto const& rate : rates) {
        for (auto const device : {rate.pair.first, rate.pair.second}) {
            auto& value = best[rate.path][device];
            value = std::max(value, rate.gbs);
        }
    }
    return best;
}

/// Devices that are slow with every partner while the partners are not slow with each other. Rates are compared on one
/// kind of path only: far devices are slower than near ones without anything being wrong.
std::vector<int> weak_devices(const Context& context, const std::vector<Rated>& rates) {
    auto const best = best_of_devices(rates);
    std::vector<int> weak;
    for (auto const device : context.ids()) {
        int slow = 0, fine = 0;
        for (auto const& of_path : best) {
            auto const own = of_path.second.find(device);
            if (own == of_path.second.end()) {
                continue;
            }
            std::vector<double> others;
            for (auto const& rate : rates) {
                if (rate.path == of_path.first && rate.pair.first != device && rate.pair.second != device) {
                    others.push_back(rate.gbs);
                }
            }
            auto const usual = median(others);
            if (usual) {
                (own->second < weak_share * *usual ? slow : fine) += 1;
            }
        }
        if (slow > 0 && fine == 0) {
            weak.push_back(device);
        }
    }
    // With most of them slow it is not their fault.
    return static_cast<int>(weak.size()) * 2 < context.devices() ? weak : std::vector<int>{};
}

std::string link_text(const PciRate& rate) {
    return fmt::format("generation {}, {} lanes", rate.generation ? fmt::to_string(*rate.generation) : "?",
                       rate.width ? fmt::to_string(*rate.width) : "?");
}

/// Link facts of a weak device, as far as they were read.
void add_link_facts(const Context& context, int device, std::vector<std::string>& evidence) {
    auto const* const managed = context.managed(device);
    if (managed != nullptr && (managed->current.generation || managed->current.width)) {
        evidence.push_back(fmt::format("management library: link of {} is {}, at most {}", context.label(device),
                                       link_text(managed->current), link_text(managed->most)));
    } else if (auto const* const own = context.function(device); own != nullptr && own->current.width) {
        evidence.push_back(fmt::format("{}: {}", sysfs(own->bus, "current_link_width"), *own->current.width));
    }
}

/// `source`: where the rates are from. Returns the pairs explained.
void name_weak(const Context& context, const std::vector<Rated>& rates, const std::string& source, Way way,
               std::set<int>& named, Pairs& explained, Findings& findings) {
    for (auto const device : weak_devices(context, rates)) {
        Pairs pairs;
        double own = 0;
        std::vector<double> others;
        for (auto const& rate : rates) {
            if (rate.pair.first == device || rate.pair.second == device) {
                pairs.push_back(rate.pair);
                own = std::max(own, rate.gbs);
            } else {
                others.push_back(rate.gbs);
            }
        }
        explained.insert(explained.end(), pairs.begin(), pairs.end());
        if (!named.insert(device).second) {
            continue;
        }
        std::vector<std::string> evidence{
            fmt::format("{}: {} reaches at most {:.3g} GB/s {} with any other, the others {:.3g} GB/s among themselves "
                        "(median)",
                        source, context.label(device), own, way == Way::direct ? "directly" : "through the host",
                        median(others).value_or(0))};
        add_link_facts(context, device, evidence);
        findings.add("weak-device", std::move(pairs), std::move(evidence),
                     "look at that device's slot, riser, cable and card; swap it with another to see which it is");
    }
}

Pairs weak(const Context& context, Findings& findings) {
    Pairs explained;
    std::set<int> named;
    for (auto const way : {Way::direct, Way::staged}) {
        name_weak(context, timed(context, way), "verdict", way, named, explained, findings);
        name_weak(context, told(context, way), "measured rates of the machine", way, named, explained, findings);
    }
    return explained;
}

std::string compared(const char* source, DirectedPair pair, double direct, double staged) {
    return fmt::format("{}: {}>{} direct {:.3g} GB/s, through the host {:.3g} GB/s", source, pair.first, pair.second,
                       direct, staged);
}

void against_host(const Context& context, const Pairs& explained, Findings& findings) {
    Pairs slower, same;
    std::vector<std::string> slower_lines, same_lines;
    for (auto const& route : context.verdicts.routes) {
        DirectedPair const pair{route.source, route.destination};
        if (!route.direct_gbs || !route.staged_gbs) {
            continue;
        }
        auto const ratio = *route.direct_gbs / *route.staged_gbs;
        if (ratio < 1 - no_difference) {
            if (std::find(explained.begin(), explained.end(), pair) == explained.end()) {
                slower.push_back(pair);
                slower_lines.push_back(compared("verdict", pair, *route.direct_gbs, *route.staged_gbs));
            }
            continue;
        }
        // Where a real machine was measured, a simulated run adds nothing to what that says.
        auto const* const known = context.machine.pair(pair.first, pair.second);
        auto const direct = known != nullptr ? direct_of(known->measured) : std::nullopt;
        auto const staged = known != nullptr ? staged_of(known->measured) : std::nullopt;
        auto const real = context.verdicts.simulated && direct && staged;
        auto const gain = real ? *direct / *staged : ratio;
        if (gain >= 1 - no_difference && gain <= 1 + no_difference) {
            same.push_back(pair);
            same_lines.push_back(real ? compared("measured rates of the machine", pair, *direct, *staged)
                                      : compared("verdict", pair, *route.direct_gbs, *route.staged_gbs));
        }
    }
    constexpr std::size_t most_lines = 8;
    for (auto* lines : {&slower_lines, &same_lines}) {
        if (lines->size() > most_lines) {
            auto const more = lines->size() - most_lines;
            lines->resize(most_lines);
            lines->push_back(fmt::format("and {} more", more));
        }
    }
    if (!slower.empty()) {
        findings.add("peer-slower-than-host", slower, slower_lines,
                     "data goes through the host. Look beside this for a translating IOMMU, redirecting bridges or a "
                     "link below its best");
    }
    if (!same.empty()) {
        findings.add("peer-no-gain", same, same_lines, "either way will do");
    }
}

Pairs once(Pairs pairs) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return pairs;
}

/// Returns the data directions that are late.
Pairs latency(const Context& context, Findings& findings) {
    constexpr std::uint64_t small = 4096;
    Pairs pairs, directions;
    std::vector<std::string> evidence;
    auto const compare = [&](DirectedPair pair, bool reads, const char* what, double direct, double staged) {
        if (direct > latency_factor * staged) {
            pairs.push_back(pair);
            directions.push_back(reads ? DirectedPair{pair.second, pair.first} : pair);
            evidence.push_back(fmt::format("{} {}:{}: {} directly, {} through the host", what, pair.first, pair.second,
                                           seconds_text(direct), seconds_text(staged)));
        }
    };
    for (auto const& pair : context.machine.pairs) {
        auto const& m = pair.measured;
        if (m.latency_s && m.staged_latency_s) {
            compare({pair.accessor, pair.owner}, false, "measured latency", *m.latency_s, *m.staged_latency_s);
        }
    }
    for (auto const& pair : context.verdicts.pairs) {
        auto const is_small = [&](const CheckResult& check) {
            return check.result == Result::ok && check.small_seconds && !check.sizes.empty() &&
                   check.sizes.front() <= small;
        };
        for (auto const check : {Check::push, Check::store, Check::pull, Check::load}) {
            auto const reads = check == Check::pull || check == Check::load;
            auto const* const control = reads ? context.verdicts.control_of(pair.owner, pair.accessor)
                                              : context.verdicts.control_of(pair.accessor, pair.owner);
            if (control != nullptr && is_small(control->staged) && is_small(pair[check]) &&
                pair[check].sizes.front() == control->staged.sizes.front()) {
                compare({pair.accessor, pair.owner}, reads, to_string(check), *pair[check].small_seconds,
                        *control->staged.small_seconds);
            }
        }
    }
    pairs = once(std::move(pairs));
    if (!pairs.empty()) {
        findings.add("peer-latency", pairs, evidence,
                     "go through the host; do not hand flags over this path. Look beside this for what delays it");
    }
    return directions;
}

/// Rate of one pair of a group alone, in the way that the group moves.
std::optional<double> alone_of(const Context& context, const GroupVerdict& group, DirectedPair pair) {
    auto const* const proven = context.verdicts.pair(pair.first, pair.second);
    auto const gbs = proven == nullptr ? std::nullopt : (*proven)[group.pull ? Check::pull : Check::push].gbs;
    auto const* const route =
        group.pull ? context.verdicts.route(pair.second, pair.first) : context.verdicts.route(pair.first, pair.second);
    return gbs || route == nullptr ? gbs : route->direct_gbs;
}

void together(const Context& context, Findings& findings) {
    Pairs pairs;
    std::vector<std::string> evidence;
    for (auto const& group : context.verdicts.groups) {
        auto const& rates = group.rates;
        auto const slowest = rates.empty() ? group.gbs : std::optional(*std::min_element(rates.begin(), rates.end()));
        std::optional<double> alone;
        for (auto const& pair : group.pairs) {
            if (auto const gbs = alone_of(context, group, pair)) {
                alone = std::min(alone.value_or(*gbs), *gbs);
            }
        }
        if (!slowest || !alone || group.pairs.size() < 2) {
            continue;
        }
        // Sharing a link divides its rate, it does not shrink it: all together must reach what the slowest does alone.
        auto const sum = *slowest * static_cast<double>(group.pairs.size());
        auto const shrunk = rates.empty() ? group.result == Result::ok && sum < (1 - no_difference) * *alone
                                          : collapsed(context.verdicts, group);
        if (!shrunk) {
            continue;
        }
        pairs.insert(pairs.end(), group.pairs.begin(), group.pairs.end());
        evidence.push_back(fmt::format(
            "verdict: {}{} pairs at once, each {} ({}): the slowest gets {:.3g} GB/s, the slowest alone {:.3g} GB/s",
            group.name.empty() ? "" : group.name + ": ", group.pairs.size(), group.pull ? "pulled" : "pushed",
            list(group.pairs), *slowest, *alone));
        for (auto const& other : context.verdicts.groups) {
            if (other.pull != group.pull && other.pairs.size() == group.pairs.size() && other.name == group.name &&
                other.gbs && !collapsed(context.verdicts, other)) {
                evidence.push_back(fmt::format("verdict: the same {}: {:.3g} GB/s each",
                                               other.pull ? "pulled" : "pushed", *other.gbs));
            }
        }
    }
    if (!pairs.empty()) {
        findings.add("group-collapse", std::move(pairs), std::move(evidence),
                     "move fewer at once, pull instead of push, or go through the host");
    }
}

/// Both legs of a staged transfer between neighbours pass the uplink that they share.
void uplinks(const Context& context, Findings& findings) {
    Pairs near;
    double best_near = 0;
    std::vector<double> others;
    auto const rates = timed(context, Way::staged);
    for (auto const& rate : rates) {
        if (rate.path.first == PathClass::pix || rate.path.first == PathClass::pxb) {
            best_near = std::max(best_near, rate.gbs);
        } else if (rate.path.first != PathClass::unknown) {
            others.push_back(rate.gbs);
        }
    }
    auto const usual = median(others);
    if (!usual || best_near == 0) {
        return;
    }
    for (auto const& rate : rates) {
        if ((rate.path.first == PathClass::pix || rate.path.first == PathClass::pxb) &&
            rate.gbs < (1 - no_difference) * *usual) {
            near.push_back(rate.pair);
        }
    }
    if (!near.empty()) {
        findings.add(
            "shared-uplink", near,
            {fmt::format("tree: {} share an uplink (PIX or PXB)", list(near)),
             fmt::format("rates: through the host at most {:.3g} GB/s for them, {:.3g} GB/s (median) for pairs "
                         "that share none",
                         best_near, *usual)},
            "spread what moves at the same time over devices with uplinks of their own");
    }
}

}  // namespace

void rates(const Context& context, Findings& findings) {
    auto explained = weak(context, findings);
    auto const late = latency(context, findings);
    explained.insert(explained.end(), late.begin(), late.end());
    against_host(context, explained, findings);
    together(context, findings);
    uplinks(context, findings);
}

}  // namespace peerlane::causes
