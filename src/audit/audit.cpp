/// The public face of the auditor, and auditing a whole text.

#include <algorithm>
#include <stdexcept>

#include <peerlane/audit.hpp>
#include <peerlane/trace_reader.hpp>

#include "audit/auditor_impl.hpp"

namespace peerlane {

Auditor::Auditor(const trace::Symbols& symbols) : impl_(std::make_unique<Impl>(symbols)) {}
Auditor::~Auditor() = default;
Auditor::Auditor(Auditor&&) noexcept = default;
Auditor& Auditor::operator=(Auditor&&) noexcept = default;

void Auditor::push(const trace::Event& event) {
    impl_->push(event);
}
AuditReport Auditor::finish() {
    return impl_->finish();
}
const std::vector<AuditFinding>& Auditor::findings() const {
    return impl_->findings();
}
std::size_t Auditor::in_flight() const {
    return impl_->in_flight();
}
AccessAnswer Auditor::explain(int accessor, trace::Id memory, std::uint64_t bytes, std::uint64_t offset,
                              trace::Grant access, trace::Id context) const {
    return impl_->explain(accessor, memory, bytes, offset, access, context);
}
std::vector<AuditFinding> Auditor::check(const trace::Launch& launch, std::uint64_t line, trace::Id thread) const {
    return impl_->check(launch, line, thread);
}
std::vector<AuditFinding> Auditor::explain_fault() const {
    return impl_->explain_fault();
}
std::vector<std::string> Auditor::waiting() const {
    return impl_->waiting();
}

AuditReport audit_text(std::string_view text, const std::string& file) {
    trace::Symbols symbols;
    trace::Reader reader(file, symbols);
    Auditor auditor(symbols);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const auto event = reader.next(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (event) {
            try {
                auditor.push(*event);
            } catch (const std::invalid_argument& refused) {
                throw reader.error(refused.what());
            }
        }
    }
    AuditReport report = auditor.finish();
    report.file = file;
    return report;
}

}  // namespace peerlane
