/// peerlane plan: which way bytes go, what else there was, and why; from measured costs.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <peerlane/mover.hpp>
#include <peerlane/named.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/units.hpp>

#include "cli/command.hpp"
#include "cli/plan_text.hpp"
#include "cli/profile_of.hpp"
#include "cli/status.hpp"
#include "cli/target.hpp"

namespace peerlane::cli {
namespace {

constexpr std::uint64_t most_touches = 1'000'000'000;
constexpr std::uint64_t most_scattered = 1 << 20;

struct Asked {
    std::vector<std::uint64_t> sizes{};
    bool access = false;  ///< in place or copied first
    int touches = 1;
    std::uint32_t scattered = 0;
    std::optional<std::uint64_t> capacity{};
    std::uint64_t page_bytes = 0;
    bool trust_claimed = false, nominal = false;
    std::string profile{};
};

std::uint64_t size_of(const std::string& what, const std::string& word) {
    auto const bytes = parse_size(word);
    if (!bytes || *bytes == 0) {
        throw UsageError(
            fmt::format("{} \"{}\" is no size: bytes, KiB MiB GiB or kB MB GB, as 256MiB, and not 0", what, word));
    }
    return *bytes;
}

std::uint32_t pattern_of(const std::string& word) {
    if (word == "coalesced") {
        return 0;
    }
    constexpr std::string_view scattered = "scattered:";
    if (word.rfind(scattered, 0) == 0) {
        auto const bytes = parse_size(word.substr(scattered.size()));
        if (bytes && *bytes > 0 && *bytes <= most_scattered) {
            return static_cast<std::uint32_t>(*bytes);
        }
    }
    throw UsageError(fmt::format("--pattern \"{}\": coalesced, or scattered:BYTES as scattered:4", word));
}

Asked understand_asked(const Given& given) {
    Asked asked;
    for (auto const& word : given.all("SIZE")) {
        asked.sizes.push_back(size_of("SIZE", word));
    }
    asked.access = given.has("--touches") || given.has("--pattern") || given.has("--capacity");
    asked.touches = static_cast<int>(whole_number("--touches", given.one("--touches").value_or("1"), 1, most_touches));
    asked.scattered = pattern_of(given.one("--pattern").value_or("coalesced"));
    if (auto const word = given.one("--capacity")) {
        auto const bytes = parse_size(*word);
        if (!bytes) {
            throw UsageError(fmt::format("--capacity \"{}\" is no size", *word));
        }
        asked.capacity = *bytes;
    }
    if (auto const word = given.one("--page-size")) {
        asked.page_bytes = size_of("--page-size", *word);
        for (auto const bytes : asked.sizes) {
            if (bytes % asked.page_bytes != 0) {
                throw UsageError(fmt::format("SIZE {} is no whole number of pages of {}", size_text(bytes),
                                             size_text(asked.page_bytes)));
            }
        }
        if (asked.access || given.has("--busy")) {
            throw UsageError("--page-size does not go with --touches, --pattern, --capacity or --busy");
        }
    }
    auto const trust = given.one("--trust").value_or("proven");
    if (trust != "proven" && trust != "claimed") {
        throw UsageError(fmt::format("--trust \"{}\": proven or claimed", trust));
    }
    asked.trust_claimed = trust == "claimed";
    asked.nominal = given.has("--nominal");
    asked.profile = given.one("--profile").value_or("");
    if (given.has("--profile") && (asked.profile.empty() || asked.nominal)) {
        throw UsageError(asked.nominal ? "--profile does not go with --nominal" : "--profile needs the name of a file");
    }
    return asked;
}

/// "0:1", "host:0", "0:host:1": data goes from the first to the second.
std::pair<Place, Place> busy_of(const Target& target, const std::string& word) {
    for (auto at = word.find(':'); at != std::string::npos; at = word.find(':', at + 1)) {
        if (parse_place(word.substr(0, at)) && parse_place(word.substr(at + 1))) {
            auto const from = place_of(target, "--busy", word.substr(0, at));
            auto const to = place_of(target, "--busy", word.substr(at + 1));
            if (from != to && (from.is_device() || to.is_device())) {
                return {from, to};
            }
        }
    }
    throw UsageError(fmt::format("--busy \"{}\": two places, data from the first to the second, as 0:1", word));
}

/// What legs cost, and what is proven; in people's numbers.
struct Ground {
    Profile profile{};
    Verdicts verdicts{};
    std::string costs{};
    std::string words{};
};

Ground ground_of(Context& context, Target& target, const Asked& asked) {
    Ground ground;
    if (asked.nominal) {
        if (!asked.trust_claimed) {
            throw UsageError("--nominal measures and proves nothing: it goes with --trust claimed");
        }
        return {{}, {}, "nominal", "Costs are nominal: nothing was measured, as asked with --nominal."};
    }
    if (!asked.profile.empty()) {
        ground.profile = read_profile_json(read_input(asked.profile), asked.profile);
        ground.verdicts = proven_by(ground.profile);
        ground.costs = "given";
        ground.words = fmt::format("Costs are those of {}{}.", asked.profile,
                                   ground.profile.key.empty() ? "" : ", profile " + ground.profile.key.substr(0, 8));
        return ground;
    }
    auto found = profile_of(context, target, {});
    for (auto const& notice : found.notices) {
        complain(fmt::format("peerlane: {}", notice));
    }
    if (found.stopped_by != 0) {
        throw NothingRuns("stopped while measuring: nothing was planned");
    }
    ground.verdicts = found.verdicts ? *std::move(found.verdicts) : proven_by(found.profile);
    ground.profile = std::move(found.profile);
    ground.costs = found.from_cache ? "stored" : "measured";
    ground.words =
        fmt::format("Costs are measured{}: profile {}{}.", found.from_cache ? " and were stored" : "",
                    ground.profile.key.substr(0, 8), ground.profile.complete ? "" : ", which is not complete");
    return ground;
}

PlanRecord record_of(const Target& target, const Given& given, const Asked& asked, Place from, Place to,
                     const Ground& ground) {
    PlanRecord record;
    record.plan.request = {from, to, asked.sizes};
    record.simulated = target.simulated.has_value();
    record.machine = target.driver->description();
    record.costs = ground.costs;
    record.profile_key = ground.profile.key;
    record.trust_claimed = asked.trust_claimed;
    if (asked.page_bytes != 0) {
        Ready ready{target.whole, ground.verdicts, asked.trust_claimed, ground.profile};
        Mover const mover(*target.driver, std::move(ready));
        for (auto const bytes : asked.sizes) {
            record.plan.choices.push_back(mover.choose_pages(from, to, bytes, asked.page_bytes));
        }
        return record;
    }
    PlannerOptions options;
    options.trust_claimed = asked.trust_claimed;
    for (auto const& word : given.all("--busy")) {
        options.busy.push_back(busy_of(target, word));
    }
    record.busy = options.busy;
    Planner const planner(target.whole, ground.verdicts, ground.profile, options);
    if (!asked.access) {
        record.plan = planner.plan(record.plan.request);
        record.ranges = planner.ranges(from, to);
        return record;
    }
    AccessRequest request{to.index, from, 0, asked.touches, asked.scattered, asked.capacity};
    for (auto const bytes : asked.sizes) {
        request.bytes = bytes;
        record.plan.choices.push_back(planner.access(request));
    }
    record.access = request;
    return record;
}

Status run(Context& context) {
    auto const asked = understand_asked(context.given);
    auto target = open_target(context.globals);
    need_driver(target);
    auto const from = place_of(target, "SRC", context.given.one("SRC").value_or(""));
    auto const to = place_of(target, "DST", context.given.one("DST").value_or(""));
    if (from == to) {
        throw UsageError(fmt::format("nothing to move: SRC and DST are both {}", to_string(from)));
    }
    if (from.is_host() && to.is_host()) {
        throw UsageError("SRC and DST are both the host's: no device takes part");
    }
    if (asked.access && !to.is_device()) {
        throw UsageError("--touches, --pattern and --capacity ask about kernels of DST, which has to be a device");
    }
    for (auto const& word : context.given.all("--busy")) {
        (void)busy_of(target, word);
    }
    auto const ground = ground_of(context, target, asked);
    PlanRecord record;
    try {
        record = record_of(target, context.given, asked, from, to, ground);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
    auto const document = plan_json(record);
    auto const format = context.globals.format;
    if (format == Format::json) {
        context.out.print(document);
    } else {
        Page page(format == Format::markdown, context.out.color());
        auto const head = headline(target);
        page.line(head.substr(0, head.find('\n')));
        page.line(ground.words);
        if (asked.trust_claimed) {
            page.line("The driver's claim is trusted where nothing was proven, as asked with --trust claimed.");
        }
        plan_page(page, record);
        context.out.print(page.text());
    }
    context.out.save(document);
    auto const& choices = record.plan.choices;
    auto const any = std::any_of(choices.begin(), choices.end(), [](const Choice& choice) {
        return !choice.routes.empty() || choice.access == "remote";
    });
    return any ? good : inconclusive;
}

}  // namespace

Command plan_command() {
    return {"plan",
            "says which way bytes go, how long that takes, what the next best is, and why",
            {{"SRC", "where the bytes are: 0, gpu0, host, host:1"},
             {"DST", "where they go, or whose kernels read them"},
             {"SIZE", "bytes, or KiB MiB GiB, or kB MB GB; one choice for each", true}},
            {{"--touches", "N", "kernels of DST read each byte N times: says remote, copy or keep"},
             {"--pattern", "coalesced|scattered:BYTES", "how they read"},
             {"--capacity", "SIZE", "room at DST for a copy that stays"},
             {"--page-size", "SIZE", "the bytes are scattered pages of this size"},
             {"--busy", "A:B", "something else moves data from A to B all the time", true},
             {"--profile", "FILE", "costs of this profile instead of the stored one or of measuring now"},
             {"--nominal", "", "nominal costs, nothing is measured; with --trust claimed"},
             {"--trust", "claimed", "believes the driver where nothing was proven"}},
            {Format::table, Format::json, Format::markdown},
            run};
}

}  // namespace peerlane::cli
