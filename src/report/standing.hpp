#pragma once
/// What a data direction has: of the ways that could serve it, those that were proven right.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <peerlane/verdicts.hpp>

namespace peerlane::report {

enum class Standing : std::uint8_t { ok, by_design, unknown, part, none, bad };

/// ok: every check of the pair is right and data goes direct. part: some are. by_design: only through the host, and
/// that is right. none: not even that. bad: what was claimed delivers wrong bytes, hangs or fails. unknown: nothing was
/// tried.
Standing standing(const Verdicts& verdicts, int source, int destination);

/// "ok", "part", "none", "?", as the text page has it: it does not tell bad from part or none.
const char* word_of(const Verdicts& verdicts, int source, int destination);

/// GB/s of the way that is to be used; empty where it was not timed.
std::optional<double> rate(const Verdicts& verdicts, int source, int destination);

/// "direct, pushed by gpu0", "staged through the host", "nothing that may be used", "not proven".
std::string use_in_words(const Verdicts& verdicts, int source, int destination);

/// The direction to look at first: the worst standing, of those the lowest rate, of those the lowest numbers. Empty
/// without directions.
std::optional<std::pair<int, int>> worst_direction(const Verdicts& verdicts);

/// What the directions of a device have together.
struct DeviceStanding {
    /// ok where all are ok or only through the host by design, bad where all are bad; part where some are part or
    /// worse.
    Standing all = Standing::unknown;
    /// The same of most of them: one bad neighbour is not a bad device.
    Standing most = Standing::unknown;
};
DeviceStanding standing_of_device(const Verdicts& verdicts, int device);

const char* to_string(Standing standing);

}  // namespace peerlane::report
