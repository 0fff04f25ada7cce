#include <cstddef>

#include "kernels/courier.hpp"
#include "kernels/ranges.cuh"

namespace peerlane::cuda {
namespace {

constexpr unsigned most_threads = 512;  // so that a thread has all the registers it wants

enum class From : unsigned { nowhere, host, device, stream };

/// What thread 0 found and the CTA carries.
struct Job {
    MessageOrder order;
    From from;
    std::uint32_t number;  ///< of the message in its ring, or use of the entry
    std::uint32_t entry;
};

/// 16 bytes as they are now. The loads of one thread stay in order, and none waits for the one before.
__device__ inline uint4 load_now(const void* at) {
#if defined(__CUDACC__)
    uint4 got;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
                 : "l"(at));
    return got;
#else
    return *static_cast<const uint4*>(at);
#endif
}

struct Line {
    uint4 parts[4];
};

__device__ inline Line load_line(const void* at) {
    Line line;
    for (unsigned i = 0; i < 4; ++i) {
        line.parts[i] = load_now(static_cast<const unsigned char*>(at) + 16 * i);
    }
    return line;
}

__device__ inline bool is_message(const Line& line, std::uint32_t number) {
    bool all = true;
    for (unsigned i = 0; i < 4; ++i) {
        all = all && line.parts[i].y == number && line.parts[i].w == number;
    }
    return all;
}

__device__ inline std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
    return (std::uint64_t{high} << 32) | low;
}

__device__ inline MessageOrder order_of(const Line& line) {
    MessageOrder order;
    order.to = joined(line.parts[0].x, line.parts[0].z);
    order.from = joined(line.parts[1].x, line.parts[1].z);
    order.flag = joined(line.parts[2].x, line.parts[2].z);
    order.bytes = line.parts[3].x;
    order.value = line.parts[3].z;
    return order;
}

__device__ inline void store_now(std::uint32_t* at, std::uint32_t value) {
    *static_cast<volatile std::uint32_t*>(at) = value;
}

/// Where a courier looks and what it knows. Lives in thread 0.
struct Post {
    CourierShared* shared;
    const MessageSlot* ring;
    CourierLocal* local;
    std::uint32_t slots, residence;
    std::uint32_t taken, device_taken;
    std::uint64_t idle_ns, stay_ns;
    std::uint64_t started, last;
    bool leaving;
    std::uint32_t may_drain;
    std::uint32_t* rung;  ///< use of each entry seen last; shared memory

    __device__ Job claimed_entry(std::uint32_t entry, std::uint32_t use) const {
        Job job{};
        if (atomicCAS(&local->claimed[entry], use - 1, use) == use - 1) {
            // The host wrote it before the stream could ring: it is whole.
            job = {order_of(load_line(&shared->stream_slot[entry])), From::stream, use, entry};
        }
        return job;
    }

    __device__ Job next() {
        for (;;) {
            // All loads are under way before the first answer is looked at: one trip over PCIe.
            auto const line = load_line(&ring[taken & (slots - 1)]);
            auto const told = load_now(&shared->leave);
            auto const device_line = load_line(&local->ring.slot[device_taken & (DeviceRing::slots - 1)]);
            auto const bells = load_line(local->doorbell);
            auto const now = global_ns();
            auto const came = is_message(line, taken + 1);
            if (leaving && (!came || may_drain == 0)) {
                return {};
            }
            auto const asked = told.x == residence || now - started >= stay_ns;
            if (!leaving && !asked) {
                if (came) {
                    return {order_of(line), From::host, ++taken, 0};
                }
                if (is_message(device_line, device_taken + 1)) {
                    return {order_of(device_line), From::device, ++device_taken, 0};
                }
                auto const job = rung_bell(bells);
                if (job.from != From::nowhere) {
                    return job;
                }
                if (now - last < idle_ns) {
                    continue;
                }
            }
            if (leaving) {
                --may_drain;
                return {order_of(line), From::host, ++taken, 0};
            }
            // Said first, looked afterwards: whoever posted without seeing it is found by the next look, whoever
            // posts later sees it and launches the next residence.
            leaving = true;
            store_now(&shared->left, residence);
            __threadfence_system();
        }
    }

