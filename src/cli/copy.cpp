/// peerlane copy: proves the pair, plans, moves, and has the owner of the destination check every byte.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/named.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/prove.hpp>
#include <peerlane/transfer.hpp>
#include <peerlane/units.hpp>

#include "cli/command.hpp"
#include "cli/profile_of.hpp"
#include "cli/proof_text.hpp"
#include "cli/status.hpp"
#include "cli/target.hpp"

namespace peerlane::cli {
namespace {

constexpr std::uint64_t most_repetitions = 10'000;

struct Asked {
    Place from, to;
    std::uint64_t bytes = 0;
    RoutePolicy policy = RoutePolicy::automatic;
    std::optional<std::string> over{};  ///< device that relays, as typed
    std::optional<int> relay{};
    bool trust_claimed = false;
    int repetitions = 1;
    std::uint64_t page_bytes = 0;  ///< 0: in one piece
    std::string profile{};         ///< a file; empty: the stored one, where one holds
};

RoutePolicy policy_of(const std::string& word) {
    if (word == "auto") {
        return RoutePolicy::automatic;
    }
    if (word == "direct") {
        return RoutePolicy::direct;
    }
    if (word == "staged") {
        return RoutePolicy::staged;
    }
    if (word == "split") {
        return RoutePolicy::split;
    }
    if (word.rfind("relay:", 0) == 0) {
        return RoutePolicy::relay;
    }
    throw UsageError(fmt::format("--route \"{}\": auto, direct, staged, split, or relay:2 over device 2", word));
}

std::uint64_t size_of(const std::string& word) {
    auto const bytes = parse_size(word);
    if (!bytes) {
        throw UsageError(
            fmt::format("SIZE \"{}\" is no size; sizes are bytes, KiB MiB GiB or kB MB GB, as 256MiB", word));
    }
    if (*bytes == 0) {
        throw UsageError("SIZE 0: nothing to move");
    }
    return *bytes;
}

/// Checking costs a launch a page.
constexpr std::uint64_t most_pages = 4'000'000;

std::uint64_t page_size_of(const Given& given, std::uint64_t bytes) {
    auto const word = given.one("--page-size");
    if (!word) {
        return 0;
    }
    auto const page = parse_size(*word);
    if (!page || *page == 0) {
        throw UsageError(fmt::format("--page-size \"{}\" is no size: bytes or KiB, as 16KiB", *word));
    }
    if (bytes % *page != 0) {
        throw UsageError(fmt::format("SIZE {} is no whole number of pages of {}", size_text(bytes), size_text(*page)));
    }
    if (bytes / *page > most_pages) {
        throw UsageError(fmt::format("{} pages: at most {}", bytes / *page, most_pages));
    }
    if (given.one("--route").value_or("auto") != "auto") {
        throw UsageError("--page-size goes with --route auto: what is proven decides how pages move");
    }
    return *page;
}

/// What holds without a driver. Places are people's.
Asked understand_asked(const Given& given) {
    Asked asked;
    asked.bytes = size_of(given.one("SIZE").value_or(""));
    auto const route = given.one("--route").value_or("auto");
    asked.policy = policy_of(route);
    if (asked.policy == RoutePolicy::relay) {
        asked.over = route.substr(route.find(':') + 1);
    }
    asked.page_bytes = page_size_of(given, asked.bytes);
    auto const trust = given.one("--trust").value_or("proven");
    if (trust != "proven" && trust != "claimed") {
        throw UsageError(fmt::format("--trust \"{}\": proven or claimed", trust));
    }
    asked.trust_claimed = trust == "claimed";
    asked.profile = given.one("--profile").value_or("");
    if (given.has("--profile") && asked.profile.empty()) {
        throw UsageError("--profile needs the name of a file");
    }
    asked.repetitions =
        static_cast<int>(whole_number("--repeat", given.one("--repeat").value_or("1"), 1, most_repetitions));
    return asked;
}

void understand_places(Asked& asked, const Given& given, const Target& target) {
    asked.from = place_of(target, "SRC", given.one("SRC").value_or(""));
    asked.to = place_of(target, "DST", given.one("DST").value_or(""));
    if (asked.from == asked.to) {
        throw UsageError(fmt::format("nothing to move: SRC and DST are both {}", to_string(asked.from)));
    }
    if (asked.from.is_host() && asked.to.is_host()) {
        throw UsageError("SRC and DST are both the host's: no device takes part");
    }
    if (asked.over) {
        auto const middle = place_of(target, "--route relay", *asked.over);
        if (!middle.is_device() || middle == asked.from || middle == asked.to) {
            throw UsageError(fmt::format("--route relay:{}: a third device relays", *asked.over));
        }
        asked.relay = middle.index;
    }
    for (auto const place : {asked.from, asked.to}) {
        if (!place.is_device()) {
            continue;
        }
        auto const room = target.driver->capabilities(target.numbering.ordinal(place.index)).memory_bytes;
        if (asked.bytes > room) {
            throw UsageError(fmt::format("SIZE {}: more than the memory of {}, {}", size_text(asked.bytes),
                                         to_string(place), size_text(room)));
        }
    }
}

std::vector<int> devices_of(const Asked& asked) {
    std::vector<int> devices;
    for (auto const place : {asked.from, asked.to}) {
        if (place.is_device()) {
            devices.push_back(place.index);
        }
    }
    std::sort(devices.begin(), devices.end());
    return devices;
}

/// Both directions of the pair, and of what joins its devices with the one that relays, in the driver's numbers.
Verdicts prove_pair(Context& context, const Target& target, const Machine& machine, const Asked& asked) {
    auto const from = target.numbering.ordinal(asked.from.index);
    auto const to = target.numbering.ordinal(asked.to.index);
    prove::ProveOptions options;
    options.pairs = {{from, to}, {to, from}};
    if (asked.relay) {
        auto const over = target.numbering.ordinal(*asked.relay);
        options.pairs.insert(options.pairs.end(), {{from, over}, {over, from}, {over, to}, {to, over}});
    }
    options.seed = target.seed;
    options.simulated = target.simulated.has_value();
    options.begin = [&](const prove::ProbeStep& step) { context.out.progress("proving " + prove::describe(step)); };
    auto const prober = prober_of(target, context.globals);
    try {
        return prove::prove(*prober, machine, options);
    } catch (const Error& error) {
        throw NothingRuns(fmt::format("the pair could not be proven: {}", error.what()));
    }
}

/// Why nothing can be told of this direction; empty when something can.
std::string untellable(const Verdicts& verdicts, Place from, Place to) {
    auto const* const control = verdicts.control_of(from.index, to.index);
    if (control == nullptr || control->staged.result == Result::ok) {
        return "";
    }
    return fmt::format("the copy through the host, which everything is compared with, is not right: {}",
                       check_text(control->staged));
}

std::string rate_text(double seconds, double gbs) {
    return fmt::format("{:>6} GB/s, {}", gbs_text(gbs), seconds_text(seconds));
}

std::string report_text(const TransferReport& report, const Asked& asked) {
    auto text =
        fmt::format("Copy of {}{} from {} to {}: ", size_text(report.bytes),
                    asked.page_bytes == 0 ? "" : fmt::format(" in scattered pages of {}", size_text(asked.page_bytes)),
                    to_string(asked.from), to_string(asked.to));
    switch (report.result) {
        case TransferReport::Outcome::ok:
            text += fmt::format("verified, every byte checked by {}\n",
                                asked.to.is_device() ? to_string(asked.to) : std::string("the host"));
            break;
        case TransferReport::Outcome::wrong:
            text += fmt::format("WRONG bytes ({}), first at offset {}, {} of {} bad\n", to_string(report.wrong->kind),
                                report.wrong->first_bad_offset, report.wrong->bad_bytes, report.bytes);
            break;
        case TransferReport::Outcome::hang:
            text += fmt::format("HANG: {}\n", report.message);
            break;
        case TransferReport::Outcome::error:
            text += fmt::format("FAILED: {}\n", report.message);
            break;
    }
    if (report.seconds && report.gbs) {
        text += fmt::format("  achieved  {}{}\n", rate_text(*report.seconds, *report.gbs),
                            report.repetitions > 1 ? fmt::format(" (median of {})", report.repetitions) : "");
    }
    if (!report.plan.routes.empty() && report.plan.predicted_s > 0) {
        text += fmt::format(
            "  predicted {}{}\n", rate_text(report.plan.predicted_s, report.plan.predicted_gbs),
            report.seconds ? fmt::format("; achieved is {:.2f} times that", report.plan.predicted_s / *report.seconds)
                           : "");
    }
    return text;
}

/// Indented lines become a list, what they belong to a paragraph.
std::string as_markdown(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = text.find('\n', at);
        auto const line = text.substr(at, end - at);
        out += line.rfind("  ", 0) == 0 ? "- " + line.substr(line.find_first_not_of(' ')) + "\n" : line + "\n\n";
        at = end + 1;
    }
    return out;
}

/// Prints section by section in the formats for people; the document goes out at the end.
class Story {
  public:
    explicit Story(Context& context) : context_(context) {}
    void tell(const std::string& text) {
        auto const format = context_.globals.format;
        if (format == Format::table || format == Format::markdown) {
            context_.out.print((first_ ? "" : "\n") + (format == Format::table ? text : as_markdown(text)));
            first_ = false;
        }
    }
    void end(const TransferReport& report, const Asked& asked) {
        auto const document = transfer_json(report, {asked.from, asked.to, {asked.bytes}});
        if (context_.globals.format == Format::json) {
            context_.out.print(document);
        }
        context_.out.save(document);
    }

