/// Generated programs: correct ones stay silent, a removed edge that was needed is found, an added one adds no race.
/// The truth is plain reachability over the edges that the program was made with.

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/audit/codes.hpp"
#include "unit/audit/random_trace.hpp"

namespace peerlane::audit_tests {

namespace {

struct Operation {
    int stream = 0, memory = 0, begin = 0, end = 0;
    bool write = false;
    bool host = false;  ///< by thread main
};

/// An order from operation `from` to `to`, made in one of several ways.
struct Edge {
    enum class By { event, flag, flag_in_launch, sync, host_wait } by = By::event;
    int from = 0, to = 0;
};

struct Program {
    int streams = 4;
    std::vector<Operation> operations{};
    std::vector<Edge> edges{};
};

bool conflict(const Operation& a, const Operation& b) {
    return a.memory == b.memory && (a.write || b.write) && a.begin < b.end && b.begin < a.end;
}

/// ordered[i][j]: i comes before j in every run.
std::vector<std::vector<bool>> order(const Program& p) {
    const std::size_t n = p.operations.size();
    std::vector<std::vector<bool>> ordered(n, std::vector<bool>(n, false));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            const Operation& a = p.operations[i];
            const Operation& b = p.operations[j];
            // What the host did itself comes before all that it issues later.
            ordered[i][j] = a.host || (!b.host && a.stream == b.stream);
        }
    }
    for (const Edge& e : p.edges) {
        const auto to = static_cast<std::size_t>(e.to);
        ordered[static_cast<std::size_t>(e.from)][to] = true;
        if (e.by == Edge::By::sync || e.by == Edge::By::host_wait) {
            for (std::size_t later = to; later < n; ++later) {  // the host waits just before `to`
                ordered[static_cast<std::size_t>(e.from)][later] = true;
            }
        }
    }
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < k; ++i) {
            for (std::size_t j = k + 1; ordered[i][k] && j < n; ++j) {
                if (ordered[k][j]) {
                    ordered[i][j] = true;
                }
            }
        }
    }
    return ordered;
}

/// A sync orders all of its stream so far, not just one operation.
void add_what_a_sync_covers(const Program& p, std::vector<Edge>& edges) {
    const std::size_t given = edges.size();
    for (std::size_t i = 0; i < given; ++i) {
        if (edges[i].by != Edge::By::sync) {
            continue;
        }
        const int stream = p.operations[static_cast<std::size_t>(edges[i].from)].stream;
        for (int k = 0; k < edges[i].to; ++k) {
            const Operation& o = p.operations[static_cast<std::size_t>(k)];
            if (!o.host && o.stream == stream && k != edges[i].from) {
                edges.push_back({Edge::By::sync, k, edges[i].to});
            }
        }
    }
}

std::set<std::string> truth(Program p) {
    add_what_a_sync_covers(p, p.edges);
    const auto ordered = order(p);
    std::set<std::string> racy;
    for (std::size_t i = 0; i < p.operations.size(); ++i) {
        for (std::size_t j = i + 1; j < p.operations.size(); ++j) {
            if (conflict(p.operations[i], p.operations[j]) && !ordered[i][j]) {
                racy.insert(fmt::format("m{}", p.operations[i].memory));
            }
        }
    }
    return racy;
}

