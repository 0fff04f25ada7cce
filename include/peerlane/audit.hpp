#pragma once
/// Who may touch what, who waits for whom, and what races: events in, findings out. No device is needed and none is
/// asked.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/trace.hpp>

namespace peerlane {

/// One cause, named by a code of docs/audit.md.
struct AuditFinding {
    enum class Severity : std::uint8_t { warn, error };
    std::string code{};
    Severity severity = Severity::error;
    std::uint64_t line = 0;  ///< of the call that the finding is about
    std::string text{};
    std::string cure{};
    int accessor = -1, owner = -1;       ///< devices, -1 where none is concerned (or the host)
    std::string memory{};                ///< or flag; empty where none is concerned
    std::vector<std::uint64_t> lines{};  ///< the other calls that the text names
    std::vector<std::string> chain{};    ///< of a cycle: who waits for whom, one wait each
    std::uint64_t count = 1;             ///< times seen; line and text are those of the first
    friend bool operator==(const AuditFinding&, const AuditFinding&) = default;
};

struct AuditReport {
    std::string file{};  ///< trace that was read; empty for a live audit
    std::uint64_t events = 0;
    std::vector<AuditFinding> findings{};  ///< sorted by line, then code
    /// 2 with an error among the findings, 1 with warnings only, 0 without any.
    [[nodiscard]] int status() const;
    friend bool operator==(const AuditReport&, const AuditReport&) = default;
};

/// May an accessor's kernel touch memory, and if not, why not and which call mends it.
struct AccessAnswer {
    bool allowed = false;
    bool copy_direct = false;  ///< a copy between the two goes without staging by the driver
    std::string code{};        ///< of the finding that an access would give; empty when allowed
    std::string why{};
    std::string cure{};
    friend bool operator==(const AccessAnswer&, const AccessAnswer&) = default;
};

/// Takes events in the order of the host's calls and finds what is wrong with them. Keeps what is in flight: mappings,
/// live allocations with the accesses not yet known to all, and queued work that waits for flags. Not safe to use from
/// two threads at once. `symbols` must outlive it.
class Auditor {
  public:
    explicit Auditor(const trace::Symbols& symbols);
    ~Auditor();
    Auditor(Auditor&&) noexcept;
    Auditor& operator=(Auditor&&) noexcept;

    /// Throws std::invalid_argument when the event names something that does not exist (a stream never made, memory
    /// never allocated, a device the machine does not have) or makes something twice.
    void push(const trace::Event& event);
    /// Ends the trace: what still waits can never go on, what is still open was leaked. Call once.
    AuditReport finish();
    /// Findings so far, in the order found. A wait that hangs is known only at the end.
    [[nodiscard]] const std::vector<AuditFinding>& findings() const;
    /// Operations held because a flag that they, or what comes before them, wait for is not decided yet.
    [[nodiscard]] std::size_t in_flight() const;

    /// Bytes from `offset` of `memory`, by a kernel of `accessor` in `context`, as mappings stand now.
    [[nodiscard]] AccessAnswer explain(int accessor, trace::Id memory, std::uint64_t bytes = trace::to_end,
                                       std::uint64_t offset = 0, trace::Grant access = trace::Grant::read,
                                       trace::Id context = trace::no_id) const;
    /// Every access of the launch that would fault or leave its allocation, before it is issued. Changes nothing.
    [[nodiscard]] std::vector<AuditFinding> check(const trace::Launch& launch, std::uint64_t line = 0,
                                                  trace::Id thread = 0) const;
    /// After a device reported an illegal access: the accesses that may have caused it, most likely first (the latest
    /// forbidden ones before those that leave an allocation or come after its free).
    [[nodiscard]] std::vector<AuditFinding> explain_fault() const;
    /// Who waits for whom now, one line each: the report of a bounded wait that expired.
    [[nodiscard]] std::vector<std::string> waiting() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Audits a whole trace held in memory. Throws InputError: file:line: reason.
AuditReport audit_text(std::string_view text, const std::string& file);

const char* to_string(AuditFinding::Severity severity);
/// The report for people: a line for each finding with its cure below, and a last line with the counts.
std::string to_table(const AuditReport& report);
/// The report as `peerlane.audit/1`, indented by two, without a final line end; and read back. Throws InputError named
/// `file`.
std::string to_json(const AuditReport& report);
AuditReport audit_report_from_json(std::string_view text, const std::string& file);

}  // namespace peerlane
