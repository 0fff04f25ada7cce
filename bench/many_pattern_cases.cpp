// Many copies at once: one to all, all to one, all to all; large copies and scattered pages.
#include "many_cases.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <peerlane/units.hpp>

namespace peerlane::bench {
namespace {

constexpr std::uint64_t copy_bytes = 128_MiB;

struct PatternOf {
    const char* name;
    int least_devices;
    bool (*holds)(int from, int to);
};
constexpr PatternOf all_patterns[] = {
    {"one to all", 3, [](int from, int) { return from == 0; }},
    {"all to one", 3, [](int, int to) { return to == 0; }},
    {"all to all", 2, [](int, int) { return true; }},
};

/// Part `to` of the source's memory becomes part `from` of the destination's; in the order in which people write two
/// loops.
std::vector<Job> jobs_of(const PatternOf& pattern, int devices, std::uint64_t bytes) {
    std::vector<Job> jobs;
    for (int from = 0; from < devices; ++from) {
        for (int to = 0; to < devices; ++to) {
            if (from != to && pattern.holds(from, to)) {
                jobs.push_back({gpu(from), gpu(to), bytes * static_cast<unsigned>(to),
                                bytes * static_cast<unsigned>(from), bytes});
            }
        }
    }
    return jobs;
}

/// Every device to its neighbour, then to the next but one, ...: what somebody writes who knows that two loops send all
/// devices to device 0 first.
std::vector<Job> in_rounds(std::vector<Job> jobs, int devices) {
    auto const round = [&](const Job& job) { return (job.to.index - job.from.index + devices) % devices; };
    std::stable_sort(jobs.begin(), jobs.end(), [&](const Job& a, const Job& b) { return round(a) < round(b); });
    return jobs;
}

std::vector<ExchangeCopy> exchange_of(Rig& rig, const std::vector<Job>& jobs) {
    std::vector<ExchangeCopy> copies;
    for (auto const& job : jobs) {
        copies.push_back({pointer_to(rig.to(job).address), pointer_to(rig.from(job).address), job.bytes});
    }
    return copies;
}

Way exchanged(const std::vector<Job>& jobs) {
    return {"ours", [jobs](Rig& rig) {
                auto const copies = exchange_of(rig, jobs);
                auto const start = rig.driver().now();
                static_cast<void>(rig.mover().exchange(copies, rig.stream(0)));
                rig.driver().synchronize(rig.stream(0));  // stream-ordered as a whole
                return rig.driver().now() - start;
            }};
}

/// Each in a stream of its own, pushed by its source.
Way simultaneous(const char* name, const std::vector<Job>& jobs) {
    return {
        name, [jobs](Rig& rig) {
            std::vector<StreamView> streams;
            for (auto const& job : jobs) {
                streams.push_back(rig.stream(job.from.index, 1 + job.to.index));
            }
            return rig.timed([&] {
                for (std::size_t i = 0; i < jobs.size(); ++i) {
                    rig.driver().copy(streams[i], {rig.to(jobs[i]), rig.from(jobs[i]), jobs[i].bytes, CopyApi::peer});
                }
            });
        }};
}

Way by_nccl(const std::vector<Job>& jobs, NcclGroup& nccl) {
    return {
        "NCCL",
        [jobs, &nccl](Rig& rig) {
            std::vector<NcclSend> sends;
            for (auto const& job : jobs) {
                sends.push_back({job.from.index, job.to.index, rig.from(job).address, rig.to(job).address, job.bytes});
            }
            std::vector<StreamView> streams;
            for (int device = 0; device < rig.devices(); ++device) {
                streams.push_back(rig.stream(device));
            }
            return rig.timed([&] { nccl.send(sends, streams); });
        },
        false};
}

/// One list for each pair, by the side that the mover names, numbers in its memory.
Way by_lists(const std::vector<Job>& jobs) {
    return {"ours", [jobs](Rig& rig) {
                std::vector<PageCopy> lists;
                std::vector<StreamView> streams;
                for (auto const& job : jobs) {
                    auto const choice = rig.mover().choose_pages(job.from, job.to, job.bytes, Rig::page_bytes);
                    auto const& route = choice.routes.at(0);
                    auto const issuer = route.legs.size() == 1 ? route.legs.front().issuer.index : job.from.index;
                    auto const other = issuer == job.from.index ? job.to.index : job.from.index;
                    PageCopy list;
                    list.dst = pointer_to(rig.to(job).address);
                    list.src = pointer_to(rig.from(job).address);
                    list.page_bytes = Rig::page_bytes;
                    list.count = job.bytes / Rig::page_bytes;
                    list.dst_index = list.src_index = rig.page_numbers(issuer, list.count);
                    lists.push_back(list);
                    streams.push_back(rig.stream(issuer, 1 + other));
                }
                return rig.timed([&] {
                    for (std::size_t i = 0; i < lists.size(); ++i) {
                        rig.mover().copy_pages(lists[i], streams[i]);
                    }
                });
            }};
}

/// The runtime's call for many copies, one for each pair.
Way by_batches(const std::vector<Job>& jobs) {
    return {"batch calls", [jobs](Rig& rig) {
                std::vector<std::vector<CopyRequest>> batches;
                std::vector<StreamView> streams;
                for (auto const& job : jobs) {
                    auto& batch = batches.emplace_back();
                    for (auto const page : Rig::shuffled(job.bytes / Rig::page_bytes)) {
                        auto one = job;
                        one.from_offset += static_cast<std::uint64_t>(page) * Rig::page_bytes;
                        one.to_offset += static_cast<std::uint64_t>(page) * Rig::page_bytes;
                        batch.push_back({rig.to(one), rig.from(one), Rig::page_bytes, CopyApi::automatic});
                    }
                    streams.push_back(rig.stream(job.from.index, 1 + job.to.index));
                }
                return rig.timed([&] {
                    for (std::size_t i = 0; i < batches.size(); ++i) {
                        rig.driver().copy_batch(streams[i], batches[i]);
                    }
                });
            }};
}

std::uint64_t sum(const std::vector<Job>& jobs) {
    std::uint64_t bytes = 0;
    for (auto const& job : jobs) {
        bytes += job.bytes;
    }
    return bytes;
}

void fill(Part& part, Rig& rig, const CaseOptions& options) {
    auto const n = rig.devices();
    std::string missing = "simulated";
    auto* const nccl = options.nccl ? options.nccl(missing) : nullptr;
    for (auto const& pattern : all_patterns) {
        if (n < pattern.least_devices) {
            part.left_out.push_back({pattern.name, fmt::format("needs {} devices", pattern.least_devices)});
            continue;
        }
        auto const jobs = jobs_of(pattern, n, copy_bytes);
        Case large{fmt::format("{}, large copies", pattern.name),
                   sum(jobs),
                   exchanged(jobs),
                   {simultaneous("simultaneous copies", jobs)}};
        large.jobs = jobs;
        if (n > 2) {
            large.peers.push_back(simultaneous("simultaneous copies in rounds", in_rounds(jobs, n)));
        }
        if (nccl != nullptr) {
            large.peers.push_back(by_nccl(jobs, *nccl));
        } else {
            part.left_out.push_back({large.name + ", NCCL", missing});
        }
        large.predict = [jobs](Rig& on) {
            auto const exchange = on.mover().exchange(exchange_of(on, jobs), on.stream(0));
            static_cast<void>(exchange.wait());
            return exchange.predicted_s();
        };
        large.plan = fmt::format("{} copies of {}", jobs.size(), size_word(copy_bytes));
        part.cases.push_back(std::move(large));

        auto const paged = jobs_of(pattern, n, options.small ? 4_MiB : 64_MiB);
        Case pages{fmt::format("{}, pages of {}", pattern.name, size_word(Rig::page_bytes)),
                   sum(paged),
                   by_lists(paged),
                   {by_batches(paged)}};
        pages.jobs = paged;
        // The port of a device gives each of its lists what it would have alone, one after the other.
        pages.predict = [paged](Rig& on) {
            std::map<std::pair<bool, int>, double> busy;
            double longest = 0;
            for (auto const& job : paged) {
                auto const alone = on.mover().choose_pages(job.from, job.to, job.bytes, Rig::page_bytes).predicted_s;
                for (auto const& port : {std::pair{false, job.from.index}, std::pair{true, job.to.index}}) {
                    longest = std::max(longest, busy[port] += alone);
                }
            }
            return longest;
        };
        pages.plan = fmt::format("{} lists of {}", paged.size(), size_word(paged.front().bytes));
        part.cases.push_back(std::move(pages));
    }
}

}  // namespace

Part patterns(Rig& rig, const CaseOptions& options) {
    Part part{"patterns", 90};
    part.fill = [&rig, options](Part& to) { fill(to, rig, options); };
    return part;
}

}  // namespace peerlane::bench
