#pragma once
/// What a program asked of its devices, as typed events: the in-memory form of `peerlane.trace/1`. Names are interned,
/// one table for each kind of thing, so that an event is small and cheap to make. An event does not own its steps.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace peerlane::trace {

/// Index of a name in its table.
using Id = std::uint32_t;
inline constexpr Id no_id = ~Id{0};
/// As `Step::bytes`: up to the end of the allocation.
inline constexpr std::uint64_t to_end = ~std::uint64_t{0};
/// As `device` of memory: the host.
inline constexpr int host_device = -1;

/// Names of one kind, in order of first use. References stay valid while names are added.
class Names {
  public:
    Id intern(std::string_view name);
    /// no_id when it was never interned.
    [[nodiscard]] Id find(std::string_view name) const;
    /// Precondition: id came from `intern`.
    [[nodiscard]] const std::string& text(Id id) const { return *texts_[id]; }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
    };
    std::unordered_map<std::string, Id, Hash, std::equal_to<>> ids_{};
    std::vector<const std::string*> texts_{};
};

/// Thread 0 is `main`. `words` holds names of launches and of what a blocking call does.
struct Symbols {
    Names threads, streams, memories, pools, events, flags, contexts, words;
    Symbols() { threads.intern("main"); }
    Symbols(const Symbols&) = delete;
    Symbols& operator=(const Symbols&) = delete;
};

enum class StreamKind : std::uint8_t { nonblocking, blocking, legacy, per_thread };
enum class MemoryKind : std::uint8_t { plain, pool, virtual_memory, managed, pinned, pageable };
enum class EnableResult : std::uint8_t { ok, already, refused, limit };
enum class Grant : std::uint8_t { none, read, readwrite };
enum class CopyApi : std::uint8_t { unsaid, peer, plain, batch };  ///< plain: api "default"
enum class Scope : std::uint8_t { thread, block, cluster, device, system };
enum class Order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

/// One step of a launch, in the order listed; also what a host access and a stream's signal or wait are made of.
struct Step {
    enum class Kind : std::uint8_t { read, write, wait, signal };
    Kind kind = Kind::read;
    bool equals = false;          ///< wait: exactly `value`; otherwise at least
    Scope scope = Scope::system;  ///< wait, signal
    Order order = Order::relaxed;
    Id target = no_id;        ///< memory of a read or write, flag of a wait or signal
    std::uint64_t value = 0;  ///< offset in bytes, or the flag's value
    std::uint64_t bytes = 0;  ///< read, write
    friend bool operator==(const Step&, const Step&) = default;
};
/// True when the step's order makes it publish (signal) or take over (wait) what came before.
[[nodiscard]] constexpr bool releases(Order order) {
    return order == Order::release || order == Order::acq_rel || order == Order::seq_cst;
}
[[nodiscard]] constexpr bool acquires(Order order) {
    return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst;
}

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

using Operation = std::variant<Machine, Stream, Alloc, Free, Import, Close, Enable, Disable, GrantAccess, Record, Wait,
                               Query, Sync, Copy, Flag, Launch, FlagStep, HostAccess, Blocks>;

/// One host call. The steps it points to need to live only as long as the call that takes the event.
struct Event {
    std::uint64_t line = 0;  ///< 1-based position in the trace
    Id thread = 0;
    Operation operation{};
};

const char* to_string(StreamKind kind);
const char* to_string(MemoryKind kind);
const char* to_string(EnableResult result);
const char* to_string(Grant access);
const char* to_string(CopyApi api);
const char* to_string(Scope scope);
const char* to_string(Order order);

/// The event as one line of `peerlane.trace/1`, without the line's end. Reads back as the same event.
std::string to_line(const Event& event, const Symbols& symbols);

}  // namespace peerlane::trace
