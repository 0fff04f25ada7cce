#include <cstddef>

#include "kernels/courier.hpp"
#include "kernels/look.cuh"
#include "kernels/ranges.cuh"

namespace peerlane::cuda {
namespace {

constexpr unsigned most_threads = 512;  // so that a thread has all the registers it wants

enum class From : unsigned { nowhere, host, device, stream };

/// What the first warp found and the CTA carries; the order itself lies in shared memory.
struct Job {
    From from;
    std::uint32_t number;  ///< of the message in its ring, or use of the entry
    std::uint32_t entry;
};

__device__ inline void store_now(std::uint32_t* at, std::uint32_t value) {
    *static_cast<volatile std::uint32_t*>(at) = value;
}

constexpr std::uint32_t judged_a_clock = 16;

/// Where a courier looks and what it knows: the same in every lane of the first warp, which takes every step together.
struct Post {
    CourierShared* shared;
    const MessageSlot* ring;
    CourierLocal* local;
    std::uint32_t slots, residence;
    std::uint32_t taken, device_taken;
    std::uint64_t idle_ns, stay_ns;
    std::uint64_t started, last, now;
    std::uint32_t judged;  ///< times since it came
    bool over;             ///< it was asked to leave, or stayed as long as it may
    bool leaving;          ///< it said that it leaves
    std::uint32_t may_drain;
    std::uint32_t in_a_row;  ///< messages of the host since others were looked at
    std::uint32_t* rung;     ///< use of each entry seen last; shared memory, like the order found
    Line* order;
    Look look;

    __device__ Job claimed_entry(std::uint32_t entry, std::uint32_t use) const {
        auto const mine = as_first(is_first_lane() ? atomicCAS(&local->claimed[entry], use - 1, use) : 0U) == use - 1;
        if (!mine) {
            return {};
        }
        // The host wrote it before the stream could ring: it is whole.
        Look const slot(&shared->stream_slot[entry]);
        slot.write(0, *order);
        return {From::stream, use, entry};
    }

    __device__ Look look_now() const {
        return {&ring[taken & (slots - 1)], &shared->leave, &local->ring.slot[device_taken & (DeviceRing::slots - 1)],
                local->doorbell};
    }

    /// Only what finds a message of the host stands between a look and the next one: the rest is judged while that is
    /// on its way.
    __device__ Job next() {
        auto const first = look_now();
        judge();
        last = now;
        look = first;
        for (;;) {
            auto const came = look.is_message(0, taken + 1);
            auto const others_first = in_a_row >= host_messages_in_a_row && !over;
            if (came && !others_first && (!over || (leaving && may_drain != 0))) {
                return of_host();
            }
            if (leaving) {
                return {};
            }
            in_a_row = 0;
            auto const later = look_now();
            judge();
            if (!over) {
                auto const job = of_others();
                if (job.from != From::nowhere) {
                    return job;
                }
                if (came) {
                    return of_host();
                }
                if (now - last < idle_ns) {
                    look = later;
                    continue;
                }
            }
            // Said first, looked afterwards: whoever posted without seeing it is found by the next look, whoever
            // posts later sees it and launches the next residence.
            leaving = over = true;
            if (is_first_lane()) {
                store_now(&shared->left, residence);
                __threadfence_system();
            }
            together();
            look = look_now();
        }
    }

    __device__ Job of_host() {
        may_drain -= leaving ? 1 : 0;
        ++in_a_row;
        look.write(0, *order);
        return {From::host, ++taken, 0};
    }

    __device__ Job of_others() {
        if (look.is_message(2, device_taken + 1)) {
            look.write(2, *order);
            return {From::device, ++device_taken, 0};
        }
        return rung_bell();
    }

    /// Whether its time is over, from the last look and the clock. Reading that clock takes longer than all else here,
    /// so it is asked now and then (20 us of looks, at most as many messages).
    __device__ void judge() {
        if (judged++ % judged_a_clock == 0) {
            now = as_first(global_ns());
        }
        over = over || look.word(1, 0) == residence || now - started >= stay_ns;
    }

    __device__ Job rung_bell() {
        for (;;) {
            auto const entry = look.first_changed(3, rung);
            if (entry == stream_entries) {
                return {};
            }
            auto const use = look.word(3, entry);
            together();
            if (is_first_lane()) {
                rung[entry] = use;
            }
            together();
            auto const job = claimed_entry(entry, use);
            if (job.from != From::nowhere) {
                return job;
            }
        }
    }

    /// Where a message's end is told.
    __device__ std::uint32_t* done_of(const Job& job) const {
        return job.from == From::host     ? &shared->done
               : job.from == From::device ? &local->ring.done
                                          : &shared->stream_done[job.entry];
    }

