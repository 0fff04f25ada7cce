#include <peerlane/audit.hpp>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "audit/auditor_impl.hpp"

namespace peerlane {

using audit::Chain;
using audit::Deed;
using audit::Doing;
using audit::Entry;
using audit::What;
using trace::no_id;
using trace::Step;

namespace {
[[noreturn]] void refuse(const std::string& reason) {
    throw std::invalid_argument(reason);
}

template <typename T>
T& at_id(std::vector<T>& table, trace::Id id) {
    if (id >= table.size()) {
        table.resize(id + 1);
    }
    return table[id];
}
}  // namespace

Auditor::Impl::Impl(const trace::Symbols& symbols) : symbols_(symbols), words_(symbols), schedule_(this) {}

void Auditor::Impl::push(const trace::Event& event) {
    ++events_;
    line_ = event.line;
    thread_ = thread_chain(event.thread);
    std::visit([this](const auto& op) { take(op); }, event.operation);
}

Chain Auditor::Impl::thread_chain(Id thread) {
    while (threads_.size() <= thread) {
        threads_.push_back(-1);
    }
    if (threads_[thread] < 0) {
        threads_[thread] = schedule_.add_thread();
        words_.name_thread(static_cast<Chain>(threads_[thread]), thread);
    }
    return static_cast<Chain>(threads_[thread]);
}

const Auditor::Impl::StreamInfo& Auditor::Impl::stream(Id id) const {
    if (id >= streams_.size() || !streams_[id].known) {
        refuse(fmt::format("unknown stream \"{}\"", id == no_id ? "" : symbols_.streams.text(id)));
    }
    return streams_[id];
}

Chain Auditor::Impl::stream_chain(Id id, Chain thread) {
    stream(id);
    StreamInfo& info = streams_[id];
    if (info.kind != trace::StreamKind::per_thread) {
        return info.chain;
    }
    const auto known = info.by_thread.find(thread);
    if (known != info.by_thread.end()) {
        return known->second;
    }
    const Chain chain = schedule_.add_stream(info.device, info.context, info.kind);
    words_.name_stream(chain, id, info.device);
    info.by_thread.emplace(thread, chain);
    device_chains_[static_cast<std::size_t>(info.device)].push_back(chain);
    return chain;
}

void Auditor::Impl::need_device(int device) const {
    if (device < 0 || (machine_.devices > 0 && device >= machine_.devices)) {
        refuse(fmt::format("there is no device {}: the machine has {}", device, machine_.devices));
    }
}

const Entry& Auditor::Impl::need_memory(Id memory) const {
    const Entry& entry = ledger_.entry(memory);
    if (entry.state == Entry::State::unknown) {
        refuse(fmt::format("unknown memory \"{}\"", memory == no_id ? "" : symbols_.memories.text(memory)));
    }
    return entry;
}

Doing Auditor::Impl::on_host(What what, Id name) {
    Doing doing;
    doing.line = line_;
    doing.serial = ++serial_;
    doing.name = name;
    doing.chain = thread_;
    doing.thread = thread_;
    doing.what = what;
    return doing;
}

Doing Auditor::Impl::on_stream(What what, Id name, Id id) {
    Doing doing = on_host(what, name);
    doing.chain = stream_chain(id, thread_);
    doing.device = streams_[id].device;
    return doing;
}

void Auditor::Impl::take(const trace::Machine& op) {
    if (op.devices < 1) {
        refuse("a machine has at least one device");
    }
    if (machine_.devices != 0 && machine_.devices != op.devices) {
        refuse("a trace has one machine");
    }
    machine_ = op;
}

void Auditor::Impl::take(const trace::Stream& op) {
    need_device(op.device);
    StreamInfo& info = at_id(streams_, op.stream);
    if (info.known) {
        if (info.kind == op.kind && info.device == op.device && info.context == op.context) {
            return;
        }
        refuse(
            fmt::format("stream \"{}\" was made before, on device {}", symbols_.streams.text(op.stream), info.device));
    }
    info.known = true;
    info.kind = op.kind;
    info.device = op.device;
    info.context = op.context;
    const auto device = static_cast<std::size_t>(op.device);
    if (device >= device_chains_.size()) {
        device_chains_.resize(device + 1);
    }
    if (op.kind != trace::StreamKind::per_thread) {
        info.chain = schedule_.add_stream(op.device, op.context, op.kind);
        words_.name_stream(info.chain, op.stream, op.device);
        std::vector<Chain>& chains = device_chains_[device];
        if (std::find(chains.begin(), chains.end(), info.chain) == chains.end()) {
            chains.push_back(info.chain);
        }
    }
}

void Auditor::Impl::take(const trace::Alloc& op) {
    if (op.device != trace::host_device) {
        need_device(op.device);
    }
    if (op.bytes == 0) {
        refuse("an allocation has at least one byte");
    }
    const Entry& known = ledger_.entry(op.memory);
    if (known.state == Entry::State::live || known.state == Entry::State::stale) {
        refuse(fmt::format("memory \"{}\" is still in use, made at line {}", symbols_.memories.text(op.memory),
                           known.line));
    }
    if (op.stream != no_id) {
        stream(op.stream);
    }
    const audit::StorageId storage = ledger_.allocate(op, line_);
    StorageUse& use = at_id(uses_, storage);
    use.held = 0;
    use.freed = false;
    use.forget_at = 4096;
    use.history.clear();
}

void Auditor::Impl::take(const trace::Free& op) {
    const Entry& entry = need_memory(op.memory);
    if (entry.imported) {
        refuse(fmt::format("memory \"{}\" is an import: it is closed, not freed", symbols_.memories.text(op.memory)));
    }
    const Doing doing =
        op.stream == no_id ? on_host(What::free, op.memory) : on_stream(What::free, op.memory, op.stream);
    if (entry.state != Entry::State::live) {
        check_life(doing, op.memory, found_);
        find_all();
        return;
    }
    const audit::StorageId storage = entry.storage;
    ledger_.free(op.memory, line_);
    if (op.stream == no_id) {
        schedule_.host_free(doing, storage);
    } else {
        schedule_.submit_free(doing, storage);
    }
}

void Auditor::Impl::recycle(audit::StorageId storage) {
    uses_[storage].history.clear();
    ledger_.recycle(storage);
}

void Auditor::Impl::take(const trace::Import& op) {
    need_device(op.device);
    need_memory(op.of);
    const Entry& known = ledger_.entry(op.memory);
    const bool again = known.imported && known.opened > 0 && known.root == ledger_.entry(op.of).root;
    if (known.state == Entry::State::live && !again) {
        refuse(fmt::format("memory \"{}\" is still in use, made at line {}", symbols_.memories.text(op.memory),
                           known.line));
    }
    ledger_.import(op, line_);
    if (ledger_.entry(op.memory).state == Entry::State::stale) {
        find_stale(op.memory, line_, fmt::format("import {} is opened", words_.memory(op.memory)));
    }
}

void Auditor::Impl::take(const trace::Close& op) {
    const Entry& entry = need_memory(op.memory);
    if (!entry.imported) {
        refuse(fmt::format("memory \"{}\" is no import: it is freed, not closed", symbols_.memories.text(op.memory)));
    }
    if (entry.state == Entry::State::stale) {
        find_stale(op.memory, entry.end_line, fmt::format("import {} is still open", words_.memory(op.memory)));
    }
    ledger_.close(op.memory, line_);
}

void Auditor::Impl::take(const trace::Enable& op) {
    need_device(op.accessor);
    need_device(op.owner);
    ledger_.enable(op);
    check_slots(op);
}

void Auditor::Impl::take(const trace::Disable& op) {
    need_device(op.accessor);
    need_device(op.owner);
    ledger_.disable(op);
}

void Auditor::Impl::take(const trace::GrantAccess& op) {
    need_device(op.accessor);
    if (op.memory != no_id) {
        need_memory(op.memory);
    }
    ledger_.grant(op);
}

void Auditor::Impl::take(const trace::Record& op) {
    schedule_.record(on_stream(What::record, op.event, op.stream), op.event);
}

void Auditor::Impl::take(const trace::Wait& op) {
    if (op.stream == no_id) {
        schedule_.host_wait(on_host(What::wait, op.event), op.event);
    } else {
        schedule_.wait(on_stream(What::wait, op.event, op.stream), op.event);
    }
}

/// All chains that a stream's name may mean to this thread.
void Auditor::Impl::add_chains_of(Id id, std::vector<Chain>& chains) {
    chains.push_back(stream_chain(id, thread_));
}

void Auditor::Impl::take(const trace::Query& op) {
    if (op.stream != no_id) {
        stream(op.stream);
    }
    if (!op.done) {
        return;
    }
    if (op.stream != no_id) {
        chains_.clear();
        add_chains_of(op.stream, chains_);
        schedule_.host_sync(on_host(What::query, no_id), chains_);
    } else {
        schedule_.host_wait(on_host(What::wait, op.event), op.event);
    }
}

void Auditor::Impl::take(const trace::Sync& op) {
    chains_.clear();
    if (op.stream != no_id) {
        add_chains_of(op.stream, chains_);
    } else {
        need_device(op.device);
        const auto device = static_cast<std::size_t>(op.device);
        if (device < device_chains_.size()) {
            chains_ = device_chains_[device];
        }
    }
    schedule_.host_sync(on_host(What::sync, no_id), chains_);
}

void Auditor::Impl::take(const trace::Flag& op) {
    if (op.memory != no_id) {
        const Doing doing = on_host(What::host, no_id);
        need_memory(op.memory);
        check_range(doing, op.memory, op.offset, 4, true, found_);
        find_all();
    }
    at_id(flags_, op.flag) = {op.memory, op.offset};
}

void Auditor::Impl::add_access(const Step& step) {
    const Entry& entry = need_memory(step.target);
    if (entry.storage == audit::no_storage) {
        return;
    }
    const std::uint64_t size = ledger_.storage(entry.storage).bytes;
    Deed deed;
    deed.kind = step.kind;
    deed.target = entry.storage;
    deed.memory = step.target;
    deed.begin = std::min(step.value, size);
    deed.end = step.bytes > size - deed.begin ? size : deed.begin + step.bytes;
    if (deed.begin < deed.end) {
        deeds_.push_back(deed);
    }
}

void Auditor::Impl::add_flag(const Step& step) {
    Deed deed;
    deed.kind = step.kind;
    deed.equals = step.equals;
    deed.scope = step.scope;
    deed.order = step.order;
    deed.target = step.target;
    deed.begin = step.value;
    deeds_.push_back(deed);
}

void Auditor::Impl::take(const trace::Launch& op) {
    Doing doing = on_stream(What::launch, op.name, op.stream);
    doing.ctas = op.ctas;
    doing.resident = op.resident;
    const Id context = op.context == no_id ? streams_[op.stream].context : op.context;
    deeds_.clear();
    for (const Step& step : op.steps) {
        check_step(doing, context, step, found_);
        if (step.kind == Step::Kind::read || step.kind == Step::Kind::write) {
            add_access(step);
            note_uses(doing, step);
        } else {
            add_flag(step);
        }
    }
    find_all();
    schedule_.submit(doing, deeds_);
}

void Auditor::Impl::take(const trace::FlagStep& op) {
    const What what = op.step.kind == Step::Kind::signal ? What::signal : What::wait_flag;
    const Doing doing = op.stream == no_id ? on_host(what, op.step.target) : on_stream(what, op.step.target, op.stream);
    if (op.step.target < flags_.size() && flags_[op.step.target].memory != no_id) {
        check_life(doing, flags_[op.step.target].memory, found_);
        find_all();
    }
    deeds_.clear();
    add_flag(op.step);
    if (op.stream == no_id) {
        schedule_.host(doing, deeds_);
    } else {
        schedule_.submit(doing, deeds_);
    }
}

void Auditor::Impl::take(const trace::Copy& op) {
    Doing doing = on_stream(What::copy, op.dst, op.stream);
    doing.other = op.src;
    const Entry& dst = need_memory(op.dst);
    const Entry& src = need_memory(op.src);
    const auto room = [&](const Entry& entry, std::uint64_t offset) {
        const std::uint64_t size = entry.storage == audit::no_storage ? 0 : ledger_.storage(entry.storage).bytes;
        return offset < size ? size - offset : 0;
    };
    const std::uint64_t bytes =
        op.bytes == trace::to_end ? std::min(room(dst, op.dst_offset), room(src, op.src_offset)) : op.bytes;
    check_copy(doing, op, bytes, found_);
    find_all();
    const auto pageable = [&](const Entry& entry) {
        return entry.storage != audit::no_storage && ledger_.storage(entry.storage).kind == trace::MemoryKind::pageable;
    };
    Step read{};
    read.target = op.src;
    read.value = op.src_offset;
    read.bytes = bytes;
    Step write = read;
    write.kind = Step::Kind::write;
    write.target = op.dst;
    write.value = op.dst_offset;
    deeds_.clear();
    add_access(read);
    if (pageable(src)) {
        // The call itself reads pageable memory before it returns; only what arrives is late.
        Doing staging = doing;
        staging.chain = thread_;
        staging.device = trace::host_device;
        schedule_.host(staging, deeds_);
        deeds_.clear();
    }
    add_access(write);
    schedule_.submit(doing, deeds_);
    if (pageable(dst)) {
        // And a copy to pageable memory returns when it is done.
        Doing whole = doing;
        whole.chain = thread_;
        whole.device = trace::host_device;
        const Chain chain = doing.chain;
        schedule_.host_sync(whole, std::span<const Chain>(&chain, 1));
    }
}

void Auditor::Impl::take(const trace::HostAccess& op) {
    const Doing doing = on_host(What::host, no_id);
    deeds_.clear();
    for (const Step& step : op.steps) {
        need_memory(step.target);
        check_life(doing, step.target, found_);
        check_range(doing, step.target, step.value, step.bytes, step.kind == Step::Kind::write, found_);
        add_access(step);
    }
    find_all();
    schedule_.host(doing, deeds_);
}

void Auditor::Impl::take(const trace::Blocks& op) {
    need_device(op.device);
    schedule_.blocks(on_host(What::blocks, op.what), op.device);
}

AuditReport Auditor::Impl::finish() {
    schedule_.finish();
    find_deadlocks();
    find_leaks();
    AuditReport report;
    report.events = events_;
    report.findings = book_.all();
    std::stable_sort(report.findings.begin(), report.findings.end(), [](const AuditFinding& a, const AuditFinding& b) {
        return a.line != b.line ? a.line < b.line : a.code < b.code;
    });
    return report;
}

}  // namespace peerlane
