#pragma once
/// The auditor's parts: calls in (auditor.cpp), mapping findings (mapping_findings.cpp), order findings
/// (order_findings.cpp).

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <peerlane/audit.hpp>

#include "audit/book.hpp"
#include "audit/history.hpp"
#include "audit/ledger.hpp"
#include "audit/schedule.hpp"
#include "audit/words.hpp"

namespace peerlane {

class Auditor::Impl final : public audit::Sink {
  public:
    using Id = trace::Id;
    explicit Impl(const trace::Symbols& symbols);
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void push(const trace::Event& event);
    AuditReport finish();
    [[nodiscard]] const std::vector<AuditFinding>& findings() const { return book_.all(); }
    [[nodiscard]] std::size_t in_flight() const { return schedule_.held(); }
    [[nodiscard]] AccessAnswer explain(int accessor, Id memory, std::uint64_t bytes, std::uint64_t offset,
                                       trace::Grant access, Id context) const;
    [[nodiscard]] std::vector<AuditFinding> check(const trace::Launch& launch, std::uint64_t line, Id thread) const;
    [[nodiscard]] std::vector<AuditFinding> explain_fault() const;
    [[nodiscard]] std::vector<std::string> waiting() const;

    void accessed(const audit::Doing& doing, const audit::Deed& deed, audit::Tick tick,
                  const audit::Clock& clock) override;
    void freed(const audit::Doing& doing, audit::StorageId storage, const audit::Clock& clock) override;
    void met(const audit::Doing& doing, const audit::Deed& wait, const std::vector<const audit::Sent*>& seen) override;
    void may_miss(const audit::Doing& doing, const audit::Deed& wait, const audit::Sent& hiding) override;
    void never_fits(const audit::Doing& doing, const audit::Deed& wait) override;
    void behind_spin(const audit::Doing& call, const audit::Doing& doing, const audit::Deed& wait,
                     const audit::Sent& sent) override;
    void held(const audit::Doing& doing, std::span<const audit::Deed> deeds) override;
    void finished(const audit::Doing& doing, std::span<const audit::Deed> deeds) override;

  private:
    struct StreamInfo {
        bool known = false;
        trace::StreamKind kind = trace::StreamKind::nonblocking;
        int device = 0;
        Id context = trace::no_id;
        audit::Chain chain = 0;
        /// Kind per-thread: every thread that names it means a stream of its own.
        std::unordered_map<audit::Chain, audit::Chain> by_thread{};
    };
    struct FlagInfo {
        Id memory = trace::no_id;
        std::uint64_t offset = 0;
    };
    struct StorageUse {
        std::uint32_t held = 0;  ///< deeds of held calls
        bool freed = false;      ///< the free happened
        std::size_t forget_at = 4096;
        audit::History history{};
    };
    /// A finding with what tells it from others of its code.
    struct Keyed {
        AuditFinding finding{};
        std::string key{};
    };

    // auditor.cpp
    void take(const trace::Machine& op);
    void take(const trace::Stream& op);
    void take(const trace::Alloc& op);
    void take(const trace::Free& op);
    void take(const trace::Import& op);
    void take(const trace::Close& op);
    void take(const trace::Enable& op);
    void take(const trace::Disable& op);
    void take(const trace::GrantAccess& op);
    void take(const trace::Record& op);
    void take(const trace::Wait& op);
    void take(const trace::Query& op);
    void take(const trace::Sync& op);
    void take(const trace::Copy& op);
    void take(const trace::Flag& op);
    void take(const trace::Launch& op);
    void take(const trace::FlagStep& op);
    void take(const trace::HostAccess& op);
    void take(const trace::Blocks& op);
    [[nodiscard]] audit::Doing on_stream(audit::What what, Id name, Id stream);
    [[nodiscard]] audit::Doing on_host(audit::What what, Id name);
    audit::Chain thread_chain(Id thread);
    audit::Chain stream_chain(Id stream, audit::Chain thread);
    const StreamInfo& stream(Id id) const;
    void need_device(int device) const;
    const audit::Entry& need_memory(Id memory) const;
    void sync_chains(const audit::Doing& doing, std::span<const audit::Chain> chains);
    void add_chains_of(Id stream, std::vector<audit::Chain>& chains);
    /// Adds the deed of a read or write, as far as it stays within live memory.
    void add_access(const trace::Step& step);
    void add_flag(const trace::Step& step);
    void recycle(audit::StorageId storage);

    // mapping_findings.cpp
    void find(Keyed&& keyed) { book_.add(std::move(keyed.finding), keyed.key); }
    /// What the checks of this event found.
    void find_all();
    struct Reason {
        const char* code = "";
        std::string why{}, cure{};
    };
    [[nodiscard]] Reason reason(audit::Fault fault, int accessor, Id context, Id memory, bool write) const;
    /// What is wrong with one step of a kernel; appends nothing when all is well.
    void check_step(const audit::Doing& doing, Id context, const trace::Step& step, std::vector<Keyed>& found) const;
    void check_range(const audit::Doing& doing, Id memory, std::uint64_t offset, std::uint64_t bytes, bool write,
                     std::vector<Keyed>& found) const;
    void check_life(const audit::Doing& doing, Id memory, std::vector<Keyed>& found) const;
    void check_copy(const audit::Doing& doing, const trace::Copy& copy, std::uint64_t bytes,
                    std::vector<Keyed>& found) const;
    void check_slots(const trace::Enable& enable);
    void find_stale(Id memory, std::uint64_t line, const std::string& how);
    void find_leaks();
    void note_uses(const audit::Doing& doing, const trace::Step& step);
    [[nodiscard]] AuditFinding finding(const char* code, std::uint64_t line, std::string text, std::string cure) const;

    // order_findings.cpp
    void find_race(const audit::Access& a, const audit::Access& b);
    void find_busy_free(const audit::Doing& free, audit::StorageId storage, const std::string& user,
                        std::uint64_t user_line);
    void find_deadlocks();

    const trace::Symbols& symbols_;
    audit::Words words_;
    audit::Ledger ledger_{};
    audit::Schedule schedule_;
    audit::Book book_{};
    trace::Machine machine_{};
    std::vector<std::int64_t> threads_{};  ///< chain by thread id, -1 not seen
    std::vector<StreamInfo> streams_{};
    std::vector<FlagInfo> flags_{};
    std::vector<std::vector<audit::Chain>> device_chains_{};
    std::vector<StorageUse> uses_{};
    // of the event being taken
    std::uint64_t line_ = 0;
    audit::Chain thread_ = 0;
    std::uint64_t serial_ = 0, events_ = 0;
    std::vector<audit::Deed> deeds_{};
    std::vector<Keyed> found_{};
    std::vector<audit::Chain> chains_{};
};

}  // namespace peerlane
