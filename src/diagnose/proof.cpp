/// Causes that the verdicts themselves tell: what was claimed and is not so, and who said no.

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include <peerlane/error.hpp>

#include "diagnose/context.hpp"

namespace peerlane::causes {
namespace {

/// "push=wrong(flip), first bad offset 0, from 8 bytes on".
std::string told(Check check, const CheckResult& result) {
    auto text = fmt::format("{}={}", to_string(check), to_string(result.result));
    if (result.kind) {
        text += fmt::format("({})", to_string(*result.kind));
    }
    if (result.code) {
        text += fmt::format(" code {} ({})", *result.code, code_text(*result.code));
    }
    if (result.frozen) {
        text += ", its process could not be ended";
    }
    if (result.first_bad_offset) {
        text += fmt::format(", first bad offset {}", *result.first_bad_offset);
    }
    if (result.at_bytes) {
        text += fmt::format(", from {} bytes on", *result.at_bytes);
    }
    return text;
}

/// Wrong bytes where the same bytes are wrong through the host too tell nothing about the direct path.
bool inconclusive(const Context& context, const PairVerdict& pair, Check check) {
    auto const back = check == Check::pull || check == Check::load;
    auto const* const control = back ? context.verdicts.control_of(pair.owner, pair.accessor)
                                     : context.verdicts.control_of(pair.accessor, pair.owner);
    return pair[check].result == Result::wrong && control != nullptr && failed(control->staged);
}

/// Lines of evidence with the pairs that share them, in the order of first appearance.
class Lines {
  public:
    void add(const std::string& line, DirectedPair pair) {
        auto const [at, fresh] = index_.emplace(line, lines_.size());
        if (fresh) {
            lines_.push_back({line, {}});
        }
        lines_[at->second].second.push_back(pair);
    }
    [[nodiscard]] std::vector<std::string> text() const {
        std::vector<std::string> all;
        for (auto const& [line, pairs] : lines_) {
            all.push_back(fmt::format("verdict: {} ({})", line, list(pairs)));
        }
        return all;
    }
    [[nodiscard]] Pairs pairs() const {
        Pairs all;
        for (auto const& line : lines_) {
            all.insert(all.end(), line.second.begin(), line.second.end());
        }
        return all;
    }
    [[nodiscard]] bool empty() const { return lines_.empty(); }

