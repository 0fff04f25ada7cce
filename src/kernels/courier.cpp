#include "kernels/courier.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

enum class From { nowhere, host, device, stream };

struct Job {
    MessageOrder order{};
    From from = From::nowhere;
    std::uint32_t number = 0;
    std::uint32_t entry = 0;
};

std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
    return (std::uint64_t{high} << 32) | low;
}

MessageOrder order_of(const MessageSlot& slot) {
    auto const& p = slot.pairs;
    return {joined(p[0].word, p[1].word), joined(p[2].word, p[3].word), joined(p[4].word, p[5].word), p[6].word,
            p[7].word};
}

constexpr std::uint64_t number_of_slot = offsetof(MessageSlot, pairs) + 7 * sizeof(MessageSlot::Pair) + 4;

Address slot_at(Address slots, std::uint32_t number, std::uint32_t count) {
    return slots + std::uint64_t{(number - 1) & (count - 1)} * sizeof(MessageSlot);
}

/// Where a residence stands.
struct Post {
    CourierArguments a;
    CourierLocal local;
    double started = 0, last = 0;
    bool leaving = false;
    std::uint32_t in_a_row = 0;  ///< messages of the host since others were looked at
    std::uint32_t may_drain = 0;
    MessageSlot seen{};
    static constexpr std::size_t asked = 0, of_device = 1, of_streams = 2;
    /// The host's is the first, or the last where the host had its turn, so that nobody waits behind a busy one.
    std::array<WatchedWord, 3 + stream_entries> words{};

    [[nodiscard]] WatchedWord of_host() const {
        return {slot_at(a.ring, local.taken + 1, a.slots) + number_of_slot, local.taken + 1};
    }
    [[nodiscard]] bool others_first() const { return in_a_row >= host_messages_in_a_row; }
    [[nodiscard]] std::size_t host_at() const { return others_first() ? words.size() - 1 : 0; }
    [[nodiscard]] std::size_t at(std::size_t other) const { return others_first() ? other : other + 1; }

    void look_for_next() {
        auto const ring = a.local + offsetof(CourierLocal, ring);
        words[host_at()] = of_host();
        words[at(asked)] = {a.shared + offsetof(CourierShared, leave), a.residence};
        words[at(of_device)] = {
            slot_at(ring + offsetof(DeviceRing, slot), local.device_taken + 1, DeviceRing::slots) + number_of_slot,
            local.device_taken + 1};
        for (std::uint32_t i = 0; i < stream_entries; ++i) {
            words[at(of_streams) + i] = {a.local + offsetof(CourierLocal, doorbell) + 4 * i, local.claimed[i] + 1};
        }
    }
    [[nodiscard]] double patience(double now) const {
        return std::max(0.0, std::min(a.idle_s - (now - last), a.stay_s - (now - started)));
    }
};

KernelSteps meaning(CourierArguments a) {
    Post post;
    post.a = a;
    auto& local = post.local;
    auto const begun = co_yield step::fetch(a.local, sizeof local, &local);
    post.started = post.last = begun.now_s;
    auto now = begun.now_s;
    bool const once = a.entry != 0;
    for (bool again = true; again; again = !once) {
        Job job;
        if (once) {
            job.entry = a.entry - 1;
            job.number = a.use;
            job.from = From::stream;
        }
        while (job.from == From::nowhere) {
            post.look_for_next();
            if (post.leaving) {
                auto const came =
                    co_yield step::watch(std::span(&post.words[post.host_at()], 1), 0, sizeof post.seen, &post.seen);
                if (!came.met || post.may_drain == 0) {
                    break;
                }
                --post.may_drain;
                job = {order_of(post.seen), From::host, ++local.taken, 0};
                break;
            }
            if (now - post.started < a.stay_s) {
                auto const came = co_yield step::watch(post.words, post.patience(now), sizeof post.seen, &post.seen);
                now = came.now_s;
                auto const asked = came.met && came.value == post.at(Post::asked);
                if (came.met && !asked && now - post.started < a.stay_s) {
                    auto const host = came.value == post.host_at();
                    if (host) {
                        job = {order_of(post.seen), From::host, ++local.taken, 0};
                    } else if (came.value == post.at(Post::of_device)) {
                        job = {order_of(post.seen), From::device, ++local.device_taken, 0};
                    } else {
                        auto const entry = static_cast<std::uint32_t>(came.value - post.at(Post::of_streams));
                        job = {{}, From::stream, local.claimed[entry] + 1, entry};
                    }
                    post.in_a_row = host ? post.in_a_row % host_messages_in_a_row + 1 : 0;
                    break;
                }
            }
            // Said first, looked afterwards: whoever posted without seeing it is found by the next look, whoever posts
            // later sees it and launches the next residence.
            post.leaving = true;
            post.may_drain = a.slots;
            co_yield step::signal(a.shared + offsetof(CourierShared, left), a.residence);
        }
        if (job.from == From::nowhere) {
            break;
        }
        if (job.from == From::stream) {
            auto const old = co_yield step::compare_swap(a.local + offsetof(CourierLocal, claimed) + 4 * job.entry,
                                                         job.number - 1, job.number);
            local.claimed[job.entry] = job.number;
            if (old.value != job.number - 1) {
                local.claimed[job.entry] = static_cast<std::uint32_t>(old.value);
                continue;
            }
            co_yield step::fetch(
                a.shared + offsetof(CourierShared, stream_slot) + std::uint64_t{job.entry} * sizeof(MessageSlot),
                sizeof post.seen, &post.seen);
            job.order = order_of(post.seen);
        }
        auto const& order = job.order;
        co_yield step::copy(Address{order.to}, Address{order.from}, order.bytes);
        if (order.flag != 0) {
            co_yield step::signal(Address{order.flag}, order.value);
        }
        auto const done = job.from == From::host ? a.shared + offsetof(CourierShared, done)
                          : job.from == From::device
                              ? a.local + offsetof(CourierLocal, ring) + offsetof(DeviceRing, done)
                              : a.shared + offsetof(CourierShared, stream_done) + 4 * job.entry;
        auto const said = co_yield step::signal(done, job.number);
        now = post.last = said.now_s;
    }
    if (!once) {
        co_yield step::store(a.local + offsetof(CourierLocal, taken), local.taken, 4);
        co_yield step::store(a.local + offsetof(CourierLocal, device_taken), local.device_taken, 4);
    }
}

/// What the orders name is not known before they are posted.
Footprint footprint(const CourierArguments& a) {
    return {{{a.ring, std::uint64_t{a.slots} * sizeof(MessageSlot)}},
            {{a.local, sizeof(CourierLocal)}, {a.shared, sizeof(CourierShared)}},
            {}};
}

}  // namespace

const Kernel courier_kernel = define_kernel<CourierArguments, meaning, footprint>("courier");

}  // namespace peerlane
