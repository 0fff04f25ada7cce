#pragma once
/// The operations of `peerlane.trace/1`, one struct each.

#include <cstdint>
#include <span>

#include <peerlane/trace/step.hpp>

namespace peerlane::trace {

struct Machine {
    int devices = 0;
    int slots = 0;  ///< peers that one device may have enabled at once; 0 not known
};
struct Stream {
    Id stream = no_id;
    int device = 0;
    StreamKind kind = StreamKind::nonblocking;
    Id context = no_id;  ///< no_id: the device's primary context, here and below
};
struct Alloc {
    Id memory = no_id;
    int device = 0;  ///< or host_device
    std::uint64_t bytes = 0;
    MemoryKind kind = MemoryKind::plain;
    Id pool = no_id;  ///< no_id: the device's default pool
    Id stream = no_id;
    Id context = no_id;
};
struct Free {
    Id memory = no_id;
    Id stream = no_id;  ///< no_id: by the host, at once
};
struct Import {
    Id memory = no_id;
    Id of = no_id;
    int device = 0;
};
struct Close {
    Id memory = no_id;
};
struct Enable {
    int accessor = 0, owner = 0;
    EnableResult result = EnableResult::ok;
    Id context = no_id;
};
struct Disable {
    int accessor = 0, owner = 0;
    Id context = no_id;
};
struct GrantAccess {
    Id memory = no_id, pool = no_id;  ///< one of the two
    int accessor = 0;
    Grant access = Grant::readwrite;
};
struct Record {
    Id event = no_id, stream = no_id;
};
struct Wait {
    Id event = no_id;
    Id stream = no_id;  ///< no_id: the host waits
};
struct Query {
    Id event = no_id;  ///< or a stream
    Id stream = no_id;
    bool done = false;
};
struct Sync {
    Id stream = no_id;
    int device = -1;  ///< when no stream is given
};
struct Copy {
    Id stream = no_id, dst = no_id, src = no_id;
    int current = -1;  ///< device that was current; -1 not said
    std::uint64_t dst_offset = 0, src_offset = 0, bytes = 0;
    CopyApi api = CopyApi::unsaid;
};
struct Flag {
    Id flag = no_id, memory = no_id;
    std::uint64_t offset = 0;
};
struct Launch {
    Id stream = no_id, name = no_id, context = no_id;
    std::uint32_t ctas = 0, resident = 0;  ///< 0: not said
    std::span<const Step> steps{};
};
/// A stream's (or without stream the host's) store to a flag, or its wait for one.
struct FlagStep {
    Id stream = no_id;
    Step step{};  ///< kind wait or signal
};
struct HostAccess {
    std::span<const Step> steps{};  ///< kind read or write
};
/// A host call that waits for a device or its context lock.
struct Blocks {
    Id what = no_id;
    int device = 0;
};

}  // namespace peerlane::trace
