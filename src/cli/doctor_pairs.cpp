#include "cli/doctor_pairs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane::cli {
namespace {

constexpr std::array by_severity{Result::wrong, Result::hang, Result::error};

bool claimed(const PairVerdict& pair) {
    return pair[Check::claim].result == Result::ok;
}

bool has(const PairVerdict& pair, Result result) {
    return std::any_of(pair.checks.begin(), pair.checks.end(),
                       [&](const CheckResult& check) { return check.result == result; });
}

/// Atomics are missing by design of many a link; the others belong to a claim.
bool misses_something(const PairVerdict& pair) {
    return claimed(pair) && std::any_of(all_checks.begin(), all_checks.end(), [&](Check check) {
               return check != Check::atomic && pair[check].result == Result::no;
           });
}

/// The checks of a pair that were tried, and right where they move bytes.
bool proven(const PairVerdict& pair) {
    constexpr std::array moving{Check::push, Check::pull, Check::store, Check::load};
    return claimed(pair) && !is_bad(pair) &&
           std::all_of(moving.begin(), moving.end(), [&](Check check) { return pair[check].result == Result::ok; });
}

/// One check that says most about what is wrong with a pair.
Check first_failure(const PairVerdict& pair) {
    for (auto const result : by_severity) {
        for (auto const check : all_checks) {
            if (pair[check].result == result) {
                return check;
            }
        }
    }
    for (auto const check : all_checks) {
        if (pair[check].result == Result::no) {
            return check;
        }
    }
    return Check::claim;
}

std::string short_word(const CheckResult& check) {
    switch (check.result) {
        case Result::wrong:
            return check.kind ? fmt::format("WRONG({})", to_string(*check.kind)) : "WRONG";
        case Result::hang:
            return check.frozen ? "HANG(frozen)" : "HANG";
        case Result::error:
            return check.code ? fmt::format("ERROR({})", *check.code) : "ERROR";
        default:
            return to_string(check.result);
    }
}

/// What each side can do.
std::string abilities(const PairVerdict& pair) {
    auto const words = [&](std::initializer_list<Check> checks) {
        std::vector<std::string> parts;
        for (auto const check : checks) {
            parts.push_back(fmt::format("{} {}", to_string(check), short_word(pair[check])));
        }
        return fmt::format("{}", fmt::join(parts, ", "));
    };
    return fmt::format("writes: {}; reads: {}; {}", words({Check::push, Check::store}),
                       words({Check::pull, Check::load}), words({Check::map, Check::atomic, Check::flag}));
}

std::string control_word(const Verdicts& verdicts, int source, int destination) {
    auto const* const arm = verdicts.control_of(source, destination);
    return arm == nullptr ? "not tried" : arm->staged.result == Result::ok ? "right" : short_word(arm->staged);
}

std::string sizes_text(const CheckResult& check) {
    if (check.sizes.empty()) {
        return "";
    }
    return check.sizes.size() == 1
               ? fmt::format("; tried {}", ragged_size_text(check.sizes.front()))
               : fmt::format("; tried {} sizes up to {}", check.sizes.size(), ragged_size_text(check.sizes.back()));
}

std::string failure_text(const Verdicts& verdicts, const PairVerdict& pair) {
    auto const check = first_failure(pair);
    auto const out = control_word(verdicts, pair.accessor, pair.owner);
    auto const back = control_word(verdicts, pair.owner, pair.accessor);
    return fmt::format("{}: {}{}; control arm through the host: {}", to_string(check), check_in_words(pair[check]),
                       sizes_text(pair[check]), out == back ? out : fmt::format("{} out, {} back", out, back));
}

std::string use_text(const Verdicts& verdicts, int source, int destination) {
    auto const* const route = verdicts.route(source, destination);
    if (route == nullptr) {
        return "not proven";
    }
    switch (route->use) {
        case RouteVerdict::Use::direct:
            return fmt::format("direct, {} by {}{}", route->issuer == source ? "pushed" : "pulled",
                               route->issuer == source ? "the source" : "the destination",
                               route->engine == Engine::kernel ? "'s kernel" : "");
        case RouteVerdict::Use::staged:
            return "staged through the host";
        case RouteVerdict::Use::none:
            break;
    }
    return "nothing";
}

std::string uses_text(const Verdicts& verdicts, const PairVerdict& pair) {
    auto const out = use_text(verdicts, pair.accessor, pair.owner);
    auto const back = use_text(verdicts, pair.owner, pair.accessor);
    return out == back ? "use " + out + ", both directions"
                       : fmt::format("use for data out of the accessor: {}; into it: {}", out, back);
}

struct Alike {
    std::string able, failure, use;
    std::vector<std::string> pairs;
};

std::vector<Alike> groups_of(const Verdicts& verdicts) {
    std::vector<Alike> groups;
    for (auto const& pair : verdicts.pairs) {
        if (!is_bad(pair)) {
            continue;
        }
        Alike one{abilities(pair), failure_text(verdicts, pair), uses_text(verdicts, pair), {}};
        auto found = std::find_if(groups.begin(), groups.end(), [&](const Alike& group) {
            return group.able == one.able && group.failure == one.failure && group.use == one.use;
        });
        if (found == groups.end()) {
            groups.push_back(std::move(one));
            found = std::prev(groups.end());
        }
        found->pairs.push_back(fmt::format("{}:{}", pair.accessor, pair.owner));
    }
    return groups;
}

std::string names_text(const std::vector<std::string>& pairs) {
    constexpr std::size_t most = 8;
    if (pairs.size() <= most) {
        return fmt::format("{}", fmt::join(pairs, " "));
    }
    return fmt::format("{} and {} more", fmt::join(pairs.begin(), pairs.begin() + most, " "), pairs.size() - most);
}

std::string count_of(std::size_t count, std::size_t all, const char* one, const char* many) {
    return fmt::format("{} of {} directed pair{} {}", count, all, all == 1 ? "" : "s", count == 1 ? one : many);
}

/// What cannot be told past.
std::string why_inconclusive(const Verdicts& verdicts) {
    auto const failed = [](const CheckResult& check) {
        return std::find(by_severity.begin(), by_severity.end(), check.result) != by_severity.end();
    };
    for (auto const& test : verdicts.self_tests) {
        if (failed(test.found)) {
            return fmt::format("memory of gpu{} could not be looked at: {}", test.device, check_in_words(test.found));
        }
    }
    for (auto const& arm : verdicts.control) {
        if (failed(arm.staged)) {
            return fmt::format("what everything is compared with is not right, {}>{} through the host: {}", arm.source,
                               arm.destination, check_in_words(arm.staged));
        }
    }
    for (auto const& arm : verdicts.control) {
        if (arm.staged.result == Result::skipped && !arm.staged.reason.empty()) {
            return "too little could run: " + arm.staged.reason;
        }
    }
    return "too little could run";
}

}  // namespace

