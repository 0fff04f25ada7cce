#include <peerlane/fault.hpp>

#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

using What = Fault::What;
using Effect = Fault::Effect;

constexpr std::array<std::pair<std::string_view, What>, 15> whats{{{"claim", What::claim},
                                                                   {"map", What::map},
                                                                   {"push", What::push},
                                                                   {"pull", What::pull},
                                                                   {"store", What::store},
                                                                   {"load", What::load},
                                                                   {"atomic", What::atomic},
                                                                   {"flag", What::flag},
                                                                   {"rate", What::rate},
                                                                   {"latency", What::latency},
                                                                   {"host", What::host},
                                                                   {"link", What::link},
                                                                   {"together", What::together},
                                                                   {"wedge", What::wedge},
                                                                   {"fact", What::fact}}};

constexpr std::array<std::pair<std::string_view, Effect>, 8> words{{{"no", Effect::no},
                                                                    {"zero", Effect::zero},
                                                                    {"stale", Effect::stale},
                                                                    {"flip", Effect::flip},
                                                                    {"mirror", Effect::mirror},
                                                                    {"offset", Effect::offset},
                                                                    {"hang", Effect::hang},
                                                                    {"freeze", Effect::freeze}}};

[[noreturn]] void refuse(std::string_view text, const std::string& reason) {
    throw std::invalid_argument(fmt::format("fault '{}': {}", text, reason));
}

bool is_access(What what) {
    return what >= What::push && what <= What::flag;
}

bool starts(std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
}

/// "x0.3" and the like: the number behind a prefix.
std::optional<double> number_after(std::string_view text, std::string_view prefix) {
    return starts(text, prefix) ? parse_number(text.substr(prefix.size())) : std::nullopt;
}

std::optional<int> count_after(std::string_view text, std::string_view prefix) {
    auto const n = starts(text, prefix) ? parse_integer(text.substr(prefix.size())) : std::nullopt;
    return n && *n >= 0 && *n < 1'000'000 ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

const char* choices(What what) {
    switch (what) {
        case What::claim:
            return "no";
        case What::map:
            return "errorN or limitN";
        case What::host:
            return "zero, stale, flip, mirror, offset, hang, freeze, errorN or xF";
        case What::rate:
            return "a rate such as 9.9GB/s, or xF";
        case What::latency:
            return "a time such as 49ms";
        case What::link:
            return "down@TIME, as in down@2ms";
        case What::together:
            return "a rate such as 0.04GB/s";
        case What::wedge:
        case What::fact:
            return "";
        default:
            return "no, zero, stale, flip, mirror, offset, hang, freeze, errorN or xF";
    }
}

bool set_effect(Fault& fault, std::string_view effect) {
    auto const what = fault.what;
    auto const take = [&](Effect kind, double number) {
        fault.effect = kind;
        fault.number = number;
        return true;
    };
    if (what == What::claim) {
        return effect == "no" && take(Effect::no, 0);
    }
    if (what == What::map) {
        if (auto const limit = count_after(effect, "limit")) {
            return take(Effect::limit, *limit);
        }
    }
    if (what == What::map || what == What::host || is_access(what)) {
        if (auto const code = count_after(effect, "error"); code && *code > 0) {
            return take(Effect::error, *code);
        }
    }
    if (what == What::host || is_access(what)) {
        for (auto const& [word, kind] : words) {
            if (word == effect && !(what == What::host && kind == Effect::no)) {
                return take(kind, 0);
            }
        }
    }
    if (what == What::host || what == What::rate || is_access(what)) {
        if (auto const factor = number_after(effect, "x"); factor && *factor > 0 && *factor <= 1000) {
            return take(Effect::scale, *factor);
        }
    }
    if (what == What::rate || what == What::together) {
        if (auto const rate = parse_rate_gbs(effect); rate && *rate > 0) {
            return take(Effect::rate, *rate);
        }
    }
    if (what == What::latency) {
        if (auto const seconds = parse_seconds(effect)) {
            return take(Effect::delay, *seconds);
        }
    }
    if (what == What::link && starts(effect, "down@")) {
        if (auto const seconds = parse_seconds(effect.substr(5))) {
            return take(Effect::down, *seconds);
        }
    }
    return false;
}

int parse_device(std::string_view whole, std::string_view word) {
    if (word == "any") {
        return Fault::any;
    }
    auto const number = parse_integer(word);
    if (!number || *number < 0 || *number > 4095) {
        refuse(whole, fmt::format("'{}' is no device: a number or any", word));
    }
    return static_cast<int>(*number);
}

void parse_size_limit(Fault& fault, std::string_view whole, std::string_view word) {
    auto const sign = word.empty() ? '\0' : word.back();
    auto const bytes = parse_size(word.substr(0, word.empty() ? 0 : word.size() - 1));
    if (!bytes || (sign != '+' && sign != '-')) {
        refuse(whole, fmt::format("'{}' is no size limit: 512KiB+ or 4KiB-", word));
    }
    (sign == '+' ? fault.at_least : fault.at_most) = *bytes;
}

}  // namespace