    __device__ static void together() {
#if defined(__CUDACC__)
        __syncwarp();
#endif
    }
};

/// Sources are read past the caches: they change while the kernel is resident. Eight loads in flight a thread, so that
/// 512 threads have 64 KiB under way at once.
__device__ inline void carry_units(Team team, uint4* to, const uint4* from, std::uint64_t units) {
    constexpr unsigned deep = 8;
    for (auto i = team.rank; i < units; i += deep * team.size) {
        uint4 part[deep];
        PEERLANE_UNROLL
        for (unsigned k = 0; k < deep; ++k) {
            if (i + k * team.size < units) {
                part[k] = __ldcv(from + i + k * team.size);
            }
        }
        PEERLANE_UNROLL
        for (unsigned k = 0; k < deep; ++k) {
            if (i + k * team.size < units) {
                to[i + k * team.size] = part[k];
            }
        }
    }
}

__device__ inline void carry(const MessageOrder& order) {
    Team const team{threadIdx.x, blockDim.x};
    auto* const to = reinterpret_cast<unsigned char*>(order.to);
    auto const* const from = reinterpret_cast<const unsigned char*>(order.from);
    if ((order.to | order.from | order.bytes) % 16 == 0) {
        carry_units(team, reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4*>(from), order.bytes / 16);
        return;
    }
    if ((order.to ^ order.from) % 16 != 0) {
        __threadfence_system();  // no line of an earlier message is taken for this one's
        copy_range(team, to, from, order.bytes, 8);
        return;
    }
    auto const parts = split(order.to, order.bytes, 16);
    carry_units(team, reinterpret_cast<uint4*>(to + parts.head), reinterpret_cast<const uint4*>(from + parts.head),
                parts.units);
    for (auto i = team.rank; i < parts.head; i += team.size) {
        to[i] = __ldcv(from + i);
    }
    for (auto i = parts.tail_at + team.rank; i < order.bytes; i += team.size) {
        to[i] = __ldcv(from + i);
    }
}

__global__ void __launch_bounds__(most_threads)
    attend(CourierArguments a, std::uint64_t idle_ns, std::uint64_t stay_ns) {
    __shared__ Job shared_job;
    __shared__ Line shared_order;
    __shared__ std::uint32_t rung[stream_entries];
    auto const first_warp = threadIdx.x < lanes;
    Post post{};
    if (first_warp) {
        auto* const local = reinterpret_cast<CourierLocal*>(a.local);
        auto const now = as_first(global_ns());
        post = {reinterpret_cast<CourierShared*>(a.shared),
                reinterpret_cast<const MessageSlot*>(a.ring),
                local,
                a.slots,
                a.residence,
                local->taken,
                local->device_taken,
                idle_ns,
                stay_ns,
                now,
                now,
                now,
                0,
                false,
                false,
                a.slots,
                0,
                rung,
                &shared_order,
                {}};
        for (auto i = threadIdx.x; i < stream_entries; i += lanes) {
            rung[i] = static_cast<volatile std::uint32_t*>(local->claimed)[i];
        }
    }
    __syncthreads();
    bool const once = a.entry != 0;
    for (bool again = true; again; again = !once) {
        if (first_warp) {
            auto const found = once ? post.claimed_entry(a.entry - 1, a.use) : post.next();
            if (is_first_lane()) {
                shared_job = found;
                if (a.strict != 0) {
                    __threadfence_system();  // what the poster wrote before the order is seen from here on
                }
            }
        }
        __syncthreads();
        auto const job = shared_job;
        if (job.from == From::nowhere) {
            break;
        }
        auto const order = shared_order.order();
        auto* const done = threadIdx.x == 0 ? post.done_of(job) : nullptr;
        carry(order);
        __syncthreads();
        if (done != nullptr) {  // all bytes were stored by threads of this CTA, which met at a barrier since
            __threadfence_system();
            if (order.flag != 0) {
                store_now(reinterpret_cast<std::uint32_t*>(order.flag), order.value);
                __threadfence_system();
            }
            store_now(done, job.number);
        }
        if (first_warp) {
            post.together();
        }
    }
    if (first_warp && is_first_lane() && !once) {
        post.local->taken = post.taken;
        post.local->device_taken = post.device_taken;
    }
}

cudaError_t launch_courier(const LaunchSite& site, const CourierArguments& a) {
    auto const power_of_two = a.slots != 0 && (a.slots & (a.slots - 1)) == 0;
    auto const seconds = [](double s) { return s >= 0 && s <= 3600; };
    if (!power_of_two || a.entry > stream_entries || !seconds(a.idle_s) || !seconds(a.stay_s) ||
        threads_of(site) > most_threads || threads_of(site) % lanes != 0) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, threads_of(site), attend, a, static_cast<std::uint64_t>(a.idle_s * 1e9),
                  static_cast<std::uint64_t>(a.stay_s * 1e9));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(courier, CourierArguments, launch_courier, &attend)
