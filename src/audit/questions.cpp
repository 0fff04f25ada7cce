/// What an auditor answers without taking a call: may this access, what would this launch do, what caused the fault,
/// who waits.

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "audit/auditor_impl.hpp"

namespace peerlane {

using audit::Doing;
using audit::Entry;
using audit::Fault;
using audit::Storage;
using trace::no_id;
using trace::Step;

AccessAnswer Auditor::Impl::explain(int accessor, Id memory, std::uint64_t bytes, std::uint64_t offset,
                                    trace::Grant access, Id context) const {
    const Entry& entry = need_memory(memory);
    AccessAnswer answer;
    const bool write = access == trace::Grant::readwrite;
    const Fault fault = ledger_.kernel_access(accessor, context, entry, write);
    if (entry.storage != audit::no_storage) {
        const Storage& storage = ledger_.storage(entry.storage);
        answer.copy_direct =
            storage.device == trace::host_device || storage.device == accessor ||
            storage.kind == trace::MemoryKind::managed || ledger_.enabled_any(accessor, storage.device) ||
            ledger_.enabled_any(storage.device, accessor) || (entry.imported && entry.importer == accessor) ||
            (storage.granted_kind() && ledger_.granted(accessor, storage) != trace::Grant::none);
        const bool inside = bytes == trace::to_end ? offset <= storage.bytes
                                                   : bytes <= storage.bytes && offset <= storage.bytes - bytes;
        if (fault == Fault::none && !inside) {
            answer.code = "out-of-range";
            answer.why = fmt::format("{} has {} bytes", words_.memory(memory), storage.bytes);
            answer.cure = "stay within the allocation";
            return answer;
        }
    }
    if (fault != Fault::none) {
        Reason why = reason(fault, accessor, context, memory, write);
        answer.code = why.code;
        answer.why = std::move(why.why);
        answer.cure = std::move(why.cure);
        return answer;
    }
    const Storage& storage = ledger_.storage(entry.storage);
    answer.allowed = true;
    answer.why = storage.device == trace::host_device           ? "host memory is open to every device"
                 : storage.kind == trace::MemoryKind::managed   ? "managed memory is open to every device"
                 : storage.device == accessor                   ? "it is the device's own memory"
                 : entry.imported && entry.importer == accessor ? "the import mapped it"
                 : storage.granted_kind()                       ? "it was granted"
                                          : fmt::format("access {}:{} is enabled", accessor, storage.device);
    return answer;
}

std::vector<AuditFinding> Auditor::Impl::check(const trace::Launch& launch, std::uint64_t line, Id thread) const {
    const StreamInfo& info = stream(launch.stream);
    Doing doing;
    doing.line = line;
    doing.name = launch.name;
    doing.device = info.device;
    doing.what = audit::What::launch;
    doing.chain = info.chain;
    if (info.kind == trace::StreamKind::per_thread) {
        const auto known = thread < threads_.size() && threads_[thread] >= 0
                               ? info.by_thread.find(static_cast<audit::Chain>(threads_[thread]))
                               : info.by_thread.end();
        doing.chain = known == info.by_thread.end() ? thread_ : known->second;
    }
    std::vector<Keyed> found;
    for (const Step& step : launch.steps) {
        check_step(doing, launch.context == no_id ? info.context : launch.context, step, found);
    }
    std::vector<AuditFinding> findings;
    for (Keyed& keyed : found) {
        findings.push_back(std::move(keyed.finding));
    }
    return findings;
}

std::vector<AuditFinding> Auditor::Impl::explain_fault() const {
    const auto rank = [](const AuditFinding& f) {
        const std::string& c = f.code;
        if (c == "unmapped-access" || c == "wrong-direction" || c == "grant-missing" || c == "other-context") {
            return 0;
        }
        return c == "stale-mapping" || c == "use-after-free" || c == "free-while-queued" || c == "out-of-range" ? 1 : 2;
    };
    std::vector<AuditFinding> causes;
    std::copy_if(book_.all().begin(), book_.all().end(), std::back_inserter(causes),
                 [&](const AuditFinding& f) { return rank(f) < 2; });
    std::stable_sort(causes.begin(), causes.end(), [&](const AuditFinding& a, const AuditFinding& b) {
        return rank(a) != rank(b) ? rank(a) < rank(b) : a.line > b.line;
    });
    return causes;
}

std::vector<std::string> Auditor::Impl::waiting() const {
    std::vector<std::string> lines;
    for (const audit::Hop& hop : schedule_.waiting()) {
        lines.push_back(words_.hop(hop));
    }
    return lines;
}

}  // namespace peerlane
