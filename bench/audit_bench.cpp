/// Cost of auditing: events in memory through the auditor, no text in between. Prints nanoseconds an event and the
/// resident memory; with --json a `peerlane.bench/1` document.

#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <peerlane/audit.hpp>

namespace {

using namespace peerlane;
using trace::Event;
using trace::Id;
using trace::Step;

struct Program {
    trace::Symbols symbols{};
    std::vector<Event> setup{};
    std::vector<Event> round{};  ///< played again and again
    std::vector<std::vector<Step>> steps{};
    Program() { steps.reserve(1024); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    std::span<const Step> keep(std::vector<Step> list) { return steps.emplace_back(std::move(list)); }
    Id stream(const std::string& name, int device, trace::StreamKind kind = trace::StreamKind::nonblocking) {
        const Id id = symbols.streams.intern(name);
        setup.push_back({0, 0, trace::Stream{id, device, kind, trace::no_id}});
        return id;
    }
    Id memory(const std::string& name, int device, std::uint64_t bytes) {
        trace::Alloc alloc{};
        alloc.memory = symbols.memories.intern(name);
        alloc.device = device;
        alloc.bytes = bytes;
        alloc.kind = device < 0 ? trace::MemoryKind::pinned : trace::MemoryKind::plain;
        setup.push_back({0, 0, alloc});
        return alloc.memory;
    }
    void enable_all(int devices) {
        for (int a = 0; a < devices; ++a) {
            for (int b = 0; b < devices; ++b) {
                if (a != b) {
                    setup.push_back({0, 0, trace::Enable{a, b, trace::EnableResult::ok, trace::no_id}});
                }
            }
        }
    }
};

Step access(Step::Kind kind, Id memory, std::uint64_t offset, std::uint64_t bytes) {
    Step s{};
    s.kind = kind;
    s.target = memory;
    s.value = offset;
    s.bytes = bytes;
    return s;
}
Step flag(Step::Kind kind, Id id, std::uint64_t value) {
    Step s{};
    s.kind = kind;
    s.target = id;
    s.value = value;
    s.order = kind == Step::Kind::wait ? trace::Order::acquire : trace::Order::release;
    return s;
}

/// Eight devices: kernels, copies to the next device ordered by events, a synchronization of the device now and then.
void copies_and_events(Program& p) {
    constexpr int devices = 8;
    p.setup.push_back({0, 0, trace::Machine{devices, 0}});
    p.enable_all(devices);
    std::vector<Id> streams, from, to;
    for (int d = 0; d < devices; ++d) {
        streams.push_back(p.stream(fmt::format("s{}", d), d));
        from.push_back(p.memory(fmt::format("a{}", d), d, 1 << 20));
        to.push_back(p.memory(fmt::format("b{}", d), d, 1 << 20));
    }
    for (int step = 0; step < 16; ++step) {
        for (std::size_t d = 0; d < devices; ++d) {
            const std::size_t next = (d + 1) % devices;
            const Id ready = p.symbols.events.intern(fmt::format("ready{}", d));
            const Id read = p.symbols.events.intern(fmt::format("read{}", next));
            const std::uint64_t offset = static_cast<std::uint64_t>(step) * 65536;
            p.round.push_back({0, 0, trace::Wait{read, streams[d]}});
            p.round.push_back({0, 0,
                               trace::Launch{streams[d], p.symbols.words.intern("k"), trace::no_id, 132, 264,
                                             p.keep({access(Step::Kind::write, from[d], 0, 1 << 20)})}});
            trace::Copy copy{};
            copy.stream = streams[d];
            copy.dst = to[next];
            copy.src = from[d];
            copy.dst_offset = offset;
            copy.src_offset = offset;
            copy.bytes = 65536;
            p.round.push_back({0, 0, copy});
            p.round.push_back({0, 0, trace::Record{ready, streams[d]}});
            p.round.push_back({0, 0, trace::Wait{ready, streams[next]}});
            p.round.push_back({0, 0,
                               trace::Launch{streams[next], p.symbols.words.intern("r"), trace::no_id, 132, 264,
                                             p.keep({access(Step::Kind::read, to[next], offset, 65536)})}});
            p.round.push_back({0, 0, trace::Record{read, streams[next]}});
        }
    }
    for (int d = 0; d < devices; ++d) {
        p.round.push_back({0, 0, trace::Sync{trace::no_id, d}});
    }
}

/// Two devices hand slots of a ring to each other by flags; the host synchronizes every 256 launches.
void rings_by_flags(Program& p) {
    p.setup.push_back({0, 0, trace::Machine{2, 0}});
    p.enable_all(2);
    const Id producer = p.stream("s0", 0);
    const Id consumer = p.stream("s1", 1);
    const Id ring = p.memory("ring", 1, 4 * 65536);
    const Id k = p.symbols.words.intern("k");
    for (std::uint64_t i = 0; i < 128; ++i) {
        const std::uint64_t slot = i % 4;
        const Id full = p.symbols.flags.intern(fmt::format("full{}", slot));
        const Id free = p.symbols.flags.intern(fmt::format("free{}", slot));
        std::vector<Step> produce, consume;
        if (i >= 4) {
            produce.push_back(flag(Step::Kind::wait, free, i - 3));
        }
        produce.push_back(access(Step::Kind::write, ring, slot * 65536, 65536));
        produce.push_back(flag(Step::Kind::signal, full, i + 1));
        consume.push_back(flag(Step::Kind::wait, full, i + 1));
        consume.push_back(access(Step::Kind::read, ring, slot * 65536, 65536));
        consume.push_back(flag(Step::Kind::signal, free, i + 1));
        p.round.push_back({0, 0, trace::Launch{producer, k, trace::no_id, 16, 264, p.keep(std::move(produce))}});
        p.round.push_back({0, 0, trace::Launch{consumer, k, trace::no_id, 16, 264, p.keep(std::move(consume))}});
    }
    p.round.push_back({0, 0, trace::Sync{producer, -1}});
    p.round.push_back({0, 0, trace::Sync{consumer, -1}});
    // The next round starts from 0 again.
    for (int slot = 0; slot < 4; ++slot) {
        for (const char* name : {"full", "free"}) {
            p.round.push_back(
                {0, 0,
                 trace::FlagStep{trace::no_id, flag(Step::Kind::signal,
                                                    p.symbols.flags.intern(fmt::format("{}{}", name, slot)), 0)}});
        }
    }
}

/// Pages of 16 KiB scattered over one buffer, 64 pages a launch.
void scattered_pages(Program& p) {
    p.setup.push_back({0, 0, trace::Machine{2, 0}});
    p.enable_all(2);
    const Id stream = p.stream("s0", 0);
    const Id memory = p.memory("cache", 1, std::uint64_t{16384} * 4096);
    std::uint64_t page = 1;
    for (int i = 0; i < 64; ++i) {
        std::vector<Step> steps;
        for (int j = 0; j < 64; ++j) {
            page = (page * 1103515245 + 12345) % 4096;
            steps.push_back(access(i % 2 == 0 ? Step::Kind::write : Step::Kind::read, memory, page * 16384, 16384));
        }
        p.round.push_back(
            {0, 0,
             trace::Launch{stream, p.symbols.words.intern("pages"), trace::no_id, 64, 264, p.keep(std::move(steps))}});
    }
    p.round.push_back({0, 0, trace::Sync{stream, -1}});
}

/// Allocate, use, free in stream order, with an event pair and a legacy stream in between.
void pools_and_legacy(Program& p) {
    p.setup.push_back({0, 0, trace::Machine{1, 0}});
    const Id a = p.stream("a", 0, trace::StreamKind::blocking);
    const Id b = p.stream("b", 0, trace::StreamKind::blocking);
    const Id legacy = p.stream("legacy", 0, trace::StreamKind::legacy);
    const Id k = p.symbols.words.intern("k");
    for (int i = 0; i < 32; ++i) {
        trace::Alloc alloc{};
        alloc.memory = p.symbols.memories.intern(fmt::format("m{}", i));
        alloc.bytes = 4096;
        alloc.kind = trace::MemoryKind::pool;
        alloc.stream = a;
        p.round.push_back({0, 0, alloc});
        const auto steps = p.keep({access(Step::Kind::write, alloc.memory, 0, 4096)});
        p.round.push_back({0, 0, trace::Launch{a, k, trace::no_id, 0, 0, steps}});
        p.round.push_back({0, 0, trace::Launch{legacy, k, trace::no_id, 0, 0, steps}});
        p.round.push_back({0, 0, trace::Launch{b, k, trace::no_id, 0, 0, steps}});
        p.round.push_back({0, 0, trace::Free{alloc.memory, b}});
    }
    p.round.push_back({0, 0, trace::Sync{trace::no_id, 0}});
}

double resident_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Of this process: other work on the machine does not count.
double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Row {
    std::string name{};
    std::uint64_t events = 0;
    double ns = 0, mib = 0;
    std::size_t findings = 0;
};

Row measure(const std::string& name, void (*build)(Program&), std::uint64_t events) {
    Program program;
    build(program);
    Auditor auditor(program.symbols);
    std::uint64_t line = 0;
    const auto push = [&](Event& event) {
        event.line = ++line;
        auditor.push(event);
    };
    const double start = cpu_seconds();
    for (Event& event : program.setup) {
        push(event);
    }
    while (line < events) {
        for (Event& event : program.round) {
            push(event);
        }
    }
    const AuditReport report = auditor.finish();
    const double took = cpu_seconds() - start;
    return {name, line, took * 1e9 / static_cast<double>(line), resident_mib(), report.findings.size()};
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t events = 10'000'000;
    bool json = false;
    std::string only;  // part of a case's name
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (std::strcmp(argv[i], "--case") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else {
            events = std::strtoull(argv[i], nullptr, 10);
        }
    }
    const struct {
        const char* name;
        void (*build)(Program&);
    } cases[] = {{"copies and events, 8 devices", copies_and_events},
                 {"rings by flags", rings_by_flags},
                 {"pools and legacy stream", pools_and_legacy},
                 {"64 scattered pages a launch", scattered_pages}};
    if (!json) {
        fmt::print("{} cores, {}\n", std::thread::hardware_concurrency(), __VERSION__);
    }
    std::vector<Row> rows;
    for (const auto& c : cases) {
        if (std::string(c.name).find(only) == std::string::npos) {
            continue;
        }
        // A launch of 64 pages is 64 accesses: fewer events tell as much.
        const bool pages = c.build == scattered_pages;
        rows.push_back(measure(c.name, c.build, pages ? events / 20 : events));
        if (!json) {
            const Row& r = rows.back();
            fmt::print("{:<30} {:>10} events  {:>7.1f} ns an event  {:>6.2f} s  peak {:>6.1f} MiB  {} findings\n",
                       r.name, r.events, r.ns, r.ns * static_cast<double>(r.events) * 1e-9, r.mib, r.findings);
        }
    }
    if (json) {
        std::string text = fmt::format(
            "{{\"schema\":\"peerlane.bench/1\",\"machine\":\"{} cores, compiler "
            "{}\",\"date\":{},\"command\":\"audit_bench {}\",\"rows\":[",
            std::thread::hardware_concurrency(), __VERSION__, std::time(nullptr), events);
        for (const Row& r : rows) {
            text += fmt::format("{}{{\"case\":\"{}\",\"events\":{},\"ours\":{{\"us\":{:.4f}}},\"peak_mib\":{:.1f}}}",
                                &r == rows.data() ? "" : ",", r.name, r.events, r.ns / 1000, r.mib);
        }
        fmt::print("{}]}}\n", text);
    }
    return 0;
}
