#include <cstddef>

#include "kernels/courier.hpp"
#include "kernels/lookout.cuh"
#include "kernels/ranges.cuh"

namespace peerlane::cuda {
namespace {

constexpr unsigned most_carriers = 512;  // so that a thread has all the registers it wants

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

__device__ inline void carry(Team team, const MessageOrder& order) {
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

/// All of the message's bytes were stored, by threads that met since: says so when they are visible.
__device__ inline void tell(const MessageOrder& order, std::uint32_t* done, std::uint32_t number) {
    release_fence();
    if (order.flag != 0) {
        store_now(reinterpret_cast<std::uint32_t*>(order.flag), order.value);
        release_fence();
    }
    store_now(done, number);
}

/// Barriers of a part of the CTA.
constexpr int handing_over = 1, all_stored = 2;
__device__ inline void meet(int barrier, unsigned threads) {
#if defined(__CUDACC__)
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
#else
    static_cast<void>(barrier);
    static_cast<void>(threads);
#endif
}

}  // namespace

__device__ inline void Post::meet_carriers(const Job& job, const Line& order) const {
#if defined(__CUDACC__)
    meet(handing_over, carriers + lanes);
#else
    if (job.from != From::nowhere) {
        carry({0, 1}, order.order());
        tell(order.order(), done_of(job), job.number);
    }
#endif
}

namespace {

__device__ inline void carry_all(const Post& post, Team team) {
    for (unsigned at = 0;; at ^= 1U) {
        meet(handing_over, post.carriers + lanes);
        auto const job = post.counter->job[at];
        if (job.from == From::nowhere) {
            return;
        }
        auto const order = post.counter->order[at].order();
        carry(team, order);
        meet(all_stored, post.carriers);
        if (team.rank == 0) {
            tell(order, post.done_of(job), job.number);
        }
    }
}

__global__ void __launch_bounds__(most_carriers + lookouts * lanes)
    attend(CourierArguments a, std::uint64_t idle_ns, std::uint64_t stay_ns) {
    __shared__ Counter counter;
    __shared__ std::uint32_t rung[stream_entries];
    auto* const local = reinterpret_cast<CourierLocal*>(a.local);
    auto const started = as_first(global_ns());
    Post post{reinterpret_cast<CourierShared*>(a.shared),
              reinterpret_cast<const MessageSlot*>(a.ring),
              local,
              &counter,
              a.slots,
              a.residence,
              local->device_taken,
              idle_ns,
              stay_ns,
              started,
              started,
              started,
              0,
              0,
              rung,
              a.strict != 0,
              blockDim.x - lookouts * lanes};
    auto const warp = threadIdx.x / lanes;
    bool const once = a.entry != 0;
    if (threadIdx.x == 0) {
        counter.locked = 0;
        counter.over = once ? 1 : 0;
        counter.taken = local->taken;
        counter.handed = 0;
    }
    for (auto i = threadIdx.x; i < stream_entries; i += blockDim.x) {
        rung[i] = static_cast<volatile std::uint32_t*>(local->claimed)[i];
    }
    __syncthreads();
    if (warp >= lookouts) {
        carry_all(post, {threadIdx.x - lookouts * lanes, post.carriers});
    } else if (warp != 0) {
        post.assist();
    } else if (once) {
        static_cast<void>(post.claim_entry(a.entry - 1, a.use));
        post.hand_over({}, nullptr, 0);
    } else {
        post.lead();
        if (is_first_lane()) {
            local->taken = load_shared(&counter.taken);
            local->device_taken = post.device_taken;
        }
    }
}

cudaError_t launch_courier(const LaunchSite& site, const CourierArguments& a) {
    auto const power_of_two = a.slots != 0 && (a.slots & (a.slots - 1)) == 0;
    auto const seconds = [](double s) { return s >= 0 && s <= 3600; };
    if (!power_of_two || a.entry > stream_entries || !seconds(a.idle_s) || !seconds(a.stay_s) ||
        threads_of(site) > most_carriers || threads_of(site) % lanes != 0) {
        return cudaErrorInvalidValue;
    }
#if defined(__CUDACC__)
    auto const threads = threads_of(site) + lookouts * lanes;
#else
    auto const threads = lookouts * lanes;  // the chief carries
#endif
    return launch(site, 1, threads, attend, a, static_cast<std::uint64_t>(a.idle_s * 1e9),
                  static_cast<std::uint64_t>(a.stay_s * 1e9));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(courier, CourierArguments, launch_courier, &attend)
