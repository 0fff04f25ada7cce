#pragma once
/// What the doctor found as one HTML document that needs nothing beside it: no network, no other file. Pure: values in,
/// text out.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// A kind of way between two devices: "direct", "staged", "relayed" or "split", whichever is the fastest of its kind.
struct WayCurve {
    std::string name{};
    std::vector<std::optional<double>> seconds{};  ///< predicted, one for each size; empty: no such way there
    friend bool operator==(const WayCurve&, const WayCurve&) = default;
};

/// Sizes from `from` on go this way.
struct PlannedRange {
    std::uint64_t from = 0;
    std::string words{};
    friend bool operator==(const PlannedRange&, const PlannedRange&) = default;
};

struct DirectionCurves {
    int source = 0, destination = 0;
    std::vector<WayCurve> ways{};
    std::vector<int> chosen{};  ///< index of the planner's choice in `ways`, one for each size; -1: nothing may be used
    std::vector<PlannedRange> ranges{};
    friend bool operator==(const DirectionCurves&, const DirectionCurves&) = default;
};

struct Curves {
    std::vector<std::uint64_t> sizes{};  ///< bytes, ascending
    std::vector<DirectionCurves> directions{};
    [[nodiscard]] const DirectionCurves* of(int source, int destination) const;
    friend bool operator==(const Curves&, const Curves&) = default;
};

/// What the planner predicts for data of 4 KiB to 1 GiB, from source to destination.
Curves curves_of(const Planner& planner, const std::vector<std::pair<int, int>>& directions);

/// The machine with the rates that a proof saw in the place of those that its description brings: what nominal costs
/// are made from where nothing was measured.
Machine with_proven_rates(Machine machine, const Verdicts& verdicts);

/// A piece of the text of a page, as it comes.
struct ReportBlock {
    enum class Kind : std::uint8_t { heading, line, item, detail, command, grid };
    Kind kind = Kind::line;
    std::string text{};
    std::vector<std::vector<std::string>> rows{};  ///< of a grid; the first is the head
    friend bool operator==(const ReportBlock&, const ReportBlock&) = default;
};

struct HtmlReport {
    std::string status{};                                    ///< in words: "healthy, no peer access"
    std::string words{};                                     ///< "1 of 56 directed pairs delivers wrong bytes"
    std::vector<std::string> marks{};                        ///< "SIMULATED, no real device is used", "quick"
    std::vector<std::pair<std::string, std::string>> run{};  ///< "Driver", "580.95.05"; in this order
    Machine machine{};
    Verdicts verdicts{};
    Curves curves{};
    std::string costs{};              ///< where the predicted times come from, or why there are none
    std::vector<ReportBlock> more{};  ///< what else the text page says
};

/// The document. Names and texts may hold anything: they are escaped, and bytes that are no UTF-8 replaced. Without the
/// charts' library (charts_built_in) the numbers are there as tables, and the document says so.
std::string report_html(const HtmlReport& report);

/// Whether this library was built with the charts' library.
bool charts_built_in();
/// What is missing where it was not, and how to get it.
extern const char* const charts_missing;

}  // namespace peerlane
