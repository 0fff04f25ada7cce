/// The auditor against the truth by enumeration.

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "unit/audit/codes.hpp"
#include "unit/audit/oracle.hpp"
#include "unit/audit/random_trace.hpp"

namespace peerlane::audit_tests {

namespace {

/// Empty when auditor and oracle agree.
/// With several threads and flags a host wait is decided when it is issued, before other threads' later calls are
/// known: then what is found must be true, but not all needs to be found.
std::string disagreement(const Lines& trace, bool complete = true) {
    const Truth truth = try_everything(trace);
    if (truth.too_large) {
        return {};
    }
    const AuditReport report = audit(joined(trace));
    std::set<std::string> racy;
    bool deadlock = false;
    std::string wrong;
    std::set<std::uint64_t> frees;
    // Where a value may be gone before a wait looks, which waits exclude each other is not followed up: the program is
    // wrong already.
    const bool missable = std::any_of(report.findings.begin(), report.findings.end(), [](const AuditFinding& f) {
        return f.text.find("may replace") != std::string::npos;
    });
    for (const AuditFinding& f : report.findings) {
        if (f.code == "race") {
            racy.insert(f.memory);
            if (f.count == 1 && !missable && truth.pairs.count({f.lines.at(0), f.line}) == 0) {
                wrong += "no such race: " + f.text + "\n";
            }
        } else if (f.code == "wait-cycle" || f.code == "wait-never-signalled") {
            deadlock = true;
        } else if (f.code == "free-while-queued") {
            frees.insert(f.line);
        } else {
            wrong += "not expected here: " + f.code + "\n";
        }
    }
    for (const std::string& memory : truth.racy) {
        // Work that is still queued when its memory goes is found as that, and not looked at further.
        if (complete && racy.count(memory) == 0 &&
            (frees.empty() || trace.back().find('"' + memory + '"') == std::string::npos)) {
            wrong += "missed a race on " + memory + "\n";
        }
    }
    for (const std::string& memory : racy) {
        if (truth.racy.count(memory) == 0 && !missable) {
            wrong += "no race on " + memory + "\n";
        }
    }
    const bool must_find = complete ? truth.deadlock : truth.always_deadlock;
    if (deadlock ? !truth.deadlock : must_find) {
        wrong += truth.deadlock ? "missed a deadlock\n" : "no deadlock is possible\n";
    }
    if (complete && frees != truth.busy_frees && !truth.always_deadlock) {
        wrong += truth.busy_frees.empty() ? "the free is safe\n" : "missed a free of memory in use\n";
    }
    return wrong.empty() ? wrong : wrong + to_table(report);
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Shape {
    const char* name;
    RandomTrace shape;
    int traces;
};

class AgreesWithOracle : public testing::TestWithParam<Shape> {};

TEST_P(AgreesWithOracle, onRandomTraces) {
    // A longer search: PEERLANE_SEED=1 PEERLANE_ROUNDS=50 test_audit --gtest_filter='*Oracle*'
    const std::uint64_t seed = from_environment("PEERLANE_SEED", 20261130);
    const std::uint64_t rounds = from_environment("PEERLANE_ROUNDS", 1);
    const bool complete = GetParam().shape.threads == 1 || GetParam().shape.flags == 0;
    std::mt19937_64 random(seed);
    std::uint64_t compared = 0;
    const std::uint64_t traces = rounds * static_cast<std::uint64_t>(GetParam().traces);
    for (std::uint64_t i = 0; i < traces; ++i) {
        Lines trace = random_trace(random, GetParam().shape);
        ++compared;
        if (!disagreement(trace, complete).empty()) {
            trace = shrink(trace, [&](const Lines& t) { return !disagreement(t, complete).empty(); });
            FAIL() << "trace " << i << " of seed " << seed << ":\n" << joined(trace) << disagreement(trace, complete);
        }
    }
    EXPECT_EQ(compared, traces);
}

RandomTrace shape(int calls, int threads, int flags, bool equals, bool relaxed) {
    RandomTrace s;
    s.calls = calls;
    s.threads = threads;
    s.flags = flags;
    s.equals = equals;
    s.relaxed = relaxed;
    return s;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AgreesWithOracle,
                         testing::Values(Shape{"noFlags", shape(8, 1, 0, false, false), 2000},
                                         Shape{"noFlagsThreads", shape(8, 3, 0, false, false), 2000},
                                         Shape{"growing", shape(6, 1, 2, false, false), 2000},
                                         Shape{"growingThreads", shape(6, 3, 2, false, false), 2000},
                                         Shape{"relaxed", shape(6, 1, 2, false, true), 2000},
                                         Shape{"anyValues", shape(5, 1, 1, true, true), 1000},
                                         Shape{"twoFlags", shape(7, 1, 2, true, true), 1000},
                                         Shape{"anyThreads", shape(6, 3, 2, true, true), 1000}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace

}  // namespace peerlane::audit_tests
