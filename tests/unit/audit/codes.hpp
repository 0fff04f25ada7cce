#pragma once
/// Short names for traces and what is found in them.

#include <set>
#include <string>
#include <vector>

#include <peerlane/audit.hpp>

namespace peerlane::audit_tests {

inline AuditReport audit(const std::string& trace) {
    return audit_text(trace, "trace");
}

/// Codes found, each once.
inline std::set<std::string> codes(const AuditReport& report) {
    std::set<std::string> found;
    for (const AuditFinding& f : report.findings) {
        found.insert(f.code);
    }
    return found;
}
inline std::set<std::string> codes(const std::string& trace) {
    return codes(audit(trace));
}

/// The only finding of a report; an empty one, with the whole report as its text, when there is not exactly one.
inline AuditFinding only(const AuditReport& report) {
    if (report.findings.size() == 1) {
        return report.findings.front();
    }
    AuditFinding none;
    none.text = to_table(report);
    return none;
}

/// Two devices with a stream each (s0 on 0, s1 on 1) and, where `mapped`, both accesses enabled.
inline std::string two_devices(bool mapped = true) {
    std::string text =
        "{\"op\":\"machine\",\"devices\":2}\n"
        "{\"op\":\"stream\",\"stream\":\"s0\",\"device\":0}\n"
        "{\"op\":\"stream\",\"stream\":\"s1\",\"device\":1}\n";
    if (mapped) {
        text +=
            "{\"op\":\"enable\",\"accessor\":0,\"owner\":1,\"result\":\"ok\"}\n"
            "{\"op\":\"enable\",\"accessor\":1,\"owner\":0,\"result\":\"ok\"}\n";
    }
    return text;
}

}  // namespace peerlane::audit_tests
