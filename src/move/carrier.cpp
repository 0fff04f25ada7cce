#include "move/carrier.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "kernels/kernel.hpp"
#include "move/reach.hpp"

namespace peerlane::move {
namespace {

constexpr double kept_for_the_rest = 0.35;    ///< of the longest stay, for what is posted when it is over
constexpr double long_wait_s = 200e-6;        ///< from here on a waiting host lets others run
constexpr std::uint32_t looks_a_query = 256;  ///< polling memory does not tell that a device failed

void require(bool holds, const char* what) {
    if (!holds) {
        throw std::invalid_argument(what);
    }
}

MessageSlot slot_of(std::uint32_t number, const MessageEnds& ends, const MessageOptions& options) {
    auto const flag = options.then_set ? options.then_set->address : Address::null;
    auto const low = [](Address at) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(at)); };
    auto const high = [](Address at) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(at) >> 32); };
    MessageSlot slot;
    std::uint32_t const words[8] = {low(ends.to),
                                    high(ends.to),
                                    low(ends.from),
                                    high(ends.from),
                                    low(flag),
                                    high(flag),
                                    static_cast<std::uint32_t>(ends.bytes),
                                    options.value};
    for (std::size_t i = 0; i < 8; ++i) {
        slot.pairs[i] = {words[i], number};
    }
    return slot;
}

}  // namespace

Carrier::Carrier(Driver& driver, Ready ready, int device, const CourierOptions& options)
    : driver_(driver), ready_(std::move(ready)), options_(options) {
    require(options.slots >= 1 && options.slots <= 4096 && (options.slots & (options.slots - 1)) == 0,
            "courier: the number of slots is a power of two up to 4096");
    require(options.threads >= 32 && options.threads <= 512 && options.threads % 32 == 0,
            "courier: threads of its CTA are a multiple of 32 up to 512");
    require(options.idle_s >= 0 && options.stay_s > 0 && options.stay_s <= 3600 && options.idle_s <= options.stay_s,
            "courier: it stays for some time, at most an hour, and is idle no longer than that");
    require(
        options.most_bytes >= 1 && options.most_bytes <= options.most_queued_bytes && options.most_bytes <= 0xffffffffU,
        "courier: one message has at most 4 GiB - 1, and all that are posted at once hold at least one");
    require(driver.capabilities(device).stream_memory_operations,
            "courier: the device has no stream memory operations, which its streams wait with");
    stream_ = Stream(driver, device, StreamKind::urgent);
    pinned_ = Allocation(
        driver, {host(), sizeof(CourierShared) + options.slots * sizeof(MessageSlot) + 64, MemoryKind::pinned});
    local_ = Allocation(driver, {gpu(device), sizeof(CourierLocal)});
    require(static_cast<std::uint64_t>(pinned_.address()) % 64 == 0 &&
                static_cast<std::uint64_t>(local_.address()) % 64 == 0,
            "courier: the driver gave memory that no cache line begins with");
    ring_ = pinned_.address() + sizeof(CourierShared);
    ends_at_.assign(options.slots, 0);
    std::vector<std::byte> const zeros(pinned_.bytes());
    driver.write_host(pinned_.address(), zeros.data(), zeros.size());
    driver.fill(stream_.view(), local_.location(), 0, local_.bytes());
    driver.synchronize(stream_.view());  // a residence follows in the same stream, but kernels may post at once
    start();
}

Carrier::~Carrier() {
    try {
        Message last;
        last.carrier_ = this;
        last.number_ = posted_;
        auto const deadline = driver_.now() + options_.give_up_s;  // of all of it
        (void)wait(last, options_.give_up_s);
        for (std::uint32_t i = 0; i < stream_entries; ++i) {
            last.number_ = uses_[i];
            last.entry_ = i + 1;
            (void)wait(last, std::max(0.0, deadline - driver_.now()));
        }
        leave();
        driver_.synchronize(stream_.view());
    } catch (...) {  // the device failed: nothing of ours runs any more
    }
}

