#pragma once
/// One step of a launch, and the words of traces.

#include <cstdint>

#include <peerlane/trace/names.hpp>

namespace peerlane::trace {

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

const char* to_string(StreamKind kind);
const char* to_string(MemoryKind kind);
const char* to_string(EnableResult result);
const char* to_string(Grant access);
const char* to_string(CopyApi api);
const char* to_string(Scope scope);
const char* to_string(Order order);

}  // namespace peerlane::trace