bool is_bad(const PairVerdict& pair) {
    return has(pair, Result::wrong) || has(pair, Result::hang) || has(pair, Result::error) || misses_something(pair);
}

std::string status_word(const Examination& found) {
    auto const& pairs = found.verdicts.pairs;
    bool const no_claim = !pairs.empty() && std::none_of(pairs.begin(), pairs.end(), claimed);
    auto const* const word = to_string(found.verdicts.status);
    return found.verdicts.status == Health::healthy && no_claim ? fmt::format("{}, no peer access", word) : word;
}

std::string verdict_in_words(const Examination& found) {
    auto const& verdicts = found.verdicts;
    auto const all = verdicts.pairs.size();
    std::array<std::size_t, by_severity.size()> failures{};
    std::size_t right = 0, less = 0, denied = 0;
    for (auto const& pair : verdicts.pairs) {
        bool failed = false;
        for (std::size_t i = 0; i < by_severity.size() && !failed; ++i) {
            failed = has(pair, by_severity[i]);
            failures[i] += failed ? 1 : 0;
        }
        if (!failed) {
            right += proven(pair) ? 1 : 0;
            less += misses_something(pair) ? 1 : 0;
            denied += claimed(pair) ? 0 : 1;
        }
    }
    std::vector<std::string> parts;
    if (found.passive) {
        parts.push_back("nothing was moved, claims and counters read");
        parts.push_back(count_of(all - denied, all, "is claimed by the driver", "are claimed by the driver"));
    }
    if (all == 0 && verdicts.status != Health::inconclusive) {
        return "one device, no pair to prove";
    }
    std::size_t slow = 0;
    for (auto const& route : verdicts.routes) {
        slow += route.use == RouteVerdict::Use::staged && route.direct_gbs ? 1 : 0;
    }
    if (verdicts.status == Health::inconclusive) {
        parts.emplace_back(found.stopped_by != 0 ? "stopped by the user"
                           : all == 0            ? "nothing could be proven"
                                                 : why_inconclusive(verdicts));
    }
    if (failures[0] > 0) {
        parts.push_back(count_of(failures[0], all, "delivers wrong bytes", "deliver wrong bytes"));
    }
    if (failures[1] > 0) {
        parts.push_back(count_of(failures[1], all, "hangs", "hang"));
    }
    if (failures[2] > 0) {
        parts.push_back(count_of(failures[2], all, "fails with an error", "fail with an error"));
    }
    if (less > 0 && !found.passive) {
        parts.push_back(count_of(less, all, "has less than its claim", "have less than their claim"));
    }
    auto const bad_groups = std::count_if(verdicts.groups.begin(), verdicts.groups.end(), [&](const auto& group) {
        return collapsed(verdicts, group) ||
               (group.result != Result::ok && group.result != Result::skipped && group.result != Result::no);
    });
    if (bad_groups > 0) {
        parts.push_back(fmt::format("{} of {} groups of pairs are not right or collapse when they move together",
                                    bad_groups, verdicts.groups.size()));
    }
    if (slow > 0) {
        parts.push_back(fmt::format("{} data direction{} faster through the host", slow, slow == 1 ? " is" : "s are"));
    }
    if (denied > 0 && !found.passive) {
        parts.push_back(count_of(denied, all, "is not claimed by the driver", "are not claimed by the driver"));
    }
    if (denied < all && !found.passive) {
        parts.push_back(count_of(right, all, "proven right", "proven right"));
    }
    std::vector<std::string> codes;
    for (auto const& finding : verdicts.findings) {
        if (finding.severity != Finding::Severity::info && finding.code != "claim-broken" &&
            std::find(codes.begin(), codes.end(), finding.code) == codes.end()) {
            codes.push_back(finding.code);
        }
    }
    if (!codes.empty()) {
        parts.push_back(fmt::format("found {}", fmt::join(codes, ", ")));
    }
    if (!found.unexpected.empty()) {
        parts.push_back(fmt::format("differs from {} in {} way{}", found.expected, found.unexpected.size(),
                                    found.unexpected.size() == 1 ? "" : "s"));
    }
    if (!found.interrupted.empty()) {
        parts.push_back(fmt::format("{} step{} of an earlier run never came back", found.interrupted.size(),
                                    found.interrupted.size() == 1 ? "" : "s"));
    }
    if (!found.missing.empty()) {
        parts.push_back(fmt::format("required and missing: {}", names_text(found.missing)));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string ragged_size_text(std::uint64_t bytes) {
    for (auto const unit : {GiB, MiB, KiB}) {
        if (auto const rest = bytes % unit; bytes >= unit) {
            return rest == 0 || rest >= KiB ? size_text(bytes) : fmt::format("{} + {}", size_text(bytes - rest), rest);
        }
    }
    return size_text(bytes);
}

std::size_t pairs_proven(const Verdicts& verdicts) {
    return static_cast<std::size_t>(std::count_if(verdicts.pairs.begin(), verdicts.pairs.end(), proven));
}

std::string check_in_words(const CheckResult& check) {
    switch (check.result) {
        case Result::wrong: {
            std::string text = check.kind ? fmt::format("wrong bytes ({})", to_string(*check.kind)) : "wrong bytes";
            if (check.first_bad_offset) {
                text += fmt::format(", first bad offset {}", *check.first_bad_offset);
            }
            if (check.bad_bytes && check.at_bytes) {
                text += fmt::format(", {} bad of {}", *check.bad_bytes, ragged_size_text(*check.at_bytes));
            }
            return check.reason.empty() ? text : fmt::format("{}: {}", text, check.reason);
        }
        case Result::hang:
            return fmt::format("hangs{}{}{}", check.frozen ? ", cannot be ended" : "",
                               check.at_bytes ? fmt::format(" at {}", ragged_size_text(*check.at_bytes)) : "",
                               check.reason.empty() ? "" : ": " + check.reason);
        case Result::error:
            return fmt::format("error{}{}", check.code ? fmt::format(" {}", *check.code) : "",
                               check.reason.empty() ? "" : ": " + check.reason);
        default:
            return fmt::format("{}{}{}", to_string(check.result), check.reason.empty() ? "" : ": ", check.reason);
    }
}

void bad_pairs(Page& page, const Examination& found) {
    constexpr std::size_t most = 6;
    auto const groups = groups_of(found.verdicts);
    if (groups.empty()) {
        return;
    }
    page.heading("Pairs that are not right, accessor:owner");
    for (std::size_t i = 0; i < std::min(groups.size(), most); ++i) {
        page.item(fmt::format("{}  {}", names_text(groups[i].pairs), groups[i].able));
        page.detail(groups[i].failure);
        page.detail(groups[i].use);
    }
    if (groups.size() > most) {
        page.item(fmt::format("and {} more kinds of trouble, in the JSON", groups.size() - most));
    }
}

std::vector<std::string> next_commands(const Examination& found) {
    std::vector<std::string> commands;
    auto const bad = std::find_if(found.verdicts.pairs.begin(), found.verdicts.pairs.end(), is_bad);
    if (found.replayed) {
        return {};
    }
    if (bad != found.verdicts.pairs.end()) {
        commands.push_back(fmt::format("{} doctor --pair {}:{} --fresh", found.typed, bad->accessor, bad->owner));
        commands.push_back(fmt::format("{} copy {} {} 64MiB", found.typed, bad->accessor, bad->owner));
    }
    if (!found.interrupted.empty()) {
        commands.push_back(fmt::format("{} doctor --repeat-interrupted", found.typed));
    }
    if (found.verdicts.status != Health::healthy && found.recorded.empty()) {
        commands.push_back(fmt::format("{} doctor --record doctor.jsonl", found.typed));
    }
    return commands;
}

}  // namespace peerlane::cli