void Carrier::check_ends(const MessageEnds& ends) const {
    if (ends.bytes > options_.most_bytes) {
        throw std::invalid_argument(
            fmt::format("message of {} bytes: this courier takes {} (CourierOptions::most_bytes)", ends.bytes,
                        options_.most_bytes));
    }
    auto const apart = ends.to < ends.from ? ends.from - ends.to : ends.to - ends.from;
    if (apart < ends.bytes) {
        throw std::invalid_argument("message: source and destination overlap");
    }
}

void Carrier::check_range(Address at, std::uint64_t bytes, bool write) {
    auto const side = write ? "destination" : "source";
    auto const found = driver_.provenance(at);
    if (found.bytes == 0 || found.kind == MemoryKind::pageable || at - found.base > found.bytes ||
        bytes > found.bytes - (at - found.base)) {
        throw std::invalid_argument(
            fmt::format("message: {} bytes at the {} are not inside memory that devices can reach", bytes, side));
    }
    if (found.place.is_host()) {
        return;
    }
    auto const owner = found.place.index;
    auto const self = gpu(device());
    auto const leg =
        write ? Leg{self, found.place, Engine::kernel, self} : Leg{found.place, self, Engine::kernel, self};
    if (owner != device() && !may_use(ready_, leg)) {
        throw std::invalid_argument(fmt::format("message: {} of device {} to memory of device {} are not proven",
                                                write ? "stores" : "loads", device(), owner));
    }
    if (!reaches(found, device())) {
        (void)driver_.enable_access({device(), owner});
        grant_reach(driver_, device(), at, found, "courier");
    }
}

void Carrier::check_flag(const Location& flag) {
    require(static_cast<std::uint64_t>(flag.address) % 4 == 0, "message: a flag is four aligned bytes");
    check_range(flag.address, 4, true);
}

bool Carrier::has_room(std::uint64_t bytes) {
    if (posted_ - done_ >= options_.slots || posted_bytes_ - done_bytes_ + bytes > options_.most_queued_bytes) {
        done_ = driver_.poll(shared(offsetof(CourierShared, done)));
        done_bytes_ = done_ == posted_ ? posted_bytes_ : done_bytes_;
        if (done_ != posted_ && done_ != 0) {
            done_bytes_ = std::max(done_bytes_, ends_at_[(done_ - 1) & (options_.slots - 1)]);
        }
    }
    return posted_ - done_ < options_.slots && posted_bytes_ - done_bytes_ + bytes <= options_.most_queued_bytes;
}

template <class Met>
void Carrier::wait_for_room(std::unique_lock<std::mutex>& lock, const char* what, Met&& met) {
    if (met()) {
        return;
    }
    auto const start = driver_.now();
    for (std::uint32_t looks = 1; !met(); ++looks) {
        if (looks % looks_a_query == 0) {
            attend();
            (void)driver_.query(stream_.view());
            auto const waited = driver_.now() - start;
            if (waited > options_.give_up_s) {
                throw Error({code::launch_timeout, "courier", device(), -1,
                             fmt::format("{} for {} s: is the device busy with work that never ends?", what, waited)});
            }
            if (waited > long_wait_s) {
                lock.unlock();
                std::this_thread::yield();
                lock.lock();
            }
        }
    }
}

void Carrier::write_slot(Address slot, std::uint32_t number, const MessageEnds& ends, const MessageOptions& options) {
    auto const made = slot_of(number, ends, options);
    driver_.write_host(slot, &made, sizeof made);
}

Message Carrier::post(const MessageEnds& ends, const MessageOptions& options) {
    std::unique_lock lock(mutex_);
    wait_for_room(lock, "no room for a message", [&] { return has_room(ends.bytes); });
    auto const number = ++posted_;
    auto const slot = (number - 1) & (options_.slots - 1);
    posted_bytes_ += ends.bytes;
    ends_at_[slot] = posted_bytes_;
    write_slot(ring_ + std::uint64_t{slot} * sizeof(MessageSlot), number, ends, options);
    attend();
    ++posted_total_;
    Message message;
    message.carrier_ = this;
    message.number_ = number;
    return message;
}