  private:
    std::map<std::string, std::size_t> index_;
    std::vector<std::pair<std::string, Pairs>> lines_;
};

bool no_slot(const PairVerdict& pair) {
    auto const& map = pair[Check::map];
    auto const lost = [](const MappingWay& way) { return way.way == "together" && way.result == Result::no; };
    return (map.code == code::too_many_peers && map.result != Result::ok) ||
           std::any_of(map.ways.begin(), map.ways.end(), lost);
}

void claims_and_maps(const Context& context, Findings& findings) {
    Lines broken, refused;
    for (auto const& pair : context.verdicts.pairs) {
        DirectedPair const ends{pair.accessor, pair.owner};
        auto const claimed = pair[Check::claim].result == Result::ok;
        if (failed(pair[Check::claim])) {
            broken.add(told(Check::claim, pair[Check::claim]), ends);
        }
        for (auto const check : all_checks) {
            if (!claimed || !failed(pair[check]) || inconclusive(context, pair, check) || no_slot(pair)) {
                continue;
            }
            (check == Check::map && pair[check].result == Result::error ? refused : broken)
                .add(told(check, pair[check]), ends);
        }
    }
    for (auto const& group : context.verdicts.groups) {
        auto const alone = std::none_of(group.pairs.begin(), group.pairs.end(),
                                        [&](const DirectedPair& pair) { return context.broken(pair); });
        if (alone && (group.result == Result::wrong || group.result == Result::hang || group.result == Result::error)) {
            for (auto const& pair : group.pairs) {
                broken.add(fmt::format("{} pairs at once: {}, each of them alone is right", group.pairs.size(),
                                       to_string(group.result)),
                           pair);
            }
        }
    }
    if (!broken.empty()) {
        findings.add("claim-broken", broken.pairs(), broken.text(),
                     "these checks are not used; data goes through the host instead. The causes beside this one say "
                     "what to change; prove again afterwards");
    }
    if (!refused.empty()) {
        findings.add("enable-refused", refused.pairs(), refused.text(),
                     "use a driver, or a build of the kernel module, that fits this part; until then data goes through "
                     "the host");
    }
}

std::string meaning(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> meanings{
        {{"CNS", "chipset not supported"},
         {"GNS", "GPU not supported"},
         {"TNS", "topology not supported"},
         {"NS", "not supported"},
         {"DR", "disabled by a registry key"},
         {"U", "unknown"}}};
    for (auto const& [known, text] : meanings) {
        if (known == word) {
            return std::string(text);
        }
    }
    return "word not known";
}

std::string cure_of_refusal(const std::set<std::string>& words) {
    std::string cure;
    auto const say = [&](const char* sentence) { cure += (cure.empty() ? "" : ". ") + std::string(sentence); };
    if (words.count("CNS") + words.count("GNS") + words.count("NS") != 0) {
        say("CNS, GNS and NS: a table in the driver decides; BAR size, IOMMU and ACS cannot change it, nothing is to "
            "be "
            "set");
    }
    if (words.count("TNS") != 0) {
        say("TNS: put the two devices into slots below one host bridge");
    }
    if (words.count("DR") != 0) {
        say("DR: look for a registry key in /proc/driver/nvidia/params and take it out");
    }
    if (cure.empty()) {
        say("the driver gives no reason; see the causes beside this one, if any");
    }
    return cure + ". Data goes through the host";
}

void refusals(const Context& context, Findings& findings) {
    Lines lines;
    std::set<std::string> words;
    for (auto const& pair : context.verdicts.pairs) {
        if (pair[Check::claim].result != Result::no) {
            continue;
        }
        DirectedPair const ends{pair.accessor, pair.owner};
        std::string reasons;
        auto const said = context.words(ends);
        auto const add = [&](const char* what, const std::optional<std::string>& word) {
            if (word && *word != "OK") {
                reasons += fmt::format(", {} {} ({})", what, *word, meaning(*word));
                words.insert(*word);
            }
        };
        add("read", said.read);
        add("write", said.write);
        add("NVLink", said.nvlink);
        add("atomics", said.atomics);
        lines.add("claim=no" + (reasons.empty() ? "" : "; management library:" + reasons.substr(1)), ends);
    }
    if (!lines.empty()) {
        findings.add("peer-refused", lines.pairs(), lines.text(), cure_of_refusal(words));
    }
}

void one_way(const Context& context, Findings& findings) {
    Pairs pairs;
    for (auto const& pair : context.verdicts.pairs) {
        auto const* const back = context.verdicts.pair(pair.owner, pair.accessor);
        if (back != nullptr && pair[Check::claim].result == Result::no && (*back)[Check::claim].result == Result::ok) {
            pairs.emplace_back(pair.accessor, pair.owner);
        }
    }
    if (pairs.empty()) {
        return;
    }
    std::vector<std::string> evidence;
    for (auto const& [accessor, owner] : pairs) {
        evidence.push_back(fmt::format("verdict: {0}:{1} claim=no, {1}:{0} claim=ok", accessor, owner));
    }
    findings.add(
        "one-way-access", pairs, std::move(evidence),
        "push or pull over the direction that is open, or go through the host; both ends must choose the same");
}

/// Places for peers: who has none left, and whether others hold them.
void places(const Context& context, Findings& findings) {
    constexpr int usual_places = 8;
    Pairs own, foreign;
    std::vector<std::string> own_lines, foreign_lines;
    for (auto const accessor : context.ids()) {
        Pairs refused;
        int enabled = 0;
        for (auto const& pair : context.verdicts.pairs) {
            if (pair.accessor == accessor) {
                if (!no_slot(pair)) {
                    enabled += pair[Check::map].result == Result::ok ? 1 : 0;
                } else {
                    refused.emplace_back(pair.accessor, pair.owner);
                }
            }
        }
        if (refused.empty()) {
            continue;
        }
        auto const line = fmt::format(
            "verdict: enabling answers 711 (no place for another peer) for {}; {} of device {} "
            "enabled before",
            list(refused), enabled, accessor);
        std::vector<std::string> users;
        for (auto const& user : context.facts.process.device_users) {
            if (user.bus == context.bus(accessor)) {
                users.push_back(fmt::format("management library: {} process {} on {}", user.kind, user.process,
                                            context.label(accessor)));
            }
        }
        auto const held = enabled < usual_places && !users.empty();
        auto& lines = held ? foreign_lines : own_lines;
        lines.push_back(line);
        if (held) {
            lines.insert(lines.end(), users.begin(), users.end());
        }
        auto& pairs = held ? foreign : own;
        pairs.insert(pairs.end(), refused.begin(), refused.end());
    }
    if (!own.empty()) {
        findings.add("peer-limit", own, own_lines,
                     "enable on demand and keep to a budget; the pairs without a place go through the host");
    }
    if (!foreign.empty()) {
        findings.add("foreign-peer-holder", foreign, foreign_lines,
                     "end the processes that hold the places, or budget for them");
    }
}

}  // namespace

void proof(const Context& context, Findings& findings) {
    claims_and_maps(context, findings);
    refusals(context, findings);
    one_way(context, findings);
    places(context, findings);
}

}  // namespace peerlane::causes