    __device__ Job rung_bell(const Line& bells) {
        for (std::uint32_t i = 0; i < 4; ++i) {
            std::uint32_t const four[4] = {bells.parts[i].x, bells.parts[i].y, bells.parts[i].z, bells.parts[i].w};
            for (std::uint32_t j = 0; j < 4; ++j) {
                auto const entry = 4 * i + j;
                if (four[j] != rung[entry]) {
                    rung[entry] = four[j];
                    auto const job = claimed_entry(entry, four[j]);
                    if (job.from != From::nowhere) {
                        return job;
                    }
                }
            }
        }
        return {};
    }

    /// All bytes of the job were stored by threads of this CTA, which met at a barrier since.
    __device__ void complete(const Job& job) {
        __threadfence_system();
        if (job.order.flag != 0) {
            store_now(reinterpret_cast<std::uint32_t*>(job.order.flag), job.order.value);
            __threadfence_system();
        }
        if (job.from == From::host) {
            store_now(&shared->done, job.number);
        } else if (job.from == From::device) {
            store_now(&local->ring.done, job.number);
        } else {
            store_now(&shared->stream_done[job.entry], job.number);
        }
        last = global_ns();
    }
};

/// Sources are read past the caches: they change while the kernel is resident. Eight loads in flight a thread, so that
/// 512 threads have 64 KiB under way at once.
__device__ inline void carry_units(Team team, uint4* to, const uint4* from, std::uint64_t units) {
    constexpr unsigned deep = 8;
    auto i = team.rank;
    for (; i + (deep - 1) * team.size < units; i += deep * team.size) {
        uint4 part[deep];
        for (unsigned k = 0; k < deep; ++k) {
            part[k] = __ldcv(from + i + k * team.size);
        }
        for (unsigned k = 0; k < deep; ++k) {
            to[i + k * team.size] = part[k];
        }
    }
    for (; i < units; i += team.size) {
        to[i] = __ldcv(from + i);
    }
}

__device__ inline void carry(const MessageOrder& order) {
    Team const team{threadIdx.x, blockDim.x};
    auto* const to = reinterpret_cast<unsigned char*>(order.to);
    auto const* const from = reinterpret_cast<const unsigned char*>(order.from);
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
    __shared__ std::uint32_t rung[stream_entries];
    auto const first = threadIdx.x == 0;
    Post post{};
    if (first) {
        auto* const local = reinterpret_cast<CourierLocal*>(a.local);
        auto const now = global_ns();
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
                false,
                a.slots,
                rung};
        for (std::uint32_t i = 0; i < stream_entries; ++i) {
            rung[i] = static_cast<volatile std::uint32_t*>(local->claimed)[i];
        }
    }
    bool const once = a.entry != 0;
    for (bool again = true; again; again = !once) {
        if (first) {
            shared_job = once ? post.claimed_entry(a.entry - 1, a.use) : post.next();
            if (a.strict != 0) {
                __threadfence_system();  // what the poster wrote before the order is seen from here on
            }
        }
        __syncthreads();
        auto const job = shared_job;
        if (job.from == From::nowhere) {
            break;
        }
        carry(job.order);
        __syncthreads();
        if (first) {
            post.complete(job);
        }
    }
    if (first && !once) {
        post.local->taken = post.taken;
        post.local->device_taken = post.device_taken;
    }
}

cudaError_t launch_courier(const LaunchSite& site, const CourierArguments& a) {
    auto const power_of_two = a.slots != 0 && (a.slots & (a.slots - 1)) == 0;
    auto const seconds = [](double s) { return s >= 0 && s <= 3600; };
    if (!power_of_two || a.entry > stream_entries || !seconds(a.idle_s) || !seconds(a.stay_s) ||
        threads_of(site) > most_threads) {
        return cudaErrorInvalidValue;
    }
    return launch(site, 1, threads_of(site), attend, a, static_cast<std::uint64_t>(a.idle_s * 1e9),
                  static_cast<std::uint64_t>(a.stay_s * 1e9));
}

}  // namespace
}  // namespace peerlane::cuda

PEERLANE_DEVICE_CODE(courier, CourierArguments, launch_courier, &attend)
