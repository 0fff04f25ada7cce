#pragma once
/// What earlier runs left behind, and what this one leaves: journal, record, stored verdicts.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/facts.hpp>
#include <peerlane/record.hpp>
#include <peerlane/verdict_cache.hpp>

#include "cli/doctor.hpp"

namespace peerlane::cli {

/// What the verdicts of this target depend on.
CacheKey key_of(const Target& target, const Globals& globals);

/// The file of this user's cache that holds the `kind` ("verdicts", "profile") of these devices; empty for a simulated
/// machine, which remembers what files given to it say and nothing else, and where there is no cache.
std::string cache_file(const Target& target, const CacheKey& key, const char* kind);

/// A simulated machine remembers what files given to it say, and nothing else: equal commands print equal bytes.
class DoctorMemory {
  public:
    DoctorMemory(const Target& target, const DoctorAsked& asked, CacheKey key, RecordedRun self);

    /// Steps of earlier runs that were never closed, from the journal and from the file of --record. Throws InputError
    /// for such a file that is no record: it is not replaced.
    std::vector<RecordedStep> interrupted();
    /// The file that told of them.
    [[nodiscard]] const std::string& told_by() const { return told_by_; }

    struct Kept {
        std::optional<Verdicts> verdicts{};  ///< of the pairs asked for, where they still hold
        std::optional<CacheKey> outdated{};  ///< of verdicts that do not
    };
    Kept kept(const std::vector<std::pair<int, int>>& pairs);
    void keep(const Verdicts& verdicts);

    /// Opens journal and record. Throws OutputError for the record.
    void begin(const Facts& facts);
    void begin(const prove::ProbeStep& step);
    void end(const prove::ProbeOutcome& outcome);
    /// Throws OutputError when the record is not whole.
    void finish(const Verdicts& verdicts, const Facts& facts);

    /// What people should know about these files.
    [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  private:
    void remember(const std::string& path, bool ours);
    void open(const std::string& path, bool ours, const Facts& facts);
    [[nodiscard]] std::string cache_path() const;

    struct OpenRecord {
        bool ours;
        std::unique_ptr<RecordWriter> writer;
    };
    const Target& target_;
    const DoctorAsked& asked_;
    CacheKey key_;
    RecordedRun self_;
    std::string journal_, told_by_;
    std::vector<RecordedStep> earlier_;
    std::vector<OpenRecord> records_;
    std::vector<std::string> notices_;
};

}  // namespace peerlane::cli
