#include "cli/numbering.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "machine/renumber.hpp"

namespace peerlane::cli {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

template <typename Number>
Verdicts renumbered(Verdicts verdicts, Number number) {
    for (auto& pair : verdicts.pairs) {
        pair.accessor = number(pair.accessor);
        pair.owner = number(pair.owner);
    }
    for (auto& control : verdicts.control) {
        control.source = number(control.source);
        control.destination = number(control.destination);
    }
    for (auto& test : verdicts.self_tests) {
        test.device = number(test.device);
    }
    auto const renumber = [&](std::vector<std::pair<int, int>>& pairs) {
        for (auto& pair : pairs) {
            pair = {number(pair.first), number(pair.second)};
        }
    };
    for (auto& group : verdicts.groups) {
        renumber(group.pairs);
    }
    for (auto& finding : verdicts.findings) {
        renumber(finding.pairs);
    }
    for (auto& route : verdicts.routes) {
        route.source = number(route.source);
        route.destination = number(route.destination);
        route.issuer = number(route.issuer);
    }
    return verdicts;
}

}  // namespace

Numbering Numbering::same(int devices) {
    Numbering numbering;
    numbering.ordinals_.resize(at(devices));
    std::iota(numbering.ordinals_.begin(), numbering.ordinals_.end(), 0);
    return numbering;
}

std::optional<Numbering> Numbering::join(const Machine& people, const Machine& driver) {
    auto const numbers = numbers_in(people, driver);
    if (!numbers) {
        return std::nullopt;
    }
    Numbering numbering;
    numbering.ordinals_.assign(people.devices.size(), -1);
    for (std::size_t i = 0; i < numbers->size(); ++i) {
        numbering.ordinals_[at((*numbers)[i])] = driver.devices[i].id;
    }
    return numbering;
}

int Numbering::number(int ordinal) const {
    auto const found = std::find(ordinals_.begin(), ordinals_.end(), ordinal);
    return ordinal < 0 || found == ordinals_.end() ? -1 : static_cast<int>(found - ordinals_.begin());
}

Place Numbering::to_driver(Place place) const {
    return place.is_device() ? gpu(ordinal(place.index)) : place;
}

Choice Numbering::to_driver(Choice choice) const {
    auto const renumber = [this](std::vector<Route>& routes) {
        for (auto& route : routes) {
            for (auto& leg : route.legs) {
                leg.from = to_driver(leg.from);
                leg.to = to_driver(leg.to);
                leg.issuer = to_driver(leg.issuer);
            }
        }
    };
    renumber(choice.routes);
    for (auto& rejected : choice.rejected) {
        renumber(rejected.routes);
    }
    return choice;
}

Verdicts Numbering::to_people(Verdicts verdicts) const {
    return renumbered(std::move(verdicts), [this](int ordinal) { return number(ordinal); });
}

/// What concerns a device that this process does not see is left out.
Verdicts Numbering::to_driver(Verdicts verdicts) const {
    auto const seen = [this](int device) {
        return device >= 0 && at(device) < ordinals_.size() && ordinal(device) >= 0;
    };
    std::erase_if(verdicts.pairs, [&](auto const& pair) { return !seen(pair.accessor) || !seen(pair.owner); });
    std::erase_if(verdicts.control, [&](auto const& arm) { return !seen(arm.source) || !seen(arm.destination); });
    std::erase_if(verdicts.self_tests, [&](auto const& test) { return !seen(test.device); });
    std::erase_if(verdicts.routes, [&](auto const& route) { return !seen(route.source) || !seen(route.destination); });
    std::erase_if(verdicts.groups, [&](auto const& group) {
        return std::any_of(group.pairs.begin(), group.pairs.end(),
                           [&](auto const& pair) { return !seen(pair.first) || !seen(pair.second); });
    });
    verdicts.findings.clear();
    return renumbered(std::move(verdicts), [&](int device) { return seen(device) ? ordinal(device) : -1; });
}

Profile Numbering::to_people(Profile profile) const {
    auto const place = [this](Place& where) {
        if (where.is_device()) {
            where.index = number(where.index);
        }
    };
    auto const leg = [&](Leg& one) {
        place(one.from);
        place(one.to);
        place(one.issuer);
    };
    for (auto& curve : profile.legs) {
        leg(curve.leg);
    }
    for (auto& group : profile.loaded) {
        for (auto& one : group.legs) {
            leg(one.leg);
        }
    }
    for (auto& plan : profile.plans) {
        for (auto& route : plan.routes) {
            std::for_each(route.legs.begin(), route.legs.end(), leg);
        }
    }
    for (auto& costs : profile.access) {
        costs.accessor = number(costs.accessor);
        place(costs.place);
    }
    for (auto& notice : profile.notices) {
        notice = to_people(notice);
    }
    return profile;
}

std::string Numbering::to_people(const std::string& text) const {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        auto end = i + 3;
        if (text.compare(i, 3, "gpu") == 0) {
            while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end < i + 7) {
                ++end;
            }
        }
        if (end > i + 3) {
            auto const ordinal = std::stoi(text.substr(i + 3, end - i - 3));
            out += number(ordinal) < 0 ? text.substr(i, end - i) : fmt::format("gpu{}", number(ordinal));
            i = end;
        } else {
            out += text[i++];
        }
    }
    return out;
}

Machine Numbering::to_driver(const Machine& machine) const {
    return renumbered(machine, ordinals_);
}

Machine limited_to(const Machine& machine, const std::vector<int>& devices) {
    for (auto const device : devices) {
        if (machine.device(device) == nullptr) {
            throw std::out_of_range(fmt::format("no device {}", device));
        }
    }
    std::vector<int> numbers(machine.devices.size(), -1);
    for (auto const device : devices) {
        numbers[at(device)] = device;
    }
    return renumbered(machine, numbers);
}

}  // namespace peerlane::cli
