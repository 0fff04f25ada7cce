#include <algorithm>

#include <fmt/format.h>
#include <peerlane/audit.hpp>

#include "audit/json_text.hpp"

namespace peerlane {

using audit::quoted;

const char* to_string(AuditFinding::Severity severity) {
    return severity == AuditFinding::Severity::warn ? "warn" : "error";
}

int AuditReport::status() const {
    const bool error = std::any_of(findings.begin(), findings.end(),
                                   [](const AuditFinding& f) { return f.severity == AuditFinding::Severity::error; });
    return error ? 2 : findings.empty() ? 0 : 1;
}

std::string to_table(const AuditReport& report) {
    std::string out;
    std::size_t errors = 0;
    std::size_t width = 4;
    for (const AuditFinding& f : report.findings) {
        errors += f.severity == AuditFinding::Severity::error ? 1 : 0;
        width = std::max(width, f.code.size());
    }
    const std::string margin(6 + 2 + 5 + 2 + width + 2, ' ');
    if (!report.findings.empty()) {
        out += fmt::format("{:>6}  {:<5}  {:<{}}  {}\n", "line", "", "code", width, "finding");
    }
    for (const AuditFinding& f : report.findings) {
        const std::string times = f.count > 1 ? fmt::format(" ({} times)", f.count) : std::string();
        if (f.chain.empty()) {
            out += fmt::format("{:>6}  {:<5}  {:<{}}  {}{}\n", f.line, to_string(f.severity), f.code, width, f.text,
                               times);
        } else {
            out += fmt::format("{:>6}  {:<5}  {:<{}}  each of these can only go on after the next{}\n", f.line,
                               to_string(f.severity), f.code, width, times);
            for (const std::string& hop : f.chain) {
                out += fmt::format("{}-> {}\n", margin, hop);
            }
        }
        if (!f.cure.empty()) {
            out += fmt::format("{}cure: {}\n", margin, f.cure);
        }
    }
    const std::size_t warnings = report.findings.size() - errors;
    const auto counted = [](std::size_t n, const char* what) {
        return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    out += report.findings.empty() ? fmt::format("{}: clean\n", counted(report.events, "event"))
                                   : fmt::format("{}: {}, {}\n", counted(report.events, "event"),
                                                 counted(errors, "error"), counted(warnings, "warning"));
    return out;
}

std::string to_json(const AuditReport& report) {
    std::string out =
        fmt::format("{{\n  \"schema\": \"peerlane.audit/1\",\n  \"file\": {},\n  \"events\": {},\n  \"status\": {},\n",
                    quoted(report.file), report.events, report.status());
    out += "  \"findings\": [";
    bool first = true;
    for (const AuditFinding& f : report.findings) {
        out += first ? "\n    {" : ",\n    {";
        first = false;
        out += fmt::format("\"code\": {}, \"severity\": \"{}\", \"line\": {},\n     \"text\": {},\n     \"cure\": {}",
                           quoted(f.code), to_string(f.severity), f.line, quoted(f.text), quoted(f.cure));
        // Devices are left out where none is concerned: null says so in either place.
        const auto device = [](int d) { return d < 0 ? std::string("null") : fmt::format("{}", d); };
        out += fmt::format(",\n     \"accessor\": {}, \"owner\": {}", device(f.accessor), device(f.owner));
        if (!f.memory.empty()) {
            out += fmt::format(", \"memory\": {}", quoted(f.memory));
        }
        out += fmt::format(", \"count\": {}, \"lines\": [{}]", f.count, fmt::join(f.lines, ", "));
        if (!f.chain.empty()) {
            out += ",\n     \"chain\": [";
            for (std::size_t i = 0; i < f.chain.size(); ++i) {
                out += (i == 0 ? "\n       " : ",\n       ") + quoted(f.chain[i]);
            }
            out += "]";
        }
        out += "}";
    }
    out += report.findings.empty() ? "]\n}" : "\n  ]\n}";
    return out;
}

}  // namespace peerlane
