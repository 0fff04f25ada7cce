#pragma once
/// The warps of a courier that look for messages: what they know, how one of them hands a message to those that carry,
/// and how the courier leaves.

#include <cstddef>

#include "kernels/courier.hpp"
#include "kernels/look.cuh"

namespace peerlane::cuda {

/// Warps that look for messages, beside those that carry. One line of host memory takes a trip over PCIe to look at,
/// and one warp has one such trip under way; two warps see what was posted a quarter of a trip sooner, three disturb
/// each other (two H200: 64 bytes take 3.8, 3.4, 3.9 us with one, two, three).
#if defined(__CUDACC__)
constexpr unsigned lookouts = 2;
#else
constexpr unsigned lookouts = 1;
#endif

enum class From : unsigned { nowhere, host, device, stream };

/// What was found; its order lies beside it.
struct Job {
    From from;
    std::uint32_t number;  ///< of the message in its ring, or use of the entry
    std::uint32_t entry;
};

constexpr std::uint32_t rounds_a_request = 8;
/// Reading that clock takes longer than all else here: once in 20 us of looks.
constexpr std::uint32_t rounds_a_clock = 16;

/// Cheaper than the full fence; what is stored behind it is seen after all that was stored before.
__device__ inline void release_fence() {
#if defined(__CUDACC__)
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
    __threadfence_system();
#endif
}

__device__ inline void store_now(std::uint32_t* at, std::uint32_t value) {
    *static_cast<volatile std::uint32_t*>(at) = value;
}
__device__ inline std::uint32_t load_shared(const std::uint32_t* at) {
    return *static_cast<const volatile std::uint32_t*>(at);
}

__device__ inline void together() {
#if defined(__CUDACC__)
    __syncwarp();
#endif
}

/// Where the CTA's warps meet; one found message at a time is handed from a lookout to those that carry. Its first four
/// words are a lock and what it guards, read and written as volatile: no race by the memory model of the devices,
/// though a checker that knows barriers only (racecheck) takes them for one.
struct Counter {
    std::uint32_t locked;  ///< by the lookout that hands over; for good by the chief when it leaves
    std::uint32_t over;    ///< no more lookout but the chief
    std::uint32_t taken;   ///< of the host's ring
    std::uint32_t handed;
    Job job[2];  ///< the next one is written while those that carry still read the last
    Line order[2];
};

/// Where a courier looks and what it knows: the same in every lane of a lookout, which takes every step together. The
/// first warp is the chief: it looks at the other rings, the clock and requests, too.
struct Post {
    CourierShared* shared;
    const MessageSlot* ring;
    CourierLocal* local;
    Counter* counter;
    std::uint32_t slots, residence;
    std::uint32_t device_taken;
    std::uint64_t idle_ns, stay_ns;
    std::uint64_t started, last, now;
    std::uint32_t rounds;
    std::uint32_t in_a_row;  ///< messages of the host that the chief found since others had their turn
    std::uint32_t* rung;     ///< use of each entry seen last; shared memory
    bool strict;
    unsigned carriers;

    [[nodiscard]] __device__ Look look_at_host(std::uint32_t taken) const { return Look(&ring[taken & (slots - 1)]); }
    [[nodiscard]] __device__ Look look_at_others() const {
        auto const* const bell = local->doorbell;
        return {bell, &local->ring.slot[device_taken & (DeviceRing::slots - 1)], bell, bell, 2};
    }

    /// Whether this lookout may hand over the message behind `taken`: nobody did.
    __device__ bool lock_for(std::uint32_t taken) const {
        auto mine = false;
        if (is_first_lane() && atomicCAS(&counter->locked, 0U, 1U) == 0) {
            __threadfence_block();
            mine = load_shared(&counter->taken) == taken;
            if (!mine) {
                unlock();
            }
        }
        return as_first(mine ? 1U : 0U) != 0;
    }
    /// Once somebody else is done with it.
    __device__ void lock() const {
        if (is_first_lane()) {
            while (atomicCAS(&counter->locked, 0U, 1U) != 0) {
            }
            __threadfence_block();
        }
        together();
    }
    __device__ void unlock() const {
        __threadfence_block();
        store_now(&counter->locked, 0);
    }

