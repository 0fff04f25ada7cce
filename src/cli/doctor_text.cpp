/// What the doctor found, for people: one screen for eight devices.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/units.hpp>

#include "cli/doctor.hpp"
#include "cli/doctor_pairs.hpp"
#include "cli/doctor_rates.hpp"
#include "cli/doctor_text.hpp"
#include "cli/page.hpp"
#include "report/standing.hpp"

namespace peerlane::cli {
namespace {

std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void head(Page& page, const Examination& found) {
    page.title(fmt::format("peerlane {} doctor: {}", found.version, fmt::join(marks_of(found), "; ")));
    page.line("Machine: " + machine_line(found));
}

const char* color_of(Health status) {
    return status == Health::healthy ? "32" : status == Health::degraded ? "33" : "31";
}

/// Red where nothing may be used or all that was claimed fails; without peer access by design the host is the way.
const char* color_of(report::Standing standing, const char* word) {
    switch (*word) {
        case 'o':
            return "32";
        case 'p':
            return "33";
        default:
            return standing == report::Standing::none || standing == report::Standing::bad ? "31" : nullptr;
    }
}

void matrix(Page& page, const Examination& found) {
    page.heading("Data, row > column (ok: every check right; part: partly usable; none: only through the host)");
    std::vector<std::vector<PageCell>> rows{{{"from"}}};
    for (auto const& device : found.machine.devices) {
        rows[0].push_back({fmt::format("{}", device.id)});
    }
    rows[0].push_back({"bus"});
    rows[0].push_back({"model"});
    for (auto const& from : found.machine.devices) {
        std::vector<PageCell> row{{fmt::format("gpu{}", from.id)}};
        for (auto const& to : found.machine.devices) {
            auto const* const word = from.id == to.id ? "." : report::word_of(found.verdicts, from.id, to.id);
            row.push_back({word, color_of(report::standing(found.verdicts, from.id, to.id), word)});
        }
        row.push_back({from.bus.value_or("-")});
        row.push_back({from.model.value_or("-")});
        rows.push_back(std::move(row));
    }
    page.grid(rows);
}

std::string pairs_text(const std::vector<std::pair<int, int>>& pairs) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(pairs.size(), most); ++i) {
        text += fmt::format("{}{}:{}", i == 0 ? "" : " ", pairs[i].first, pairs[i].second);
    }
    return pairs.size() > most ? fmt::format("{} and {} more", text, pairs.size() - most) : text;
}

void causes(Page& page, const Examination& found) {
    auto const& findings = found.verdicts.findings;
    if (findings.empty()) {
        return;
    }
    page.heading("Causes and circumstances");
    for (auto const& finding : findings) {
        auto const where = pairs_text(finding.pairs);
        std::size_t const most_evidence = finding.severity == Finding::Severity::info ? 2 : 5;
        page.item(
            fmt::format("{} {}{}{}", to_string(finding.severity), finding.code, where.empty() ? "" : ", ", where));
        for (std::size_t i = 0; i < std::min(finding.evidence.size(), most_evidence); ++i) {
            page.detail(finding.evidence[i]);
        }
        if (finding.evidence.size() > most_evidence) {
            page.detail(fmt::format("and {} more in the JSON", finding.evidence.size() - most_evidence));
        }
        if (!finding.cure.empty()) {
            page.detail("cure: " + finding.cure);
        }
    }
}

void soaked(Page& page, const Examination& found) {
    if (found.soak.asked_s > 0) {
        page.heading("Soak");
        for (auto const& line : soak_lines(found.soak)) {
            page.item(line);
        }
    }
}

void against(Page& page, const Examination& found) {
    if (found.expected.empty()) {
        return;
    }
    page.heading("Against " + found.expected);
    for (auto const& one : found.unexpected) {
        page.item(fmt::format("{}: {}", to_string(one.kind), one.text));
    }
    if (found.unexpected.empty()) {
        page.item("as expected");
    }
}

void next_steps(Page& page, const Examination& found) {
    auto const commands = next_commands(found);
    if (commands.empty() || found.machine.devices.empty()) {
        return;
    }
    page.heading("Next");
    for (auto const& command : commands) {
        page.command(command);
    }
}

std::string self_test_text(const Verdicts& verdicts) {
    if (verdicts.self_tests.empty()) {
        return "not part of this run";
    }
    std::size_t found = 0;
    std::string failure;
    for (auto const& test : verdicts.self_tests) {
        found += test.found.result == Result::ok ? 1 : 0;
        if (test.found.result != Result::ok && failure.empty()) {
            failure = fmt::format("; gpu{}: {}", test.device, check_in_words(test.found));
        }
    }
    if (found == verdicts.self_tests.size()) {
        return fmt::format("a wrong byte planted before each kind of verifier (owner's kernel, host) was found on {}",
                           found == 1 ? "the device" : fmt::format("all {} devices", found));
    }
    return fmt::format("{} of {} devices found what was planted{}", found, verdicts.self_tests.size(), failure);
}

