#pragma once
/// The parts of the document, in the order in which they stand in it. Each gives HTML in which everything from outside
/// is escaped.

#include <string>
#include <string_view>

#include <peerlane/report.hpp>

namespace peerlane::report {

/// Causes with evidence and cure, the worst first; circumstances that need no cure are folded away.
std::string findings_part(const Verdicts& verdicts);

/// The matrix of data directions, a link in each cell, and what its signs mean.
std::string matrix_part(const HtmlReport& report);

/// Of each direction: its checks, the plan, the times as a table; the script shows one at a time and draws its curves.
std::string directions_part(const HtmlReport& report);

/// Devices, switches, NUMA nodes and what joins them, as a drawing and as tables.
std::string machine_part(const Machine& machine, const Verdicts& verdicts);
/// The drawing: 360 units wide whatever the machine, so that it can be read on a phone.
std::string picture(const Machine& machine, const Verdicts& verdicts);

/// What else the text page says.
std::string blocks_part(const std::vector<ReportBlock>& blocks);

/// The curves for the script, as JSON.
std::string data_of(const HtmlReport& report);

/// "0>3 ok 46.2 GB/s": a direction in few words, not yet escaped.
std::string direction_words(const Verdicts& verdicts, int source, int destination);

/// At most so many characters, the last one "…" where something is missing.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace peerlane::report
