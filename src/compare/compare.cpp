#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/compare.hpp>

namespace peerlane {
namespace {

using Kind = Difference::Kind;
using DataDirection = std::pair<int, int>;

template <class Value>
Value most_common(const std::map<Value, int>& counts) {
    return std::max_element(counts.begin(), counts.end(),
                            [](auto const& a, auto const& b) { return a.second < b.second; })
        ->first;
}

double median(std::vector<double> values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// A node as most are: each trait's commonest value, each rate's median among those of the commonest topology.
NodeReport usual(const std::vector<NodeReport>& nodes) {
    NodeReport usual;
    std::map<int, int> devices;
    std::map<std::string, std::map<std::string, int>> traits;
    std::map<std::string, int> causes;
    int known = 0;
    for (auto const& node : nodes) {
        if (!node.unreadable.empty()) {
            continue;
        }
        ++known;
        if (node.devices) {
            ++devices[*node.devices];
        }
        for (auto const& [name, value] : node.traits) {
            ++traits[name][value];
        }
        for (auto const& cause : node.causes) {
            ++causes[cause];
        }
    }
    if (!devices.empty()) {
        usual.devices = most_common(devices);
    }
    for (auto const& [name, values] : traits) {
        usual.traits[name] = most_common(values);
    }
    for (auto const& [cause, count] : causes) {
        if (2 * count > known) {
            usual.causes.push_back(cause);
        }
    }
    std::map<DataDirection, std::vector<double>> rates, staged;
    auto const topology = usual.traits.find("topology");
    for (auto const& node : nodes) {
        auto const own = node.traits.find("topology");
        bool const same =
            node.devices == usual.devices &&
            (topology == usual.traits.end() || own == node.traits.end() || own->second == topology->second);
        if (same) {
            for (auto const& [direction, gbs] : node.rates) {
                rates[direction].push_back(gbs);
            }
            for (auto const& [direction, gbs] : node.staged_rates) {
                staged[direction].push_back(gbs);
            }
        }
    }
    for (auto& [direction, values] : rates) {
        usual.rates[direction] = median(std::move(values));
    }
    for (auto& [direction, values] : staged) {
        usual.staged_rates[direction] = median(std::move(values));
    }
    return usual;
}

void add_rates(const std::map<DataDirection, double>& expected, const std::map<DataDirection, double>& own,
               const char* how, double tolerance, std::vector<Difference>& all) {
    for (auto const& [direction, gbs] : own) {
        auto const other = expected.find(direction);
        if (other == expected.end() || gbs >= (1 - tolerance) * other->second) {
            continue;
        }
        auto const share = 100 * (1 - gbs / other->second);
        all.push_back({Kind::rate, share,
                       fmt::format("{}>{}{} is {:.0f} % slower: {:.3g} GB/s, not {:.3g}", direction.first,
                                   direction.second, how, share, gbs, other->second)});
    }
}

/// More than a few of one kind are counted: a slow device has a whole row and column of slow pairs.
void shorten(std::vector<Difference>& all) {
    constexpr std::size_t most = 4;
    std::vector<Difference> kept;
    std::map<Kind, std::size_t> seen;
    for (auto& one : all) {
        if (++seen[one.kind] <= most) {
            kept.push_back(std::move(one));
        }
    }
    for (auto const& [kind, count] : seen) {
        if (count > most) {
            auto const after = std::find_if(kept.rbegin(), kept.rend(),
                                            [kind = kind](const Difference& one) { return one.kind == kind; });
            kept.insert(after.base(), {kind, 0, fmt::format("and {} more of that kind", count - most)});
        }
    }
    all = std::move(kept);
}

std::string trait_text(const std::string& name, const std::string& own, const std::string& expected) {
    return fmt::format("{} is {}, not {}", name, own, expected);
}

std::vector<Difference> all_differences(const NodeReport& expected, const NodeReport& node, double tolerance) {
    std::vector<Difference> all;
    if (!node.unreadable.empty()) {
        return {{Kind::unreadable, 0, node.unreadable}};
    }
    for (auto const& failure : node.failed) {
        if (std::find(expected.failed.begin(), expected.failed.end(), failure) == expected.failed.end()) {
            all.push_back({Kind::failed, 1, failure});
        }
    }
    bool const fewer = expected.devices && node.devices && *node.devices != *expected.devices;
    if (fewer) {
        all.push_back(
            {Kind::devices, static_cast<double>(*expected.devices - *node.devices),
             fmt::format("{} device{}, not {}", *node.devices, *node.devices == 1 ? "" : "s", *expected.devices)});
    }
    for (auto const& [name, value] : expected.traits) {
        auto const own = node.traits.find(name);
        if (own == node.traits.end() || own->second == value || (fewer && name == "topology")) {
            continue;
        }
        auto const kind = name == "topology" ? Kind::topology : name == "model" ? Kind::model : Kind::trait;
        all.push_back({kind, 1, trait_text(name, own->second, value)});
    }
    // Numbers of devices mean other devices where some are missing.
    if (!fewer) {
        add_rates(expected.rates, node.rates, "", tolerance, all);
        if (expected.rates != expected.staged_rates) {
            add_rates(expected.staged_rates, node.staged_rates, " through the host", tolerance, all);
        }
    }
    for (auto const& cause : node.causes) {
        if (std::find(expected.causes.begin(), expected.causes.end(), cause) == expected.causes.end()) {
            all.push_back({Kind::cause, 1, "found " + cause});
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Difference& a, const Difference& b) {
        return std::tuple(a.kind, -a.weight) < std::tuple(b.kind, -b.weight);
    });
    return all;
}

}  // namespace

const char* to_string(Difference::Kind kind) {
    switch (kind) {
        case Kind::unreadable:
            return "unreadable";
        case Kind::failed:
            return "failed";
        case Kind::devices:
            return "devices";
        case Kind::topology:
            return "topology";
        case Kind::model:
            return "model";
        case Kind::rate:
            return "rate";
        case Kind::trait:
            return "trait";
        case Kind::cause:
            break;
    }
    return "cause";
}

std::vector<Difference> differences(const NodeReport& expected, const NodeReport& node, double tolerance) {
    auto all = all_differences(expected, node, tolerance);
    shorten(all);
    return all;
}

Comparison compare(const std::vector<NodeReport>& nodes, double tolerance) {
    Comparison result;
    result.nodes = static_cast<int>(nodes.size());
    auto const expected = usual(nodes);
    using Badness = std::tuple<Kind, double, double>;  // worst kind, how bad, how many
    std::vector<std::pair<Badness, OddNode>> odd;
    for (auto const& node : nodes) {
        auto all = all_differences(expected, node, tolerance);
        if (all.empty()) {
            continue;
        }
        double worst = 0;
        for (auto const& one : all) {
            worst += one.kind == all.front().kind && one.kind == Kind::failed ? one.weight : 0;
        }
        Badness const badness{all.front().kind, -std::max(worst, all.front().weight), -static_cast<double>(all.size())};
        shorten(all);
        odd.emplace_back(badness, OddNode{node.name, std::move(all)});
    }
    std::stable_sort(odd.begin(), odd.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    for (auto& one : odd) {
        result.odd.push_back(std::move(one.second));
    }
    if (expected.devices) {
        auto const model = expected.traits.find("model");
        result.alike.push_back(model == expected.traits.end()
                                   ? fmt::format("{} devices", *expected.devices)
                                   : fmt::format("{} x {}", *expected.devices, model->second));
    }
    for (auto const& [name, value] : expected.traits) {
        if (name != "model") {
            result.alike.push_back(name == "topology" ? value : name + " " + value);
        }
    }
    if (!expected.rates.empty()) {
        std::vector<double> rates;
        for (auto const& rate : expected.rates) {
            rates.push_back(rate.second);
        }
        auto const [least, most] = std::minmax_element(rates.begin(), rates.end());
        result.alike.push_back(*most - *least < 0.05 * *most
                                   ? fmt::format("{:.3g} GB/s a pair", median(rates))
                                   : fmt::format("{:.3g} to {:.3g} GB/s a pair", *least, *most));
    }
    for (auto const& cause : expected.causes) {
        result.alike.push_back("found " + cause);
    }
    return result;
}

}  // namespace peerlane
