#pragma once
/// What calls do, after names were looked up: the words that ledger, schedule and histories share.

#include <cstdint>

#include <peerlane/trace.hpp>

#include "audit/clock.hpp"

namespace peerlane::audit {

using trace::Id;
using trace::no_id;

/// Index of an allocation. A name may be freed and given again; then it is another storage.
using StorageId = std::uint32_t;
inline constexpr StorageId no_storage = ~StorageId{0};

/// One step with its target looked up.
struct Deed {
    trace::Step::Kind kind = trace::Step::Kind::read;
    bool equals = false;
    trace::Scope scope = trace::Scope::system;
    trace::Order order = trace::Order::relaxed;
    std::uint32_t target = 0;  ///< storage, or flag
    Id memory = no_id;         ///< name that was used for the storage
    std::uint64_t begin = 0;   ///< first byte, or the flag's value
    std::uint64_t end = 0;     ///< one past the last byte
    [[nodiscard]] bool satisfied_by(std::uint64_t value) const { return equals ? value == begin : value >= begin; }
};

enum class What : std::uint8_t { launch, copy, signal, wait_flag, host, record, wait, sync, free, blocks, query };

/// The call that deeds belong to, as findings name it.
struct Doing {
    std::uint64_t line = 0;
    std::uint64_t serial = 0;  ///< of this call, never 0
    Id name = no_id;   ///< launch: its name; copy: destination; free: memory; blocks: what; event or stream otherwise
    Id other = no_id;  ///< copy: source
    std::uint32_t ctas = 0, resident = 0;
    Chain chain = 0;  ///< where it happens
    Chain thread = 0;
    int device = trace::host_device;
    What what = What::host;
};

}  // namespace peerlane::audit