Message Carrier::post_in(StreamView stream, const MessageEnds& ends, const MessageOptions& options) {
    require(stream.device == device(), "message: the stream is not one of the courier's device");
    require(!driver_.capturing(stream), "message: a captured stream would post the same message again and again");
    std::unique_lock lock(mutex_);
    std::uint32_t entry = 0;
    wait_for_room(lock, "no room for a message of a stream", [&] {
        for (entry = 0; entry < stream_entries; ++entry) {
            if (driver_.poll(shared(offsetof(CourierShared, stream_done) + 4 * entry)) == uses_[entry]) {
                return true;
            }
        }
        return false;
    });
    auto const use = ++uses_[entry];
    write_slot(shared(offsetof(CourierShared, stream_slot) + entry * sizeof(MessageSlot)), use, ends, options);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    driver_.write_value(stream, local_.address() + offsetof(CourierLocal, doorbell) + 4 * entry, use);
    // Nobody may be there when the stream gets here, and the host is not asked: the stream looks itself.
    auto once = arguments();
    once.entry = entry + 1;
    once.use = use;
    driver_.launch(stream, courier_kernel, &once, {1, options_.threads});
    ++posted_total_;
    Message message;
    message.carrier_ = this;
    message.number_ = use;
    message.entry_ = entry + 1;
    return message;
}

CourierArguments Carrier::arguments() const {
    return {pinned_.address(),
            ring_,
            local_.address(),
            options_.slots,
            residence_,
            0,
            0,
            options_.idle_s,
            options_.stay_s * (1 - kept_for_the_rest),
            options_.strict ? 1U : 0U};
}

void Carrier::attend() {
    // Posted first, looked afterwards: see the courier's own leaving.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (driver_.poll(shared(offsetof(CourierShared, left))) != residence_) {
        return;
    }
    auto next = arguments();
    ++next.residence;
    driver_.launch(stream_.view(), courier_kernel, &next, {1, options_.threads});
    ++residence_;
    ++residences_total_;
}

void Carrier::look_after() {
    std::unique_lock const lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) {  // else somebody posts, which looks too
        attend();
        (void)driver_.query(stream_.view());
    }
}

Address Carrier::done_word(const Message& message) const {
    return message.entry_ == 0 ? shared(offsetof(CourierShared, done))
                               : shared(offsetof(CourierShared, stream_done) + 4 * (message.entry_ - 1));
}

bool Carrier::reached(const Message& message) {
    return flag_reached(driver_.poll(done_word(message)), message.number_);
}

bool Carrier::done(const Message& message) {
    if (reached(message)) {
        return true;
    }
    if (looks_.fetch_add(1, std::memory_order_relaxed) % looks_a_query == looks_a_query - 1) {
        look_after();
    }
    return false;
}

bool Carrier::wait(const Message& message, double seconds) {
    if (reached(message)) {
        return true;
    }
    auto const start = driver_.now();
    for (std::uint32_t looks = 1;; ++looks) {
        if (reached(message)) {
            return true;
        }
        if (looks % 8 != 0) {
            continue;
        }
        auto const waited = driver_.now() - start;
        if (waited >= seconds) {
            driver_.expired({done_word(message), message.number_, driver_.poll(done_word(message)), waited, -1});
            return false;
        }
        if (looks % looks_a_query == 0) {
            look_after();
        }
        if (waited > long_wait_s) {
            std::this_thread::yield();
        }
    }
}

void Carrier::wait_in(const Message& message, StreamView stream) {
    driver_.wait_value(stream, done_word(message), message.number_);
}

void Carrier::start() {
    std::lock_guard const lock(mutex_);
    attend();
}

void Carrier::leave() {
    std::lock_guard const lock(mutex_);
    driver_.write_host(shared(offsetof(CourierShared, leave)), &residence_, sizeof residence_);
}

DeviceRing* Carrier::device_ring() const {
    return static_cast<DeviceRing*>(pointer_to(local_.address() + offsetof(CourierLocal, ring)));
}

}  // namespace peerlane::move
