/// Every trace of tests/unit/audit/traces and of docs/audit.md gives exactly the codes that its fence promises.

#include <map>

#include <gtest/gtest.h>

#include <peerlane/trace_reader.hpp>

#include "unit/audit/codes.hpp"
#include "unit/audit/fenced.hpp"

namespace peerlane::audit_tests {

namespace {

const char* const all_codes[] = {
    "unmapped-access", "wrong-direction",   "grant-missing",  "other-context", "out-of-range",         "use-after-free",
    "stale-mapping",   "free-while-queued", "race",           "wait-cycle",    "wait-never-signalled", "flag-scope",
    "grid-never-fits", "host-behind-spin",  "leaked-mapping", "peer-slots",    "copy-staged-by-driver"};

const std::set<std::string> warnings = {"leaked-mapping", "peer-slots", "copy-staged-by-driver"};

std::string traces_folder() {
    return PEERLANE_SOURCE_DIR "/tests/unit/audit/traces";
}
std::string docs_page() {
    return PEERLANE_SOURCE_DIR "/docs/audit.md";
}

void expect_as_promised(const Fenced& block) {
    SCOPED_TRACE(block.file + ":" + std::to_string(block.line) + " " + block.heading);
    const AuditReport report = audit(block.trace);
    EXPECT_EQ(codes(report), block.expect) << to_table(report);
    bool error = false;
    for (const AuditFinding& f : report.findings) {
        EXPECT_EQ(f.severity == AuditFinding::Severity::warn, warnings.count(f.code) > 0) << f.code;
        EXPECT_GT(f.line, 0u) << f.code;
        EXPECT_FALSE(f.text.empty());
        EXPECT_FALSE(f.cure.empty());
        error = error || f.severity == AuditFinding::Severity::error;
    }
    EXPECT_EQ(report.status(), error ? 2 : report.findings.empty() ? 0 : 1);
}

TEST(AuditTraces, giveWhatTheirFencePromises) {
    for (const Fenced& block : fenced_traces_of_folder(traces_folder())) {
        expect_as_promised(block);
    }
}

TEST(AuditTraces, areThreeAndThreeForEveryCodeWithOneFromAPublicReport) {
    std::map<std::string, int> bad, clean, sourced;
    for (const Fenced& block : fenced_traces_of_folder(traces_folder())) {
        const std::string code = block.file.substr(0, block.file.size() - 3);
        if (block.expect.empty()) {
            ++clean[code];
        } else {
            EXPECT_EQ(block.expect, std::set<std::string>{code}) << block.heading;
            ++bad[code];
            sourced[code] +=
                block.heading.find("/") != std::string::npos && block.heading.find("#", 3) != std::string::npos;
        }
    }
    for (const std::string code : all_codes) {
        EXPECT_GE(bad[code], 3) << code;
        EXPECT_GE(clean[code], 3) << code;
        EXPECT_GE(sourced[code], 1) << code;
    }
}

TEST(AuditTraces, ofTheDocumentationGiveWhatItSays) {
    std::map<std::string, int> shown;
    for (const Fenced& block : fenced_traces(docs_page())) {
        expect_as_promised(block);
        for (const std::string& code : block.expect) {
            ++shown[code];
        }
        shown["clean"] += block.expect.empty();
    }
    for (const std::string code : all_codes) {
        EXPECT_GE(shown[code], 1) << code << " has no trace in docs/audit.md";
    }
    EXPECT_GE(shown["clean"], static_cast<int>(std::size(all_codes))) << "a mended trace for each code";
}

// A trace that is clean stays clean, and one that is not keeps its codes, when it is written and read again.
TEST(AuditTraces, readBackAsTheSameEvents) {
    for (const Fenced& block : fenced_traces_of_folder(traces_folder())) {
        trace::Symbols symbols;
        trace::Reader reader("trace", symbols);
        std::string again;
        std::string rest = block.trace;
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            if (const auto event = reader.next(rest.substr(0, end))) {
                again += to_line(*event, symbols) + '\n';
            }
            rest.erase(0, end + 1);
        }
        EXPECT_EQ(to_json(audit(again)), to_json(audit(block.trace))) << block.file << ":" << block.line;
    }
}

}  // namespace

}  // namespace peerlane::audit_tests
