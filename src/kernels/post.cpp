#include "kernels/post.hpp"

#include <cstddef>

#include <peerlane/message_slot.hpp>

#include "kernels/kernel.hpp"

namespace peerlane {
namespace {

constexpr Address part(Address ring, std::size_t offset) {
    return ring + offset;
}

KernelSteps meaning(PostArguments a) {
    PostOutcome outcome;
    for (std::uint32_t i = 0; i < a.count; ++i) {
        std::uint32_t number = 0;
        bool reserved = false;
        while (!reserved) {
            auto const posted = co_yield step::load(part(a.ring, offsetof(DeviceRing, posted)), 4);
            number = static_cast<std::uint32_t>(posted.value) + 1;
            auto const room =
                co_yield step::wait(part(a.ring, offsetof(DeviceRing, done)), number - DeviceRing::slots, a.budget_s);
            if (!room.met) {
                break;
            }
            auto const seen =
                co_yield step::compare_swap(part(a.ring, offsetof(DeviceRing, posted)), number - 1, number);
            reserved = seen.value == number - 1;
        }
        if (!reserved) {
            break;
        }
        auto const slot = part(a.ring, offsetof(DeviceRing, slot)) +
                          std::uint64_t{(number - 1) % DeviceRing::slots} * sizeof(MessageSlot);
        auto const to = static_cast<std::uint64_t>(a.to + std::uint64_t{i} * a.bytes);
        auto const from = static_cast<std::uint64_t>(a.from + std::uint64_t{i} * a.bytes);
        auto const flag = static_cast<std::uint64_t>(a.flag);
        std::uint64_t const words[8] = {to, to >> 32, from, from >> 32, flag, flag >> 32, a.bytes, a.first_value + i};
        for (std::size_t k = 0; k < 8; ++k) {
            co_yield step::store(slot + 8 * k, (std::uint64_t{number} << 32) | (words[k] & 0xffffffffU), 8);
        }
        ++outcome.accepted;
        auto const done = co_yield step::wait(part(a.ring, offsetof(DeviceRing, done)), number, a.budget_s);
        if (!done.met) {
            break;
        }
        ++outcome.met;
    }
    co_yield step::store(a.result, outcome.accepted, 4);
    co_yield step::store(a.result + 4, outcome.met, 4);
}

Footprint footprint(const PostArguments& a) {
    return {{}, {{a.ring, sizeof(DeviceRing)}, {a.result, sizeof(PostOutcome)}}, {}};
}

}  // namespace

const Kernel post_kernel = define_kernel<PostArguments, meaning, footprint>("post");

}  // namespace peerlane
