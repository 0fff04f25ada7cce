// What two processes do with each other's memory, case by case, and one process with both devices beside it.

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "processes_side.hpp"

namespace peerlane::bench {
namespace {

std::string name_of(const char* kind, int from, int to, int by, bool pages) {
    return fmt::format("{} {}{}>{} by {}", kind, pages ? "pages " : "", from, to, by);
}

}  // namespace

void exchange_all(Side& side, const Sizes& sizes, const OnRate& rate, const OnWrong& wrong) {
    std::uint64_t key = 1;
    auto const told = [&](const std::string& name, const std::string& bad) {
        if (bad != "0") {
            wrong(fmt::format("{}: {} bytes are wrong", name, bad));
        }
    };
    for (auto const* const kind : memory_kinds) {
        for (auto const pages : {false, true}) {
            for (auto const from : {0, 1}) {
                for (auto const by : {0, 1}) {
                    auto const name = name_of(kind, from, 1 - from, by, pages);
                    auto const at = [&](int who, const std::string& what) {
                        return who == 0 ? side.act(what) : side.ask(what);
                    };
                    key += 2;
                    at(from, fmt::format("fill {} {}", kind, key));
                    at(1 - from, fmt::format("fill {} {}", kind, key + 1));
                    auto const runs = read_runs(
                        at(by, fmt::format("{} {} {}", by == from ? "push" : "pull", kind, pages ? "pages" : "whole")));
                    told(name, at(1 - from, fmt::format("{} {} {}", pages ? "check-pages" : "check", kind, key)));
                    rate(name, pages ? sizes.pages * page_bytes : sizes.bytes, runs);
                }
            }
        }
    }
    // Order without waiting: the other process reads behind an event of this one.
    auto const token = side.act(fmt::format("record plain {}", ++key));
    side.ask("event " + token);
    side.act(fmt::format("record plain {}", ++key));
    told("plain 0>1 behind an event of 0", side.ask(fmt::format("pull-after plain {}", key)));
}

std::vector<RawWays> raw_ways(Side& side, const Sizes& sizes) {
    std::vector<RawWays> all;
    for (auto const* const kind : memory_kinds) {
        for (auto const* const direction : {"push", "pull"}) {
            RawWays ways{kind, direction};
            for (auto const* const way : {"automatic", "peer", "32", "64", "132"}) {
                try {
                    auto const runs = read_runs(side.act(fmt::format("raw {} {} {}", kind, direction, way)));
                    auto const gbs = static_cast<double>(sizes.bytes) / runs.at(runs.size() / 2) / 1e9;
                    ways.words += fmt::format("  {} {:.1f}", way, gbs);
                    ways.best_gbs = std::max(ways.best_gbs, gbs);
                } catch (const Error& error) {
                    ways.words += fmt::format("  {} refused ({})", way, error.code());
                }
            }
            all.push_back(std::move(ways));
        }
    }
    return all;
}

void single_process(Driver& driver, const Sizes& sizes, const OnRate& rate, const OnWrong& wrong) {
    Mover mover(driver, trusted(driver));
    std::vector<std::unique_ptr<Worker>> workers;
    for (auto const device : {0, 1}) {
        workers.push_back(std::make_unique<Worker>(driver, device, sizes));
    }
    std::uint64_t key = 1;
    for (auto const* const kind : memory_kinds) {
        std::vector<Buffer> buffers;
        buffers.reserve(2);
        for (auto const device : {0, 1}) {
            buffers.emplace_back(driver, device, kind, sizes.bytes);
        }
        for (auto const pages : {false, true}) {
            for (std::size_t from = 0; from < 2; ++from) {
                for (std::size_t by = 0; by < 2; ++by) {
                    auto const to = 1 - from;
                    auto const name =
                        name_of(kind, static_cast<int>(from), static_cast<int>(to), static_cast<int>(by), pages);
                    key += 2;
                    workers[from]->fill(buffers[from].at(), key);
                    workers[to]->fill(buffers[to].at(), key + 1);
                    auto const runs = workers[by]->move(mover, buffers[to].at(), buffers[from].at(), pages);
                    auto const bad = pages ? workers[to]->check_pages(buffers[to].at(), key)
                                           : workers[to]->check(buffers[to].at(), key);
                    if (bad != 0) {
                        wrong(fmt::format("one process, {}: {} bytes are wrong", name, bad));
                    }
                    rate(name, pages ? sizes.pages * page_bytes : sizes.bytes, runs);
                }
            }
        }
    }
}

}  // namespace peerlane::bench
