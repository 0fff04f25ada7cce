#include <algorithm>
#include <cstddef>

#include "kernels/courier.hpp"
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

/// A line of 64 bytes as it came.
struct alignas(16) Line {
    uint4 parts[4];
    __device__ MessageOrder order() const {
        auto const joined = [](const uint4& part) { return std::uint64_t{part.z} << 32 | part.x; };
        MessageOrder found;
        found.to = joined(parts[0]);
        found.from = joined(parts[1]);
        found.flag = joined(parts[2]);
        found.bytes = parts[3].x;
        found.value = parts[3].z;
        return found;
    }
};

/// 16 bytes as they are now. The loads of one thread stay in order, and none waits for the one before.
__device__ inline uint4 load_now(const void* at) {
#if defined(__CUDACC__)
    uint4 got;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
                 : "l"(at)
                 : "memory");
    return got;
#else
    return *static_cast<const uint4*>(at);
#endif
}

__device__ inline std::uint32_t component(const uint4& four, unsigned i) {
    return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
}

#if defined(__CUDACC__)
constexpr unsigned lanes = 32;
#else
constexpr unsigned lanes = 1;  // a device made of loops has no warps: one thread stands for all of its own
#endif

/// The same value in every lane of the warp: lane 0's.
template <class T>
__device__ T as_first(T value) {
#if defined(__CUDACC__)
    return __shfl_sync(~0U, value, 0);
#else
    return value;
#endif
}

/// What one warp loads at once, a lane 16 bytes: lines of 64 bytes side by side. Loads of one thread from one line of
/// host memory are answered one after the other (two H200: 4 us for four), those of one warp together.
class Look {
  public:
    static constexpr unsigned parts = 4;  ///< of a line
    Look() = default;
    __device__ explicit Look(const void* only) : Look(only, only, only, only, 1) {}
    __device__ Look(const void* line_0, const void* line_1, const void* line_2, const void* line_3,
                    unsigned count = 4) {
#if defined(__CUDACC__)
        auto const lane = threadIdx.x % lanes;
        auto const* const line = lane < 2 * parts   ? (lane < parts ? line_0 : line_1)
                                 : lane < 3 * parts ? line_2
                                                    : line_3;
        got_ = lane < count * parts ? load_now(static_cast<const unsigned char*>(line) + 16 * (lane % parts)) : uint4{};
#else
        const void* const lines[] = {line_0, line_1, line_2, line_3};
        for (unsigned i = 0; i < count * parts; ++i) {
            all_[i] = load_now(static_cast<const unsigned char*>(lines[i / parts]) + 16 * (i % parts));
        }
#endif
    }
    /// Word i of a line, in every lane.
    [[nodiscard]] __device__ std::uint32_t word(unsigned line, unsigned i) const {
#if defined(__CUDACC__)
        return __shfl_sync(~0U, component(got_, i % 4), static_cast<int>(line * parts + i / 4));
#else
        return component(all_[line * parts + i / 4], i % 4);
#endif
    }
    /// Every second word of the line is `number`.
    [[nodiscard]] __device__ bool is_message(unsigned line, std::uint32_t number) const {
#if defined(__CUDACC__)
        auto const right = __ballot_sync(~0U, got_.y == number && got_.w == number);
        return (right >> (line * parts) & 15U) == 15U;
#else
        return std::all_of(all_ + line * parts, all_ + (line + 1) * parts,
                           [number](const uint4& part) { return part.y == number && part.w == number; });
#endif
    }
    /// First word of the line that differs from those at `known`; 16 when none does.
    [[nodiscard]] __device__ unsigned first_changed(unsigned line, const std::uint32_t* known) const {
#if defined(__CUDACC__)
        auto const lane = threadIdx.x % lanes;
        auto const mine = lane / parts == line;
        auto const at = mine ? lane % parts * 4 : 0;
        auto const changed = mine ? first_in(got_, known + at) : 4U;
        auto const any = __ballot_sync(~0U, changed < 4);
        if (any == 0) {
            return 16;
        }
        auto const which = __ffs(static_cast<int>(any)) - 1;
        return __shfl_sync(~0U, at + changed, which);
#else
        for (unsigned part = 0; part < parts; ++part) {
            auto const changed = first_in(all_[line * parts + part], known + 4 * part);
            if (changed < 4) {
                return 4 * part + changed;
            }
        }
        return 16;
#endif
    }
    /// Every lane writes what it has of the line.
    __device__ void write(unsigned line, Line& to) const {
#if defined(__CUDACC__)
        auto const lane = threadIdx.x % lanes;
        if (lane / parts == line) {
            to.parts[lane % parts] = got_;
        }
#else
        std::copy_n(all_ + line * parts, parts, to.parts);
#endif
    }

  private:
    __device__ static unsigned first_in(const uint4& four, const std::uint32_t* known) {
        for (unsigned i = 0; i < 4; ++i) {
            if (component(four, i) != known[i]) {
                return i;
            }
        }
        return 4;
    }
#if defined(__CUDACC__)
    uint4 got_;
#else
    uint4 all_[4 * parts];
#endif
};

__device__ inline void store_now(std::uint32_t* at, std::uint32_t value) {
    *static_cast<volatile std::uint32_t*>(at) = value;
}

constexpr std::uint32_t judged_a_clock = 16;

__device__ inline bool is_first_lane() {
    return threadIdx.x % lanes == 0;
}

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