std::string done_text(const Verdicts& verdicts) {
    std::size_t checks = 0;
    std::set<std::uint64_t> sizes;
    auto const count = [&](const CheckResult& check) {
        checks += check.result != Result::skipped ? 1 : 0;
        sizes.insert(check.sizes.begin(), check.sizes.end());
    };
    for (auto const& pair : verdicts.pairs) {
        for (auto const& check : pair.checks) {
            count(check);
        }
    }
    for (auto const& arm : verdicts.control) {
        count(arm.staged);
    }
    std::vector<std::string> words;
    for (auto const size : sizes) {
        words.push_back(ragged_size_text(size));
    }
    return fmt::format("{}, {}, {}1 pass", counted(verdicts.pairs.size(), "directed pair"), counted(checks, "check"),
                       words.empty() ? "" : fmt::format("sizes {}; ", fmt::join(words, ", ")));
}

std::string not_tested_text(const Examination& found) {
    if (found.passive) {
        return "everything that moves bytes";
    }
    std::vector<std::string> parts;
    if (found.soak.asked_s == 0) {
        parts = {"sustained load", "heat"};
    }
    parts.emplace_back("several processes at once");
    std::set<std::string> left_out;
    for (auto const check : all_checks) {
        auto const& pairs = found.verdicts.pairs;
        if (!pairs.empty() && std::all_of(pairs.begin(), pairs.end(), [&](const PairVerdict& pair) {
                return pair[check].result == Result::skipped && pair[Check::claim].result == Result::ok;
            })) {
            parts.emplace_back(to_string(check));
        }
    }
    for (auto const& pair : found.verdicts.pairs) {
        for (auto const& check : pair.checks) {
            if (check.result == Result::ok && !check.reason.empty()) {
                left_out.insert(check.reason);
            }
        }
    }
    if (!left_out.empty()) {
        parts.push_back(*left_out.begin());
    }
    if (found.verdicts.groups.empty()) {
        parts.emplace_back("pairs moving together");
    }
    auto text = fmt::format("{}", fmt::join(parts, ", "));
    if (!found.root_would_show.empty()) {
        text += fmt::format("; root would show: {}", fmt::join(found.root_would_show, ", "));
    }
    return text;
}

void last_lines(Page& page, const Examination& found) {
    page.heading("About this run");
    if (found.stopped_by != 0) {
        page.item("STOPPED by the user: what was not run is skipped");
    }
    for (auto const& notice : found.notices) {
        page.item("notice: " + notice);
    }
    page.item("self-test: " + self_test_text(found.verdicts));
    page.item("done: " + done_text(found.verdicts));
    page.item("not tested: " + not_tested_text(found));
    page.item(found.recorded.empty() ? "replay: run it with --record FILE, and FILE replays anywhere"
                                     : fmt::format("replay: peerlane --machine {} doctor", found.recorded));
}

}  // namespace

std::string machine_line(const Examination& found) {
    std::map<std::string, int> models;
    for (auto const& device : found.machine.devices) {
        ++models[device.model.value_or("GPU of unknown model")];
    }
    std::vector<std::string> parts;
    auto const& origin = found.machine.origin;
    if (!origin.name.empty()) {
        parts.push_back(origin.name);
    } else if (found.verdicts.simulated && !origin.files.empty()) {
        parts.push_back(std::filesystem::path(origin.files.front()).filename().string());
    }
    for (auto const& [model, count] : models) {
        parts.push_back(fmt::format("{} x {}", count, model));
    }
    std::set<std::string> paths;
    for (auto const& pair : found.machine.pairs) {
        paths.insert(path_word(pair));
    }
    if (!paths.empty()) {
        parts.push_back(fmt::format("{}", fmt::join(paths, " ")));
    }
    if (found.machine.origin.virtualized.value_or(false)) {
        parts.emplace_back("a guest's view");
    }
    return parts.empty() ? "no device" : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> marks_of(const Examination& found) {
    auto const& verdicts = found.verdicts;
    std::vector<std::string> parts{verdicts.simulated ? "SIMULATED, no real device is used" : "REAL HARDWARE"};
    if (found.seconds) {
        parts.push_back(seconds_text(*found.seconds));
    }
    parts.push_back(fmt::format("seed {}", verdicts.seed));
    if (found.quick) {
        parts.emplace_back("quick");
    }
    if (found.passive) {
        parts.emplace_back("passive");
    }
    if (found.replayed) {
        parts.push_back("REPLAYED from " + found.recorded + ", nothing was run");
    }
    if (found.from_cache) {
        parts.emplace_back("verdicts of an earlier run, one small check a pair agrees (--fresh proves again)");
    }
    return parts;
}

void details_page(Page& page, const Examination& found) {
    bad_pairs(page, found);
    if (!found.passive) {
        rates_of_paths(page, found);
    }
    soaked(page, found);
    against(page, found);
    next_steps(page, found);
    last_lines(page, found);
}

std::string doctor_text(const Examination& found, Format format, bool color) {
    Page page(format == Format::markdown, color);
    head(page, found);
    page.verdict(fmt::format("{}: {}", status_word(found), verdict_in_words(found)), color_of(found.verdicts.status));
    if (found.machine.devices.size() > 1 && !found.passive) {
        matrix(page, found);
    }
    if (!found.passive) {
        rates_of_paths(page, found);
    }
    bad_pairs(page, found);
    soaked(page, found);
    against(page, found);
    causes(page, found);
    next_steps(page, found);
    last_lines(page, found);
    return page.text();
}

}  // namespace peerlane::cli
