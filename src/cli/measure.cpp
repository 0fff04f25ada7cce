/// peerlane measure: what this machine really does, measured and kept.

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "cli/command.hpp"
#include "cli/measure_text.hpp"
#include "cli/page.hpp"
#include "cli/profile_of.hpp"
#include "cli/status.hpp"
#include "cli/target.hpp"

namespace peerlane::cli {
namespace {

ProfileAsked understand_asked(const Given& given) {
    ProfileAsked asked;
    asked.quick = given.has("--quick");
    asked.fresh = given.has("--fresh");
    asked.show = given.has("--show");
    if (asked.show && (asked.quick || asked.fresh)) {
        throw UsageError("--show measures nothing: it does not go with --quick or --fresh");
    }
    if (auto const cache = given.one("--cache")) {
        if (cache->empty()) {
            throw UsageError("--cache needs the name of a file");
        }
        asked.cache = *cache;
    }
    return asked;
}

std::string how(const ProfileFound& found) {
    auto const& profile = found.profile;
    if (found.stopped_by != 0 && profile.legs.empty()) {
        return "stopped before anything was measured";
    }
    auto text = std::string(profile.quick ? "quick measurement" : "full measurement");
    if (found.from_cache) {
        text += ", stored";
        text += profile.taken_at.empty() ? "" : " " + profile.taken_at;
        text += " (--fresh measures again)";
    } else {
        text += fmt::format(", {} of {}", seconds_text(found.seconds),
                            profile.simulated ? "the machine's own time" : "measuring");
    }
    return text + (profile.complete ? "" : "; NOT COMPLETE");
}

std::string text_of(const Target& target, const ProfileFound& found, Format format, bool color) {
    Page page(format == Format::markdown, color);
    auto const lines = [&page](const std::string& text) {
        for (std::size_t at = 0; at < text.size();) {
            auto const end = text.find('\n', at);
            page.line(text.substr(at, end - at));
            at = end + 1;
        }
    };
    lines(headline(target));
    std::vector<int> devices;
    for (auto const& device : target.machine.devices) {
        devices.push_back(device.id);
    }
    lines(device_lines(target, devices));
    page.line(fmt::format("Profile {}: {}.", found.profile.key.substr(0, 8), how(found)));
    profile_page(page, found.profile);
    if (!found.profile.notices.empty()) {
        page.heading("Not measured");
        for (auto const& notice : found.profile.notices) {
            page.item(notice);
        }
    }
    return page.text();
}

Status exit_status(const ProfileFound& found) {
    auto const& profile = found.profile;
    if (found.stopped_by != 0) {
        return static_cast<Status>(128 + found.stopped_by);
    }
    if (!profile.complete) {
        return broken;
    }
    return profile.legs.empty() ? inconclusive : profile.notices.empty() ? good : degraded;
}

Status run(Context& context) {
    auto const asked = understand_asked(context.given);
    auto target = open_target(context.globals);
    if (!asked.show) {
        need_driver(target);
    }
    auto const found = profile_of(context, target, asked);
    for (auto const& notice : found.notices) {
        complain(fmt::format("peerlane: {}", notice));
    }
    auto const document = profile_json(found.profile);
    auto const format = context.globals.format;
    context.out.print(format == Format::json ? document : text_of(target, found, format, context.out.color()));
    context.out.save(document);
    auto const status = exit_status(found);
    if (found.lost && !target.simulated) {
        leave_at_once(status);  // giving the devices back would wait for what hangs
    }
    return status;
}

}  // namespace

Command measure_command() {
    return {"measure",
            "measures what each proven leg costs, alone and beside others, and keeps it",
            {},
            {{"--quick", "", "fewer sizes, samples and groups: under 2 seconds for two devices"},
             {"--show", "", "prints the stored profile and measures nothing"},
             {"--fresh", "", "measures although a stored profile still holds"},
             {"--cache", "FILE", "keeps the profile there instead of in the user's cache"}},
            {Format::table, Format::json, Format::markdown},
            run};
}

}  // namespace peerlane::cli
