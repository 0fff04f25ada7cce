/// peerlane compare: many nodes that should be alike, from their saved or recorded documents.

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/compare.hpp>
#include <peerlane/error.hpp>
#include <peerlane/named.hpp>

#include "cli/command.hpp"
#include "cli/doctor.hpp"
#include "cli/page.hpp"

namespace peerlane::cli {
namespace {

NodeReport report_of_file(const std::string& path) {
    try {
        return read_report(read_input(path), path);
    } catch (const InputError& error) {
        NodeReport node;
        node.name = path;
        node.unreadable = error.what();
        return node;
    } catch (const NoSuchMachine&) {
        throw NoSuchFile(path);
    }
}

/// Reading is most of the work, and one file has nothing to do with the next.
std::vector<NodeReport> read_all(const std::vector<std::string>& paths) {
    std::vector<NodeReport> nodes(paths.size());
    std::vector<std::exception_ptr> failures(paths.size());
    std::atomic<std::size_t> next{0};
    auto const work = [&] {
        for (auto i = next++; i < paths.size(); i = next++) {
            try {
                nodes[i] = report_of_file(paths[i]);
            } catch (...) {
                failures[i] = std::current_exception();
            }
        }
    };
    auto const threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min(threads, paths.size()); ++i) {
        others.emplace_back(work);
    }
    work();
    for (auto& other : others) {
        other.join();
    }
    for (auto const& failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
    return nodes;
}

std::string text_of(const Comparison& comparison, Format format, bool color) {
    constexpr std::size_t most = 50;
    Page page(format == Format::markdown, color);
    auto const odd = static_cast<int>(comparison.odd.size());
    page.title(fmt::format("{} node{}, {} alike: {}", comparison.nodes, comparison.nodes == 1 ? "" : "s",
                           comparison.nodes - odd, fmt::join(comparison.alike, "; ")));
    if (odd == 0) {
        page.line("nothing differs");
        return page.text();
    }
    page.heading(fmt::format("{} odd, worst first", odd));
    for (std::size_t i = 0; i < std::min(comparison.odd.size(), most); ++i) {
        page.item(comparison.odd[i].name);
        for (auto const& one : comparison.odd[i].differences) {
            page.detail(fmt::format("{}: {}", to_string(one.kind), one.text));
        }
    }
    if (comparison.odd.size() > most) {
        page.item(fmt::format("and {} more, in the JSON", comparison.odd.size() - most));
    }
    return page.text();
}

Status status_of(const Comparison& comparison) {
    auto worst = good;
    for (auto const& node : comparison.odd) {
        for (auto const& one : node.differences) {
            worst = std::max(worst, one.kind == Difference::Kind::unreadable ? unreadable
                                    : one.kind == Difference::Kind::failed   ? broken
                                                                             : degraded);
        }
    }
    return worst;
}

Status run(Context& context) {
    if (context.globals.simulated() || !context.globals.faults.empty() || !context.globals.devices.empty()) {
        throw UsageError("compare reads documents of other machines: --machine, --fault and -i mean nothing");
    }
    auto const tolerance = tolerance_of(context.given.one("--tolerance").value_or("10"));
    auto const comparison = compare(read_all(context.given.all("FILE")), tolerance);
    auto const document = write_comparison(comparison, tolerance);
    auto const format = context.globals.format;
    context.out.print(format == Format::json ? document : text_of(comparison, format, context.out.color()));
    context.out.save(document);
    return status_of(comparison);
}

}  // namespace

Command compare_command() {
    return {"compare",
            "what saved or recorded documents of many nodes have in common, and what the odd ones differ in",
            {{"FILE", "of doctor --record, doctor --save or topo --save", true}},
            {{"--tolerance", "PERCENT", "how much slower is no difference; 10 if nothing is said"}},
            {Format::table, Format::json, Format::markdown},
            run};
}

}  // namespace peerlane::cli
