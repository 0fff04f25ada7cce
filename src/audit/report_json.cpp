#include <nlohmann/json.hpp>

#include <peerlane/audit.hpp>
#include <peerlane/error.hpp>

namespace peerlane {

AuditReport audit_report_from_json(std::string_view text, const std::string& file) {
    using Json = nlohmann::json;
    try {
        const Json json = Json::parse(text);
        if (json.at("schema") != "peerlane.audit/1") {
            throw InputError(file, 0, "no peerlane.audit/1 document");
        }
        AuditReport report;
        report.file = json.at("file").get<std::string>();
        report.events = json.at("events").get<std::uint64_t>();
        for (const Json& entry : json.at("findings")) {
            AuditFinding f;
            f.code = entry.at("code").get<std::string>();
            const std::string severity = entry.at("severity").get<std::string>();
            if (severity != "warn" && severity != "error") {
                throw InputError(file, 0, "unknown severity \"" + severity + "\"");
            }
            f.severity = severity == "warn" ? AuditFinding::Severity::warn : AuditFinding::Severity::error;
            f.line = entry.at("line").get<std::uint64_t>();
            f.text = entry.at("text").get<std::string>();
            f.cure = entry.at("cure").get<std::string>();
            f.accessor = entry.at("accessor").is_null() ? -1 : entry.at("accessor").get<int>();
            f.owner = entry.at("owner").is_null() ? -1 : entry.at("owner").get<int>();
            f.memory = entry.value("memory", std::string());
            f.count = entry.at("count").get<std::uint64_t>();
            f.lines = entry.at("lines").get<std::vector<std::uint64_t>>();
            f.chain = entry.value("chain", std::vector<std::string>());
            report.findings.push_back(std::move(f));
        }
        return report;
    } catch (const Json::exception& e) {
        throw InputError(file, 0, std::string("no audit report: ") + e.what());
    }
}

}  // namespace peerlane