const char* to_string(Fault::What what) {
    for (auto const& [word, kind] : whats) {
        if (kind == what) {
            return word.data();
        }
    }
    return "";
}

Fault parse_fault(std::string_view text) {
    Fault fault;
    auto const colon = text.find(':');
    auto const word = text.substr(0, colon);
    auto found = false;
    for (auto const& [name, what] : whats) {
        if (name == word) {
            fault.what = what;
            found = true;
        }
    }
    if (!found || colon == std::string_view::npos) {
        refuse(text, fmt::format("begins with '{}', not with one of claim, map, push, pull, store, load, atomic, flag, "
                                 "rate, latency, host, "
                                 "link, together, wedge, fact and a colon",
                                 word));
    }
    auto rest = text.substr(colon + 1);
    auto const equals = rest.find('=');
    if (fault.what == What::wedge) {
        if (equals != std::string_view::npos) {
            refuse(text, "wedge takes a device and nothing else, as in wedge:0");
        }
        fault.a = parse_device(text, rest);
        return fault;
    }
    if (equals == std::string_view::npos) {
        refuse(text, "has no effect: =EFFECT is missing");
    }
    auto const effect = rest.substr(equals + 1);
    auto target = rest.substr(0, equals);
    if (fault.what == What::fact) {
        if (target.empty()) {
            refuse(text, "has no name: fact:NAME=VALUE");
        }
        fault.name = target;
        fault.value = effect;
        return fault;
    }
    if (fault.what == What::together) {
        if (target.empty() || target.back() != '+') {
            refuse(text, "names how many pairs with a plus sign, as in together:3+=0.04GB/s");
        }
        fault.a = parse_device(text, target.substr(0, target.size() - 1));
        if (fault.a < 1) {
            refuse(text, "names at least one pair");
        }
    } else {
        if (auto const at = target.find('@'); at != std::string_view::npos) {
            if (!is_access(fault.what) && fault.what != What::host) {
                refuse(text, "takes no size limit");
            }
            parse_size_limit(fault, text, target.substr(at + 1));
            target = target.substr(0, at);
        }
        auto const between = target.find(':');
        if (between == std::string_view::npos) {
            refuse(text, fmt::format("names two devices, as in {}:0:1", word));
        }
        fault.a = parse_device(text, target.substr(0, between));
        fault.b = parse_device(text, target.substr(between + 1));
        if (fault.a == fault.b && fault.a != Fault::any) {
            refuse(text, "names one device twice: a pair has two");
        }
    }
    if (!set_effect(fault, effect)) {
        refuse(text, fmt::format("'{}' is no effect of {}: {}", effect, word, choices(fault.what)));
    }
    return fault;
}

std::string to_string(const Fault& fault) {
    auto const device = [](int d) { return d == Fault::any ? std::string("any") : fmt::format("{}", d); };
    if (fault.what == What::wedge) {
        return "wedge:" + device(fault.a);
    }
    if (fault.what == What::fact) {
        return fmt::format("fact:{}={}", fault.name, fault.value);
    }
    std::string text = fmt::format("{}:{}", to_string(fault.what), device(fault.a));
    if (fault.what == What::together) {
        text += "+";
    } else {
        text += ":" + device(fault.b);
    }
    if (fault.at_least) {
        text += fmt::format("@{}+", size_word(*fault.at_least));
    } else if (fault.at_most) {
        text += fmt::format("@{}-", size_word(*fault.at_most));
    }
    text += "=";
    switch (fault.effect) {
        case Effect::none:
            break;
        case Effect::error:
            text += fmt::format("error{}", static_cast<int>(fault.number));
            break;
        case Effect::limit:
            text += fmt::format("limit{}", static_cast<int>(fault.number));
            break;
        case Effect::scale:
            text += fmt::format("x{}", fault.number);
            break;
        case Effect::rate:
            text += fmt::format("{}GB/s", fault.number);
            break;
        case Effect::delay:
            text += fmt::format("{}s", fault.number);
            break;
        case Effect::down:
            text += fmt::format("down@{}s", fault.number);
            break;
        default:
            for (auto const& [word, kind] : words) {
                if (kind == fault.effect) {
                    text += word;
                }
            }
    }
    return text;
}

}  // namespace peerlane