  private:
    Context& context_;
    bool first_ = true;
};

/// What legs cost, in people's numbers; `words` are empty where nothing was measured.
struct Costs {
    Profile profile{};
    std::string words{};
};

Costs costs_of(Context& context, const Target& target, const Asked& asked) {
    if (!asked.profile.empty()) {
        return {read_profile_json(read_input(asked.profile), asked.profile),
                fmt::format("costs are those of {}", asked.profile)};
    }
    auto kept = kept_profile(context, target);
    for (auto const& notice : kept.notices) {
        complain(fmt::format("peerlane: {}", notice));
    }
    if (!kept.profile) {
        return {};
    }
    auto words = fmt::format("costs were measured on this machine and stored: profile {}{}",
                             kept.profile->key.substr(0, 8), kept.profile->quick ? ", a quick one" : "");
    return {*std::move(kept.profile), std::move(words)};
}

Choice choice_of(const Target& target, const Asked& asked, const Verdicts* proven, const Costs& costs) {
    auto const verdicts = proven != nullptr ? *proven : Verdicts{};
    Choice choice;
    if (asked.page_bytes != 0) {
        Mover const mover(*target.driver, {target.whole, verdicts, asked.trust_claimed, costs.profile});
        choice = mover.choose_pages(asked.from, asked.to, asked.bytes, asked.page_bytes);
    } else {
        PlannerOptions options;
        options.trust_claimed = asked.trust_claimed;
        try {
            Planner const planner(target.whole, verdicts, costs.profile, options);
            choice = planner.explain(asked.from, asked.to, asked.bytes, asked.policy, asked.relay);
        } catch (const std::invalid_argument& error) {
            throw UsageError(error.what());
        }
    }
    if (!costs.words.empty()) {
        choice.reasons.push_back({costs.words, {}});
        choice.why.push_back(costs.words);
    }
    return choice;
}

TransferReport nothing_moved(const Target& target, const Asked& asked, Choice choice, std::string why) {
    TransferReport report;
    report.simulated = target.simulated.has_value();
    report.machine = target.driver->description();
    report.bytes = asked.bytes;
    report.message = std::move(why);
    report.plan = std::move(choice);
    report.repetitions = asked.repetitions;
    return report;
}

TransferReport carry_out(const Target& target, const Ready& ready, const Choice& choice, const Asked& asked) {
    try {
        auto report = verified_copy(*target.driver, ready, target.numbering.to_driver(choice),
                                    target.numbering.to_driver(asked.from), target.numbering.to_driver(asked.to),
                                    target.seed, asked.repetitions, 30, asked.page_bytes);
        report.plan = choice;
        return report;
    } catch (const Error& error) {
        if (error.code() == code::out_of_memory) {
            throw NothingRuns(fmt::format("no room for two buffers of {}: {}", size_text(asked.bytes), error.what()));
        }
        throw;
    }
}

Status run(Context& context) {
    auto asked = understand_asked(context.given);
    auto const target = open_target(context.globals);
    if (target.simulated || target.driver) {  // else the reason why there is none comes first
        if (!target.driver) {
            throw UsageError(fmt::format("SRC {}: {}", context.given.one("SRC").value_or(""), target.reason));
        }
        understand_places(asked, context.given, target);
    }
    need_driver(target);
    Story story(context);
    story.tell(headline(target) + device_lines(target, devices_of(asked)));

    Ready ready{target.numbering.to_driver(target.whole), {}, asked.trust_claimed};
    std::optional<Verdicts> proven;  // in people's numbers
    bool const has_pair = asked.from.is_device() && asked.to.is_device();
    if (has_pair && !asked.trust_claimed) {
        ready.verdicts = prove_pair(context, target, ready.machine, asked);
        proven = target.numbering.to_people(ready.verdicts);
        story.tell(proof_text(*proven));
    } else if (has_pair) {
        story.tell("Nothing was proven: the driver's claim is trusted, as asked with --trust claimed.\n");
    }

    auto const choice = choice_of(target, asked, proven ? &*proven : nullptr, costs_of(context, target, asked));
    auto why_not = proven ? untellable(*proven, asked.from, asked.to) : std::string();
    if (why_not.empty() && choice.routes.empty()) {
        why_not = choice.why.empty() ? "no way joins these places" : choice.why.front();
    }
    Plan const plan{{asked.from, asked.to, {asked.bytes}}, {choice}};
    story.tell("Plan: " + plan.explain());
    if (!why_not.empty()) {
        story.tell(fmt::format("Nothing was moved: {}.\n", why_not));
        story.end(nothing_moved(target, asked, choice, why_not), asked);
        return inconclusive;
    }
    context.out.progress("copying");
    auto const report = carry_out(target, ready, choice, asked);
    story.tell(report_text(report, asked));
    story.end(report, asked);
    if (report.result == TransferReport::Outcome::hang && !target.simulated) {
        leave_at_once(broken);  // giving the device back would wait for what hangs
    }
    if (!report.verified) {
        return broken;
    }
    return proven && any_check_failed(*proven) ? degraded : good;
}

}  // namespace

Command copy_command() {
    return {"copy",
            "proves the pair, moves bytes, verifies them, prints achieved against predicted",
            {{"SRC", "where the bytes are: 0, gpu0, host, host:1"},
             {"DST", "where they go"},
             {"SIZE", "bytes, or KiB MiB GiB, or kB MB GB"}},
            {{"--route", "auto|direct|staged|split|relay:N", "the way to take"},
             {"--trust", "claimed", "skips the proof and believes the driver"},
             {"--page-size", "SIZE", "moves scattered pages of this size instead of one piece"},
             {"--profile", "FILE", "costs of this profile instead of the stored one"},
             {"--repeat", "N", "moves N times and reports the median"}},
            {Format::table, Format::json, Format::markdown},
            run};
}

}  // namespace peerlane::cli