    /// To those that carry, when they are done with the last one. The lock is held. `look` is nullptr for the end.
    __device__ void hand_over(const Job& job, const Look* look, unsigned line) const {
        auto const at = load_shared(&counter->handed) % 2;
        if (look != nullptr) {
            look->write(line, counter->order[at]);
        }
        if (is_first_lane()) {
            counter->job[at] = job;
            if (strict) {
                __threadfence_system();  // what the poster wrote before the order is seen from here on
            }
        }
        together();
        meet_carriers(job, counter->order[at]);
        if (is_first_lane()) {
            store_now(&counter->handed, load_shared(&counter->handed) + 1);
            if (job.from == From::host) {
                store_now(&counter->taken, job.number);
            }
        }
        together();
    }
    __device__ void meet_carriers(const Job& job, const Line& order) const;

    /// The second lookout: messages of the host, until the chief leaves.
    __device__ void assist() const {
        while (load_shared(&counter->over) == 0) {
            auto const taken = as_first(load_shared(&counter->taken));
            auto const look = look_at_host(taken);
            if (look.is_message(0, taken + 1) && lock_for(taken)) {
                hand_over({From::host, taken + 1, 0}, &look, 0);
                if (is_first_lane()) {
                    unlock();
                }
            }
        }
    }

    __device__ void lead() {
        auto handed = load_shared(&counter->handed);
        for (;;) {
            auto const asks = rounds % rounds_a_request == rounds_a_request - 1;
            auto const others = look_at_others();
            auto const taken = as_first(load_shared(&counter->taken));
            // A second line of the host's would make the first one late; the other lookout is at its post.
            auto const look = asks ? Look(&shared->leave) : look_at_host(taken);
            if (rounds++ % rounds_a_clock == 0) {
                now = as_first(global_ns());
            }
            if (!asks && in_a_row < host_messages_in_a_row && look.is_message(0, taken + 1)) {
                if (lock_for(taken)) {
                    ++in_a_row;
                    hand_over({From::host, taken + 1, 0}, &look, 0);
                    if (is_first_lane()) {
                        unlock();
                    }
                }
            } else {
                in_a_row = 0;
                of_others(others);
            }
            auto const latest = as_first(load_shared(&counter->handed));
            if (latest != handed) {
                handed = latest;
                last = now;
            }
            auto const asked = asks && look.word(0, 0) == residence;
            if (asked || now - started >= stay_ns || now - last >= idle_ns) {
                leave();
                return;
            }
        }
    }

    /// Said first, looked afterwards: whoever posted without seeing it is found by the look, whoever posts later sees
    /// it and launches the next residence.
    __device__ void leave() const {
        lock();
        if (is_first_lane()) {
            store_now(&counter->over, 1);
            store_now(&shared->left, residence);
            __threadfence_system();
        }
        together();
        for (std::uint32_t may_drain = slots; may_drain != 0; --may_drain) {
            auto const taken = as_first(load_shared(&counter->taken));
            auto const look = look_at_host(taken);
            if (!look.is_message(0, taken + 1)) {
                break;
            }
            hand_over({From::host, taken + 1, 0}, &look, 0);
        }
        hand_over({}, nullptr, 0);
    }

    __device__ void of_others(const Look& look) {
        if (look.is_message(1, device_taken + 1)) {
            lock();
            hand_over({From::device, ++device_taken, 0}, &look, 1);
            if (is_first_lane()) {
                unlock();
            }
            return;
        }
        rung_bell(look);
    }

    __device__ void rung_bell(const Look& look) const {
        for (;;) {
            auto const entry = look.first_changed(0, rung);
            if (entry == stream_entries) {
                return;
            }
            auto const use = look.word(0, entry);
            together();
            if (is_first_lane()) {
                rung[entry] = use;
            }
            together();
            lock();
            auto const carried = claim_entry(entry, use);
            if (is_first_lane()) {
                unlock();
            }
            if (carried) {
                return;
            }
        }
    }

    /// Carries the message of a stream, if nobody did. The lock is held.
    __device__ bool claim_entry(std::uint32_t entry, std::uint32_t use) const {
        auto const mine = as_first(is_first_lane() ? atomicCAS(&local->claimed[entry], use - 1, use) : 0U) == use - 1;
        if (mine) {
            // The host wrote it before the stream could ring: it is whole.
            Look const slot(&shared->stream_slot[entry]);
            hand_over({From::stream, use, entry}, &slot, 0);
        }
        return mine;
    }

    /// Where a message's end is told.
    __device__ std::uint32_t* done_of(const Job& job) const {
        return job.from == From::host     ? &shared->done
               : job.from == From::device ? &local->ring.done
                                          : &shared->stream_done[job.entry];
    }
};

}  // namespace peerlane::cuda
