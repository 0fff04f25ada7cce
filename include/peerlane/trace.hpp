#pragma once
/// What a program asked of its devices, as typed events: the in-memory form of `peerlane.trace/1`. Names are interned,
/// one table for each kind of thing, so that an event is small and cheap to make. An event does not own its steps.

#include <cstdint>
#include <string>
#include <variant>

#include <peerlane/trace/operations.hpp>

namespace peerlane::trace {

using Operation = std::variant<Machine, Stream, Alloc, Free, Import, Close, Enable, Disable, GrantAccess, Record, Wait,
                               Query, Sync, Copy, Flag, Launch, FlagStep, HostAccess, Blocks>;

/// One host call. The steps it points to need to live only as long as the call that takes the event.
struct Event {
    std::uint64_t line = 0;  ///< 1-based position in the trace
    Id thread = 0;
    Operation operation{};
};

/// The event as one line of `peerlane.trace/1`, without the line's end. Reads back as the same event.
std::string to_line(const Event& event, const Symbols& symbols);

}  // namespace peerlane::trace
