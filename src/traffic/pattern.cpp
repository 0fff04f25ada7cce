// Patterns in words become flows.

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/traffic.hpp>
#include <peerlane/units.hpp>

#include "traffic/places.hpp"

namespace peerlane {
namespace {

using traffic::Words;

constexpr std::int64_t most_random_flows = 10'000'000;

/// SplitMix64 by Steele, Lea and Flood: small, seeded by any number, and the same everywhere.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t limit) {
        auto const lowest = (0 - limit) % limit;  // so that every remainder is equally likely
        for (;;) {
            if (auto const value = next(); value >= lowest) {
                return value % limit;
            }
        }
    }

  private:
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        auto z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
};

/// What a pattern is made from.
struct Making {
    std::string_view pattern;
    std::string_view rest;  ///< behind the first colon
    bool has_rest = false;
    const Machine& machine;
    const std::vector<int>& devices;
    std::vector<std::pair<Place, Place>> pairs;

    [[nodiscard]] std::size_t count() const { return devices.size(); }
    [[nodiscard]] Place at(std::size_t index) const { return gpu(devices[index % devices.size()]); }
    void add(Place src, Place dst) { pairs.emplace_back(src, dst); }

    [[noreturn]] void fail(const std::string& why) const {
        throw std::invalid_argument(fmt::format("pattern \"{}\": {}", pattern, why));
    }
    std::uint64_t seed(std::string_view word) const {
        auto const value = parse_integer(word);
        if (!value || *value < 0) {
            fail(fmt::format("\"{}\" is no seed: a whole number, not negative", word));
        }
        return static_cast<std::uint64_t>(*value);
    }
    Place place(std::string_view word) const {
        try {
            return traffic::place_of(word, machine, devices);
        } catch (const std::invalid_argument& error) {
            fail(error.what());
        }
    }
};

/// "0:1", "host:0", "host:1:0", "0:host:1", "host:0:host:1": how many parts there are tells whose the node is.
std::pair<Place, Place> two_places(const Making& making) {
    auto const parts = traffic::split(making.rest, ':');
    auto const joined = [](std::string_view a, std::string_view b) { return fmt::format("{}:{}", a, b); };
    if (parts.size() == 2) {
        return {making.place(parts[0]), making.place(parts[1])};
    }
    if (parts.size() == 3 && parts[0] == "host") {
        return {making.place(joined(parts[0], parts[1])), making.place(parts[2])};
    }
    if (parts.size() == 3 && parts[1] == "host") {
        return {making.place(parts[0]), making.place(joined(parts[1], parts[2]))};
    }
    if (parts.size() == 4 && parts[0] == "host" && parts[2] == "host") {
        return {making.place(joined(parts[0], parts[1])), making.place(joined(parts[2], parts[3]))};
    }
    making.fail("two places belong behind it, as pair:0:1 or pair:host:0");
}

void pair_of(Making& making) {
    auto const [src, dst] = two_places(making);
    if (src == dst) {
        making.fail("both places are the same");
    }
    if (src.is_host() && dst.is_host()) {
        making.fail("no device takes part");
    }
    making.add(src, dst);
}

void one_to_all(Making& making) {
    auto const one = making.place(making.rest);
    for (std::size_t i = 0; i < making.count(); ++i) {
        if (making.at(i) != one) {
            making.add(one, making.at(i));
        }
    }
}

void all_to_one(Making& making) {
    one_to_all(making);
    for (auto& pair : making.pairs) {
        std::swap(pair.first, pair.second);
    }
}

void shifted(Making& making, std::size_t distance) {
    for (std::size_t i = 0; i < making.count(); ++i) {
        making.add(making.at(i), making.at(i + distance));
    }
}

void shift(Making& making) {
    auto const distance = parse_integer(making.rest);
    auto const count = static_cast<std::int64_t>(making.count());
    if (!distance) {
        making.fail(fmt::format("\"{}\" is no distance: a whole number", making.rest));
    }
    if (*distance % count == 0) {
        making.fail(fmt::format("with {} devices, a shift by {} moves nothing", count, *distance));
    }
    shifted(making, static_cast<std::size_t>((*distance % count + count) % count));
}

void ring(Making& making) {
    shifted(making, 1);
}

void halo(Making& making) {
    shifted(making, 1);
    if (making.count() > 2) {  // of two devices, both neighbours are the same
        shifted(making, making.count() - 1);
    }
}

/// Round by round, as exchanges are usually written: everybody sends to the next, then to the one after that.
void all_to_all(Making& making) {
    for (std::size_t distance = 1; distance < making.count(); ++distance) {
        shifted(making, distance);
    }
}

