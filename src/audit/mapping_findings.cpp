/// Findings about who may touch what: mappings, lifetimes, ranges, imports, slots.

#include <algorithm>

#include <fmt/format.h>

#include "audit/auditor_impl.hpp"

namespace peerlane {

using audit::Doing;
using audit::Entry;
using audit::Fault;
using audit::Storage;
using trace::no_id;
using trace::Step;

void Auditor::Impl::find_all() {
    for (Keyed& keyed : found_) {
        find(std::move(keyed));
    }
    found_.clear();
}

AuditFinding Auditor::Impl::finding(const char* code, std::uint64_t line, std::string text, std::string cure) const {
    AuditFinding f;
    f.code = code;
    f.line = line;
    f.text = std::move(text);
    f.cure = std::move(cure);
    return f;
}

Auditor::Impl::Reason Auditor::Impl::reason(Fault fault, int accessor, Id context, Id memory, bool write) const {
    const Entry& entry = ledger_.entry(memory);
    const std::string name = words_.memory(memory);
    const int owner = entry.storage == audit::no_storage ? -1 : ledger_.storage(entry.storage).device;
    const auto enable = [&] {
        return fmt::format(
            "enable access {}:{} before the launch (cudaDeviceEnablePeerAccess({}) while device {} is current), or "
            "copy the "
            "bytes to device {}",
            accessor, owner, owner, accessor, accessor);
    };
    switch (fault) {
        case Fault::none:
            return {};
        case Fault::unmapped:
            return {"unmapped-access",
                    fmt::format("{} is memory of device {}, which device {} may not reach: access {}:{} is not enabled",
                                name, owner, accessor, accessor, owner),
                    enable()};
        case Fault::wrong_direction:
            return {"wrong-direction",
                    fmt::format(
                        "{} is memory of device {}, which device {} may not reach: only the opposite access {}:{} is "
                        "enabled, and kernels need their own direction",
                        name, owner, accessor, owner, accessor),
                    fmt::format("{}, or let device {} issue the access", enable(), owner)};
        case Fault::grant_missing: {
            const Storage& storage = ledger_.storage(entry.storage);
            const bool pool = storage.kind == trace::MemoryKind::pool;
            const bool readable = write && ledger_.granted(accessor, storage) == trace::Grant::read;
            return {
                "grant-missing",
                fmt::format("{} is {} memory of device {} {} device {}{}", name, to_string(storage.kind), owner,
                            readable ? "granted for reading only to" : "without a grant to", accessor,
                            accessor == owner ? "" : "; enabling peer access does not cover it"),
                fmt::format("grant device {} {} access to {} ({})", accessor, write ? "readwrite" : "read",
                            pool ? "the pool" : "the allocation", pool ? "cudaMemPoolSetAccess" : "cuMemSetAccess")};
        }
        case Fault::other_context: {
            const Storage& storage = ledger_.storage(entry.storage);
            return {
                "other-context",
                fmt::format(
                    "{} belongs to {} of device {}, and the kernel runs in {} of device {}: what is mapped belongs "
                    "to another context",
                    name, words_.context(storage.context), owner, words_.context(context), accessor),
                accessor == owner
                    ? std::string("allocate and launch in the same context")
                    : fmt::format("use primary contexts on both sides, or enable access {}:{} between just these two "
                                  "contexts (cuCtxEnablePeerAccess)",
                                  accessor, owner)};
        }
        case Fault::use_after_free:
            return {"use-after-free", fmt::format("{} was freed at line {}", name, entry.end_line),
                    "free it after the last use"};
        case Fault::closed:
            return {"use-after-free", fmt::format("import {} was closed at line {}", name, entry.end_line),
                    "close it after the last use"};
        case Fault::stale:
            return {"stale-mapping",
                    fmt::format("the memory behind import {}, {}, was freed at line {}", name,
                                words_.memory(entry.root), entry.end_line),
                    "close every import, let the exporter know, and only then free"};
    }
    return {};
}

void Auditor::Impl::check_life(const Doing& doing, Id memory, std::vector<Keyed>& found) const {
    const Entry& entry = ledger_.entry(memory);
    Fault fault = Fault::none;
    switch (entry.state) {
        case Entry::State::live:
        case Entry::State::unknown:
            return;
        case Entry::State::freed:
            fault = Fault::use_after_free;
            break;
        case Entry::State::closed:
            fault = Fault::closed;
            break;
        case Entry::State::stale:
            fault = Fault::stale;
            break;
    }
    const Reason why = reason(fault, doing.device, no_id, memory, false);
    Keyed keyed{finding(why.code, doing.line, fmt::format("{}: {}", words_.call(doing), why.why), why.cure),
                fmt::format("{} {} {}", memory, static_cast<int>(doing.what), doing.name)};
    keyed.finding.accessor = doing.device;
    keyed.finding.memory = words_.memory(memory);
    keyed.finding.lines = {entry.end_line};
    if (fault == Fault::stale) {
        keyed.key = fmt::format("{} {}", memory, entry.line);
    }
    found.push_back(std::move(keyed));
}

void Auditor::Impl::check_range(const Doing& doing, Id memory, std::uint64_t offset, std::uint64_t bytes, bool write,
                                std::vector<Keyed>& found) const {
    const Entry& entry = ledger_.entry(memory);
    if (entry.storage == audit::no_storage) {
        return;
    }
    const Storage& storage = ledger_.storage(entry.storage);
    const bool inside =
        bytes == trace::to_end ? offset <= storage.bytes : bytes <= storage.bytes && offset <= storage.bytes - bytes;
    if (inside || bytes == 0) {
        return;
    }
    const std::string what = bytes == trace::to_end ? fmt::format("from byte {}", offset)
                                                    : fmt::format("{} bytes from byte {}", bytes, offset);
    Keyed keyed{finding("out-of-range", doing.line,
                        fmt::format("{} {} {} of {}, which has {} bytes", words_.call(doing),
                                    write ? "writes" : "reads", what, words_.memory(memory), storage.bytes),
                        fmt::format("stay within the {} bytes allocated at line {}", storage.bytes, storage.line)),
                fmt::format("{} {} {} {} {}", memory, static_cast<int>(doing.what), doing.name, write, doing.chain)};
    keyed.finding.accessor = doing.device;
    keyed.finding.owner = storage.device;
    keyed.finding.memory = words_.memory(memory);
    keyed.finding.lines = {storage.line};
    found.push_back(std::move(keyed));
}

void Auditor::Impl::check_step(const Doing& doing, Id context, const Step& step, std::vector<Keyed>& found) const {
    const bool flag = step.kind == Step::Kind::wait || step.kind == Step::Kind::signal;
    const bool write = step.kind == Step::Kind::write || step.kind == Step::Kind::signal;
    Id memory = step.target;
    if (flag) {
        memory = step.target < flags_.size() ? flags_[step.target].memory : no_id;
        if (memory == no_id) {
            return;
        }
    } else {
        need_memory(memory);
        check_range(doing, memory, step.value, step.bytes, write, found);
    }
    const Entry& entry = ledger_.entry(memory);
    if (entry.storage == audit::no_storage) {
        check_life(doing, memory, found);
        return;
    }
    const Fault fault = ledger_.kernel_access(doing.device, context, entry, write);
    if (fault == Fault::none) {
        return;
    }
    const int owner = ledger_.storage(entry.storage).device;
    const Reason why = reason(fault, doing.device, context, memory, write);
    const std::string deed = flag ? fmt::format("{} flag {} in {}", write ? "signals" : "waits for",
                                                words_.flag(step.target), words_.memory(memory))
                                  : fmt::format("{} {}", write ? "writes" : "reads", words_.memory(memory));
    Keyed keyed{finding(why.code, doing.line, fmt::format("{} {}: {}", words_.call(doing), deed, why.why), why.cure),
                fmt::format("{} {} {} {}", doing.device, memory, entry.line, doing.name)};
    keyed.finding.accessor = doing.device;
    keyed.finding.owner = owner;
    keyed.finding.memory = words_.memory(memory);
    keyed.finding.lines = {ledger_.storage(entry.storage).line};
    found.push_back(std::move(keyed));
}

void Auditor::Impl::check_copy(const Doing& doing, const trace::Copy& copy, std::uint64_t bytes,
                               std::vector<Keyed>& found) const {
    check_life(doing, copy.src, found);
    if (copy.dst != copy.src) {
        check_life(doing, copy.dst, found);
    }
    check_range(doing, copy.src, copy.src_offset, bytes, false, found);
    check_range(doing, copy.dst, copy.dst_offset, bytes, true, found);
    const Entry& src = ledger_.entry(copy.src);
    const Entry& dst = ledger_.entry(copy.dst);
    if (ledger_.copy_staged(src, dst)) {
        const int from = ledger_.storage(src.storage).device;
        const int to = ledger_.storage(dst.storage).device;
        const bool any_granted =
            ledger_.storage(src.storage).granted_kind() || ledger_.storage(dst.storage).granted_kind();
        Keyed keyed{
            finding("copy-staged-by-driver", doing.line,
                    fmt::format("{} from device {} to device {}: neither {}:{} nor {}:{} is {}, so the driver stages "
                                "it through the "
                                "host",
                                words_.call(doing), from, to, from, to, to, from,
                                any_granted ? "enabled or granted" : "enabled"),
                    any_granted
                        ? fmt::format(
                              "grant the memory to the other device ({}:{} or {}:{}, a copy needs only one of them; "
                              "enabling does not reach pools and virtual memory), or stage it yourself",
                              from, to, to, from)
                        : fmt::format("enable access {}:{} or {}:{} first (a copy needs only one of them), or stage it "
                                      "yourself",
                                      from, to, to, from)),
            fmt::format("{} {} {}", from, to, doing.chain)};
        keyed.finding.severity = AuditFinding::Severity::warn;
        keyed.finding.accessor = from;
        keyed.finding.owner = to;
        keyed.finding.memory = words_.memory(copy.dst);
        found.push_back(std::move(keyed));
    }
    if (copy.api != trace::CopyApi::plain) {
        return;
    }
    const int current = copy.current >= 0 ? copy.current : doing.device;
    for (const Id memory : {copy.src, copy.dst}) {
        const Entry& entry = ledger_.entry(memory);
        if (!ledger_.copy_refused(entry, current)) {
            continue;
        }
        const Reason why = reason(Fault::grant_missing, current, no_id, memory, memory == copy.dst);
        Keyed keyed{finding(why.code, doing.line,
                            fmt::format("{} by the default call with device {} current is refused: {}",
                                        words_.call(doing), current, why.why),
                            why.cure + "; or use the peer copy call, or let the owner issue it"),
                    fmt::format("{} {} {} copy", current, memory, entry.line)};
        keyed.finding.accessor = current;
        keyed.finding.owner = ledger_.storage(entry.storage).device;
        keyed.finding.memory = words_.memory(memory);
        found.push_back(std::move(keyed));
    }
}

void Auditor::Impl::note_uses(const Doing& doing, const Step& step) {
    const Entry& entry = ledger_.entry(step.target);
    if (entry.storage != audit::no_storage) {
        const int owner = ledger_.storage(entry.storage).device;
        if (owner != trace::host_device && owner != doing.device) {
            ledger_.used(doing.device, owner);
        }
    }
}

void Auditor::Impl::check_slots(const trace::Enable& enable) {
    const bool refused = enable.result == trace::EnableResult::limit;
    std::vector<audit::Ledger::Peer> peers = ledger_.peers(enable.accessor);
    if (!refused && (machine_.slots == 0 || peers.size() <= static_cast<std::size_t>(machine_.slots))) {
        return;
    }
    std::string list;
    for (const auto& peer : peers) {
        list += fmt::format("{}{} ({} accesses)", list.empty() ? "" : ", ", peer.owner, peer.uses);
    }
    const std::string text =
        refused
            ? fmt::format("access {}:{} was refused: no peer slot of device {} is left; it has enabled {}: {}",
                          enable.accessor, enable.owner, enable.accessor, peers.size(), list.empty() ? "none" : list)
            : fmt::format("device {} has {} peers enabled at once and the machine has {} slots a device: {}",
                          enable.accessor, peers.size(), machine_.slots, list);
    std::string cure = fmt::format("stage the copies between {} and {}", enable.accessor, enable.owner);
    if (peers.empty()) {
        cure += "; the slots are held outside this trace";
    } else {
        const auto least =
            std::min_element(peers.begin(), peers.end(), [](const auto& a, const auto& b) { return a.uses < b.uses; });
        cure = fmt::format(
            "keep the pairs that kernels use most: {}:{} has {} accesses so far and could be disabled; or {}",
            enable.accessor, least->owner, least->uses, cure);
    }
    Keyed keyed{finding("peer-slots", line_, text, cure), fmt::format("{} {}", enable.accessor, enable.owner)};
    keyed.finding.severity = AuditFinding::Severity::warn;
    keyed.finding.accessor = enable.accessor;
    keyed.finding.owner = enable.owner;
    find(std::move(keyed));
}

/// An import outlives its memory: found once, at its first use or else where it became stale.
void Auditor::Impl::find_stale(Id memory, std::uint64_t line, const std::string& how) {
    const Entry& entry = ledger_.entry(memory);
    if (book_.has("stale-mapping", fmt::format("{} {}", memory, entry.line))) {
        return;
    }
    const Reason why = reason(Fault::stale, entry.importer, no_id, memory, false);
    Keyed keyed{finding(why.code, line, fmt::format("{}: {}", how, why.why), why.cure),
                fmt::format("{} {}", memory, entry.line)};
    keyed.finding.accessor = entry.importer;
    keyed.finding.memory = words_.memory(memory);
    keyed.finding.lines = {entry.line, entry.end_line};
    find(std::move(keyed));
}

void Auditor::Impl::find_leaks() {
    for (Id memory = 0; memory < ledger_.names(); ++memory) {
        const Entry& entry = ledger_.entry(memory);
        if (!entry.imported || entry.opened == 0) {
            continue;
        }
        if (entry.state == Entry::State::stale) {
            find_stale(memory, entry.end_line, fmt::format("import {} is still open", words_.memory(memory)));
        }
        const std::uint64_t bytes = entry.storage == audit::no_storage ? 0 : ledger_.storage(entry.storage).bytes;
        Keyed keyed{
            finding("leaked-mapping", entry.line,
                    fmt::format("import {} of {}, opened at line {} on device {}, is still open at the end ({}{})",
                                words_.memory(memory), words_.memory(entry.root), entry.line, entry.importer,
                                entry.opened == 1 ? std::string("one close is missing")
                                                  : fmt::format("{} closes are missing", entry.opened),
                                bytes == 0 ? std::string() : fmt::format("; it keeps {} bytes of the exporter", bytes)),
                    "close it once for each time it was opened"),
            fmt::format("{} {}", memory, entry.line)};
        keyed.finding.severity = AuditFinding::Severity::warn;
        keyed.finding.accessor = entry.importer;
        keyed.finding.memory = words_.memory(memory);
        find(std::move(keyed));
    }
}

}  // namespace peerlane
