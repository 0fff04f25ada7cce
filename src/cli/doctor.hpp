#pragma once
/// The doctor: what was asked of it, and what it found, as values.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/compare.hpp>
#include <peerlane/facts.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/profile.hpp>
#include <peerlane/record.hpp>
#include <peerlane/verdict_cache.hpp>
#include <peerlane/verdicts.hpp>

#include "cli/command.hpp"
#include "cli/doctor_soak.hpp"
#include "cli/target.hpp"

namespace peerlane::cli {

/// What verdicts come to, as against how the command ends.
using Health = peerlane::Status;

struct DoctorAsked {
    bool quick = false, fresh = false, repeat_interrupted = false;
    std::vector<std::pair<int, int>> pairs{};  ///< accessor, owner; empty: all
    std::vector<Check> required{};             ///< of every pair
    std::string record{};                      ///< empty: none
    std::string cache{};                       ///< empty: none
    bool passive = false;                      ///< nothing is moved: claims, links, counters, findings
    bool oneline = false;
    std::string prometheus{};  ///< file of metrics; empty: none
    std::string expect{};      ///< document of a machine as it should be; empty: none
    double soak_s = 0;         ///< load after the proof; 0: none
    double tolerance = 0.1;    ///< of rates against it
    std::string profile{};     ///< costs for the curves of the HTML page; empty: stored ones, or what was proven
};

/// "10", per cent, as a share. Throws UsageError.
double tolerance_of(const std::string& word);

/// Throws UsageError that names the word at fault.
DoctorAsked understand_doctor(const Given& given, const Globals& globals);

struct Examination {
    std::string version{};
    Machine machine{};  ///< of the pairs asked for
    Machine whole{};    ///< of all devices, which ways may lead over
    /// In people's numbers, findings and all; `status` counts the findings and what was required too.
    Verdicts verdicts{};
    std::optional<double> seconds{};  ///< on real devices
    bool quick = false, replayed = false, from_cache = false, passive = false;
    int stopped_by = 0;                          ///< a signal
    std::vector<std::pair<int, int>> pairs{};    ///< asked for
    std::vector<std::string> missing{};          ///< "0:1 push": required, and not right
    std::vector<int> disturbed{};                ///< devices that others were using
    std::vector<RecordedStep> interrupted{};     ///< steps of earlier runs that were never closed
    std::vector<std::string> notices{};          ///< about our own files
    std::vector<std::string> root_would_show{};  ///< what could not be read without being root
    CacheKey key{};
    Soak soak{};
    Facts facts{};                         ///< as they were at the end
    std::string expected{};                ///< the file of a machine as it should be; empty: none
    std::vector<Difference> unexpected{};  ///< what differs from it
    std::string typed{};                   ///< "peerlane --machine x": what next commands begin with
    std::string recorded{};                ///< the file that was written or replayed; empty for none
    std::string profile{};                 ///< the file that this user's measured profile would be in; empty for none
};

/// Replays a record that is given as the machine, else proves. Where there is no device, what the system itself shows
/// goes to `nothing_runs` before NothingRuns is thrown. Throws what reading machines and proving throw.
Examination find_out(Context& context, const DoctorAsked& asked,
                     const std::function<void(const Examination&)>& nothing_runs);

/// Proves. The driver of the target is closed before. Throws NothingRuns when nothing could run, and what prober_of
/// throws.
Examination examine(Context& context, Target& target, const DoctorAsked& asked, const Facts& facts,
                    const std::string& version);

/// The diagnosis of a record, without running anything. Throws InputError for what is no sound record, UsageError for
/// what a replay cannot do.
Examination replay(const Context& context, const DoctorAsked& asked, const std::string& path, const std::string& text);

/// Sets `status` from the checks, the findings and what was required; fills `missing`.
void conclude(Examination& examination, const std::vector<Check>& required);

Status exit_status(const Examination& examination);

/// Compares with the document of a machine as it should be, where one was named; what differs degrades. Throws
/// InputError, NoSuchFile.
void expect(Examination& examination, const DoctorAsked& asked);
/// The examination in the words of a comparison.
NodeReport report_of(const Examination& examination);

/// What the HTML page's times are predicted from.
struct CurveCosts {
    Profile profile{};
    bool any = false;     ///< else the proof's rates and nominal costs
    std::string words{};  ///< where they are from, for people
};
/// A file that was named, else measured now on a simulated machine, else this user's stored profile. Throws InputError,
/// NoSuchFile for a file that was named.
CurveCosts curve_costs(Context& context, const DoctorAsked& asked, const Examination& found);
/// The HTML page. `made_at`: the date, empty where it says nothing.
std::string doctor_html(const DoctorAsked& asked, const Examination& examination, const CurveCosts& costs,
                        const std::string& made_at);

/// For people, as the format says.
std::string doctor_text(const Examination& examination, Format format, bool color);
/// `peerlane.verdicts/1`, with what else is known of the run.
std::string doctor_json(const Examination& examination);

}  // namespace peerlane::cli