/// Nobody sends to itself: drawn again until that is so (about e times).
void permutation(Making& making) {
    Random random(making.seed(making.rest));
    std::vector<std::size_t> to(making.count());
    auto const keeps_one = [&] {
        for (std::size_t i = 0; i < to.size(); ++i) {
            if (to[i] == i) {
                return true;
            }
        }
        return false;
    };
    do {
        std::iota(to.begin(), to.end(), std::size_t{0});
        for (auto i = to.size() - 1; i > 0; --i) {
            std::swap(to[i], to[random.below(i + 1)]);
        }
    } while (keeps_one());
    for (std::size_t i = 0; i < to.size(); ++i) {
        making.add(making.at(i), making.at(to[i]));
    }
}

void random_pairs(Making& making) {
    auto const parts = traffic::split(making.rest, ',');
    auto const flows = parts.size() == 2 ? parse_integer(parts[0]) : std::nullopt;
    if (!flows || *flows < 1 || *flows > most_random_flows) {
        making.fail(
            fmt::format("a number of flows (1 to {}) and a seed belong behind it, as random:100,1", most_random_flows));
    }
    Random random(making.seed(parts[1]));
    for (std::int64_t i = 0; i < *flows; ++i) {
        auto const src = random.below(making.count());
        auto const dst = src + 1 + random.below(making.count() - 1);
        making.add(making.at(src), making.at(dst));
    }
}

void host_to_all(Making& making) {
    for (std::size_t i = 0; i < making.count(); ++i) {
        making.add(host(), making.at(i));
    }
}

void all_to_host(Making& making) {
    for (std::size_t i = 0; i < making.count(); ++i) {
        making.add(making.at(i), host());
    }
}

struct Kind {
    std::string_view word;
    bool takes_rest;
    std::size_t least_devices;
    void (*make)(Making&);
};

constexpr Kind kinds[] = {{"pair", true, 1, pair_of},
                          {"one-to-all", true, 1, one_to_all},
                          {"all-to-one", true, 1, all_to_one},
                          {"shift", true, 2, shift},
                          {"ring", false, 2, ring},
                          {"halo", false, 2, halo},
                          {"all-to-all", false, 2, all_to_all},
                          {"permutation", true, 2, permutation},
                          {"random", true, 2, random_pairs},
                          {"host-to-all", false, 1, host_to_all},
                          {"all-to-host", false, 1, all_to_host}};

void make(Making& making) {
    auto const colon = making.pattern.find(':');
    auto const word = making.pattern.substr(0, colon);
    making.has_rest = colon != std::string_view::npos;
    making.rest = making.has_rest ? making.pattern.substr(colon + 1) : std::string_view();
    auto const* const kind = std::find_if(std::begin(kinds), std::end(kinds), [&](auto& k) { return k.word == word; });
    if (kind == std::end(kinds)) {
        std::string known;
        for (auto const& [form, meaning] : traffic_patterns()) {
            known += fmt::format("{}{}", known.empty() ? "" : " ", form);
        }
        making.fail("no such pattern; there are: " + known);
    }
    if (kind->takes_rest != making.has_rest || (making.has_rest && making.rest.empty())) {
        making.fail(kind->takes_rest ? fmt::format("something is missing behind \"{}:\"", word)
                                     : fmt::format("nothing belongs behind \"{}\"", word));
    }
    if (making.count() < kind->least_devices) {
        making.fail(fmt::format("it needs {} devices at least, here are {}", kind->least_devices, making.count()));
    }
    kind->make(making);
    if (making.pairs.empty()) {
        making.fail("it moves nothing among these devices");
    }
}

}  // namespace

std::vector<Flow> pattern_flows(std::string_view pattern, const Machine& machine, const std::vector<int>& devices,
                                const PatternOptions& options) {
    Making making{pattern, {}, false, machine, devices, {}};
    make(making);
    std::vector<Flow> flows;
    flows.reserve(making.pairs.size() * static_cast<std::size_t>(options.phases));
    for (int phase = 0; phase < options.phases; ++phase) {
        for (std::size_t i = 0; i < making.pairs.size(); ++i) {
            flows.push_back({making.pairs[i].first, making.pairs[i].second, options.bytes,
                             static_cast<double>(i) * options.step_s, phase, options.page});
        }
    }
    return flows;
}

const std::vector<std::pair<const char*, const char*>>& traffic_patterns() {
    static const std::vector<std::pair<const char*, const char*>> list{
        {"pair:A:B", "one flow from A to B"},
        {"one-to-all:A", "A to each other device"},
        {"all-to-one:A", "each other device to A"},
        {"shift:D", "each device i to i + D, counted round"},
        {"ring", "each device to the next"},
        {"halo", "each device to both neighbours in the ring"},
        {"all-to-all", "each device to every other"},
        {"permutation:SEED", "each device sends once and receives once, never to itself"},
        {"random:N,SEED", "N flows between devices drawn at random"},
        {"host-to-all", "memory of the host to each device"},
        {"all-to-host", "each device to memory of the host"}};
    return list;
}

}  // namespace peerlane
