#pragma once
/// The record of a doctor's run, `peerlane.record/1`: one JSON object a line, written ahead. The machine and the facts
/// stand in it before the first step, each step before it runs, its outcome after it, the verdicts at the end, so that
/// it can be replayed however the run ended, and tells which step took the host down.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/probe_host.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// Who ran it.
struct RecordedRun {
    std::string version;  ///< of peerlane
    bool simulated = false;
    std::uint64_t seed = 0;
    int process = 0;
    std::uint64_t process_start = 0;  ///< in the kernel's ticks since boot, 0 when not known
    std::string boot_id;              ///< empty when not known
    friend bool operator==(const RecordedRun&, const RecordedRun&) = default;
};

/// A step that began and never ended, or whose process could not be ended.
struct RecordedStep {
    prove::ProbeStep step;
    RecordedRun run;
    friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

struct Record {
    RecordedRun run;
    std::string machine;   ///< document `peerlane.machine/1`
    int machine_line = 0;  ///< where it stands in the file
    std::string facts;     ///< document of the facts; empty when there is none
    int facts_line = 0;
    std::vector<prove::ProbeOutcome> outcomes{};
    std::optional<Verdicts> verdicts{};  ///< empty when the run did not come to its end
    std::vector<RecordedStep> open{};    ///< in the order in which they began, those of earlier runs first
    friend bool operator==(const Record&, const Record&) = default;
};

/// Throws InputError, file:line: reason. A last line that was cut is left out: what it would have said did not happen
/// yet. Unknown keys are passed over.
Record read_record(std::string_view text, const std::string& file);

/// A record that is being written. Devices are those of the machine in it. A step is on disk before `begin`
/// returns. A line that cannot be written is not thrown about, for a run must not end because of its record: `failure`.
class RecordWriter {
  public:
    virtual ~RecordWriter() = default;
    virtual void begin(const prove::ProbeStep& step) = 0;
    /// Closes the step if it was begun, unless the outcome is frozen.
    virtual void end(const prove::ProbeOutcome& outcome) = 0;
    /// What is still open is named again in the last lines. `facts`: as they are now; empty: as they were.
    virtual void finish(const Verdicts& verdicts, const std::string& facts) = 0;
    /// Why something could not be written; empty when all was.
    [[nodiscard]] virtual std::string failure() const = 0;
};

/// Replaces `path` at once by a record of this run, `earlier` still open in it. Documents may hold line breaks. Throws
/// Error (call and path named) when the file cannot be made.
std::unique_ptr<RecordWriter> write_record(const std::string& path, const RecordedRun& run, const std::string& machine,
                                           const std::string& facts, const std::vector<RecordedStep>& earlier = {});

/// This process, on this boot of the host.
RecordedRun this_run(std::string version, bool simulated, std::uint64_t seed, std::string boot_id);

/// Whether the process of that run is still there, on the same boot.
bool still_at_work(const RecordedRun& run, const std::string& boot_id);

}  // namespace peerlane