Lines lines(const Program& p) {
    Lines out{R"({"op":"machine","devices":2})"};
    for (int s = 0; s < p.streams; ++s) {
        out.push_back(fmt::format(R"({{"op":"stream","stream":"s{}","device":{}}})", s, s % 2));
    }
    for (int m = 0; m < 4; ++m) {
        out.push_back(fmt::format(R"({{"op":"alloc","memory":"m{}","place":"host","bytes":100}})", m));
    }
    for (std::size_t i = 0; i < p.operations.size(); ++i) {
        const Operation& o = p.operations[i];
        const auto stream = [&](int k) { return p.operations[static_cast<std::size_t>(k)].stream; };
        std::string before, after;
        Lines later;
        for (std::size_t k = 0; k < p.edges.size(); ++k) {
            const Edge& e = p.edges[k];
            if (e.to == static_cast<int>(i)) {
                switch (e.by) {
                    case Edge::By::event:
                        out.push_back(fmt::format(R"({{"op":"wait","event":"e{}","stream":"s{}"}})", k, o.stream));
                        break;
                    case Edge::By::flag:
                        out.push_back(fmt::format(R"({{"op":"wait_flag","flag":"f{}","at_least":1,"stream":"s{}"}})", k,
                                                  o.stream));
                        break;
                    case Edge::By::flag_in_launch:
                        before += fmt::format(R"({{"wait":"f{}","at_least":1}},)", k);
                        break;
                    case Edge::By::sync:
                        out.push_back(fmt::format(R"({{"op":"sync","stream":"s{}"}})", stream(e.from)));
                        break;
                    case Edge::By::host_wait:
                        out.push_back(fmt::format(R"({{"op":"wait","event":"e{}"}})", k));
                        break;
                }
            }
            if (e.from == static_cast<int>(i)) {
                switch (e.by) {
                    case Edge::By::event:
                    case Edge::By::host_wait:
                        later.push_back(fmt::format(R"({{"op":"record","event":"e{}","stream":"s{}"}})", k, o.stream));
                        break;
                    case Edge::By::flag:
                        later.push_back(
                            fmt::format(R"({{"op":"signal","flag":"f{}","value":1,"stream":"s{}"}})", k, o.stream));
                        break;
                    case Edge::By::flag_in_launch:
                        after += fmt::format(R"(,{{"signal":"f{}","value":1}})", k);
                        break;
                    case Edge::By::sync:
                        break;
                }
            }
        }
        const std::string range = fmt::format(R"("offset":{},"bytes":{})", o.begin, o.end - o.begin);
        if (o.host) {
            out.push_back(fmt::format(R"({{"op":"host","{}":[{{"memory":"m{}",{}}}]}})", o.write ? "writes" : "reads",
                                      o.memory, range));
        } else {
            out.push_back(
                fmt::format(R"({{"op":"launch","stream":"s{}","name":"k{}","steps":[{}{{"{}":"m{}",{}}}{}]}})",
                            o.stream, i, before, o.write ? "write" : "read", o.memory, range, after));
        }
        out.insert(out.end(), later.begin(), later.end());
    }
    return out;
}

/// Operations at random, and as many edges as make it correct.
Program correct(std::mt19937_64& random, int operations) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
    Program p;
    p.streams = 2 + below(4);
    for (int i = 0; i < operations; ++i) {
        Operation o;
        o.stream = below(p.streams);
        o.memory = below(4);
        o.begin = 25 * below(3);
        o.end = o.begin + 25 * (1 + below(2));
        o.write = below(2) == 0;
        o.host = below(8) == 0;
        p.operations.push_back(o);
    }
    for (int j = 1; j < operations; ++j) {
        for (int i = j; i-- > 0;) {
            const Operation& a = p.operations[static_cast<std::size_t>(i)];
            const Operation& b = p.operations[static_cast<std::size_t>(j)];
            if (!conflict(a, b)) {
                continue;
            }
            Program closed = p;
            add_what_a_sync_covers(p, closed.edges);
            if (order(closed)[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]) {
                continue;
            }
            static constexpr Edge::By ways[] = {Edge::By::event, Edge::By::flag, Edge::By::flag_in_launch,
                                                Edge::By::sync, Edge::By::host_wait};
            p.edges.push_back({b.host ? ways[3 + below(2)] : ways[below(5)], i, j});
        }
    }
    return p;
}

std::set<std::string> racy(const AuditReport& report) {
    std::set<std::string> memories;
    for (const AuditFinding& f : report.findings) {
        memories.insert(f.code == "race" ? f.memory : f.code);
    }
    return memories;
}

TEST(GeneratedPrograms, correctOnesStaySilent) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const Program p = correct(random, 4 + round % 40);
        ASSERT_TRUE(truth(p).empty()) << "the generator";
        const AuditReport report = audit(joined(lines(p)));
        ASSERT_TRUE(report.findings.empty()) << joined(lines(p)) << to_table(report);
    }
}

