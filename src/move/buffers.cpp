#include "move/buffers.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <stdexcept>

#include <fmt/format.h>

namespace peerlane::move {
namespace {

/// Memory of a device that is freed looks as unknown to the driver as malloc's does, and the host must not touch it.
/// The kernel copies the set of signals before it finds that the operation is none: it answers EFAULT for what this
/// process cannot read.
bool readable_here(Address at) {
    constexpr std::uint64_t set_bytes = 8;
    constexpr int no_operation = ~0;
    auto const set = Address{static_cast<std::uint64_t>(at) / set_bytes * set_bytes};
    return syscall(SYS_rt_sigprocmask, no_operation, pointer_to(set), nullptr, set_bytes) == 0 || errno != EFAULT;
}

}  // namespace

End Buffers::ask(Address at, std::uint64_t bytes, const char* side) const {
    auto const found = driver_.whereabouts(at);
    End end{found.place, found.kind, false, bytes};
    if (found.bytes == 0 && !driver_.simulated() && readable_here(at) && readable_here(at + (bytes - 1))) {
        // malloc's, or the stack: nobody can tell where it ends.
        end.place = host();
        end.kind = MemoryKind::pageable;
        return end;
    }
    if (found.bytes == 0 || at - found.base > found.bytes || bytes > found.bytes - (at - found.base)) {
        throw std::invalid_argument(
            fmt::format("copy: {} bytes at the {} are not inside memory that the driver knows", bytes, side));
    }
    end.room = found.bytes - (at - found.base);
    end.open_to_kernels = (found.kind == MemoryKind::plain && found.context == ContextId{}) ||
                          found.kind == MemoryKind::managed || found.kind == MemoryKind::pinned ||
                          found.kind == MemoryKind::registered;
    return end;
}

void Buffers::add(Address base, std::uint64_t bytes) {
    if (bytes == 0) {
        throw std::invalid_argument("register_buffer: 0 bytes");
    }
    auto end = ask(base, bytes, "buffer");
    end.room = bytes;
    std::unique_lock const lock(mutex_);
    auto const after = std::upper_bound(ranges_.begin(), ranges_.end(), base,
                                        [](Address at, const Range& range) { return at < range.base; });
    if ((after != ranges_.end() && after->base - base < bytes) ||
        (after != ranges_.begin() && base - std::prev(after)->base < std::prev(after)->bytes)) {
        throw std::invalid_argument("register_buffer: part of it is registered already");
    }
    ranges_.insert(after, {base, bytes, end});
    generation_.store(next_generation(), std::memory_order_release);
}

void Buffers::remove(Address base) {
    std::unique_lock const lock(mutex_);
    auto const found =
        std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) { return range.base == base; });
    if (found == ranges_.end()) {
        throw std::invalid_argument("unregister_buffer: no registered buffer begins there");
    }
    ranges_.erase(found);
    generation_.store(next_generation(), std::memory_order_release);
}

std::uint64_t Buffers::next_generation() {
    static std::atomic<std::uint64_t> latest{0};
    return latest.fetch_add(1, std::memory_order_relaxed) + 1;
}

Buffers::Recent* Buffers::recent() {
    thread_local Recent ranges[recent_count];
    return ranges;
}

End Buffers::part_of(const Range& range, Address at, std::uint64_t bytes, const char* side) {
    auto const offset = at - range.base;
    if (bytes > range.bytes - offset) {
        throw std::invalid_argument(
            fmt::format("copy: {} bytes at the {} reach beyond their registered buffer", bytes, side));
    }
    auto end = range.end;
    end.room = range.bytes - offset;
    return end;
}

End Buffers::find(Address at, std::uint64_t bytes, const char* side) const {
    auto* const known = recent();
    auto const now = generation_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < recent_count; ++i) {
        if (known[i].generation == now && at - known[i].range.base < known[i].range.bytes) {
            return part_of(known[i].range, at, bytes, side);
        }
    }
    {
        std::shared_lock const lock(mutex_);
        auto const after = std::upper_bound(ranges_.begin(), ranges_.end(), at,
                                            [](Address wanted, const Range& range) { return wanted < range.base; });
        if (after != ranges_.begin()) {
            auto const& range = *std::prev(after);
            if (at - range.base < range.bytes) {
                std::move_backward(known, known + recent_count - 1, known + recent_count);
                known[0] = {generation_.load(std::memory_order_relaxed), range};
                return part_of(range, at, bytes, side);
            }
        }
    }
    return ask(at, bytes, side);
}

}  // namespace peerlane::move