TEST(GeneratedPrograms, anEdgeThatWasNeededIsMissed) {
    std::mt19937_64 random(2);
    int needed = 0;
    for (int round = 0; round < 150; ++round) {
        const Program p = correct(random, 4 + round % 30);
        for (std::size_t i = 0; i < p.edges.size(); ++i) {
            Program less = p;
            less.edges.erase(less.edges.begin() + static_cast<std::ptrdiff_t>(i));
            const std::set<std::string> expected = truth(less);
            needed += expected.empty() ? 0 : 1;
            const AuditReport report = audit(joined(lines(less)));
            ASSERT_EQ(racy(report), expected) << joined(lines(less)) << to_table(report);
        }
    }
    EXPECT_GT(needed, 500);
}

TEST(GeneratedPrograms, anAddedEdgeAddsNoRace) {
    std::mt19937_64 random(3);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int round = 0; round < 150; ++round) {
        Program p = correct(random, 5 + round % 30);
        while (p.edges.size() > 2 && below(4) != 0) {
            p.edges.erase(p.edges.begin() + static_cast<std::ptrdiff_t>(below(p.edges.size())));
        }
        const std::set<std::string> before = racy(audit(joined(lines(p))));
        ASSERT_EQ(before, truth(p));
        for (int added = 0; added < 5; ++added) {
            const int from = static_cast<int>(below(p.operations.size() - 1));
            const int to = from + 1 + static_cast<int>(below(p.operations.size() - 1 - static_cast<std::size_t>(from)));
            if (p.operations[static_cast<std::size_t>(from)].host || p.operations[static_cast<std::size_t>(to)].host) {
                continue;
            }
            Program more = p;
            more.edges.push_back({Edge::By::event, from, to});
            const std::set<std::string> after = racy(audit(joined(lines(more))));
            ASSERT_TRUE(std::includes(before.begin(), before.end(), after.begin(), after.end())) << joined(lines(more));
            ASSERT_EQ(after, truth(more));
        }
    }
}

// ---- what is held stays bounded ----

TEST(LongPrograms, keepOnlyWhatIsInFlight) {
    trace::Symbols symbols;
    Auditor auditor(symbols);
    std::uint64_t line = 0;
    const auto push = [&](const trace::Operation& op) { auditor.push({++line, 0, op}); };
    const trace::Id s0 = symbols.streams.intern("s0");
    const trace::Id s1 = symbols.streams.intern("s1");
    push(trace::Stream{s0, 0, trace::StreamKind::nonblocking, trace::no_id});
    push(trace::Stream{s1, 1, trace::StreamKind::nonblocking, trace::no_id});
    const trace::Id full = symbols.flags.intern("full");
    const trace::Id free = symbols.flags.intern("free");
    const trace::Id name = symbols.words.intern("k");
    trace::Alloc alloc{};
    alloc.memory = symbols.memories.intern("ring");
    alloc.device = trace::host_device;
    alloc.kind = trace::MemoryKind::pinned;
    alloc.bytes = 4096;
    push(alloc);
    std::size_t most = 0;
    for (std::uint64_t i = 1; i <= 200000; ++i) {  // never synchronized
        const auto flag = [](trace::Step::Kind kind, trace::Id id, std::uint64_t value) {
            trace::Step s{};
            s.kind = kind;
            s.target = id;
            s.value = value;
            s.order = trace::Order::acq_rel;
            return s;
        };
        trace::Step access{};
        access.target = alloc.memory;
        access.bytes = trace::to_end;
        access.kind = trace::Step::Kind::write;
        const trace::Step put[] = {flag(trace::Step::Kind::wait, free, i - 1), access,
                                   flag(trace::Step::Kind::signal, full, i)};
        access.kind = trace::Step::Kind::read;
        const trace::Step get[] = {flag(trace::Step::Kind::wait, full, i), access,
                                   flag(trace::Step::Kind::signal, free, i)};
        push(trace::Launch{s0, name, trace::no_id, 0, 0, put});
        push(trace::Launch{s1, name, trace::no_id, 0, 0, get});
        most = std::max(most, auditor.in_flight());
    }
    EXPECT_LE(most, 40000u);
    EXPECT_TRUE(auditor.finish().findings.empty());
}

}  // namespace

}  // namespace peerlane::audit_tests
