#include "move/pageable.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "model/pipeline.hpp"
#include "move/chunks.hpp"

namespace peerlane::move {
namespace {

constexpr std::uint64_t least_slot = 256 * KiB, most_slot = 16 * MiB;
constexpr int slots = 4;
constexpr int spins = 2000;
constexpr std::chrono::microseconds nap{20};

/// At least `wanted`, as the devices compare.
bool reached(std::uint32_t value, std::uint32_t wanted) {
    return static_cast<std::int32_t>(value - wanted) >= 0;
}

}  // namespace

Pageable::~Pageable() {
    {
        std::lock_guard const lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

Pageable::Channel& Pageable::channel_of(int device, Place staging) {
    Channel* shared = nullptr;
    std::size_t count = 0;
    for (auto& channel : channels_) {
        if (channel.stream.device() != device) {
            continue;
        }
        if (channel.waiting.empty() && driver_.query(channel.last.view())) {
            return channel;
        }
        shared = count++ == turn_ % most_channels || shared == nullptr ? &channel : shared;
    }
    if (count < most_channels) {
        Stream stream(driver_, device);
        Event last(driver_, device);
        Allocation counters(driver_, {staging, 192, MemoryKind::pinned});
        std::vector<unsigned char> const zeros(192, 0);
        driver_.write_host(counters.address(), zeros.data(), zeros.size());
        channels_.push_back({std::move(stream), std::move(last), std::move(counters), 0, 0, {}});
        return channels_.back();
    }
    ++turn_;
    return *shared;
}

bool Pageable::copy(Location to, Location from, std::uint64_t bytes, StreamView stream, Place staging,
                    Resources& resources) {
    auto const to_device = to.place.is_device();
    auto const device = to_device ? to.place.index : from.place.index;
    if (!driver_.capabilities(device).stream_memory_operations) {
        return false;
    }
    auto const slot = std::clamp((bytes / most_chunks + granule - 1) / granule * granule, least_slot, most_slot);
    auto& rings = resources.staging();
    auto* const ring = rings.take(staging, slot * slots, 2 * granule);
    if (ring == nullptr) {
        return false;
    }
    auto const fitted = fit(ring->bytes(), slot, slots, granule);
    start_thread();
    auto& entry = resources.entry(stream.device);
    try {
        driver_.record(entry.view(), stream);  // fails where anything of the caller's does: nothing is queued yet
    } catch (...) {
        Staging::release(*ring);
        throw;
    }
    std::unique_lock lock(mutex_);
    auto& channel = channel_of(device, staging);
    auto const inner = channel.stream.view();
    Job job;
    job.number = ++channel.jobs;
    job.to_device = to_device;
    job.host = to_device ? from.address : to.address;
    job.ring = ring->address();
    job.slot_bytes = fitted.chunk;
    job.buffers = static_cast<std::size_t>(fitted.buffers);
    job.chunks = model::chunk_sizes(bytes, fitted.chunk, std::max(most_chunks, bytes / fitted.chunk + 1));
    job.first = channel.chunks;
    auto const chunks = job.chunks;
    channel.chunks += static_cast<std::uint32_t>(chunks.size());
    channel.waiting.push_back(std::move(job));
    lock.unlock();  // the thread must go on where a full queue blocks this one
    changed_.notify_all();

    driver_.wait(inner, entry.view());
    if (ring->released()) {
        driver_.wait(inner, *ring->released());
    }
    driver_.write_value(inner, channel.started(), channel.jobs);
    auto const first = channel.chunks - static_cast<std::uint32_t>(chunks.size());
    auto const device_end = to_device ? to : from;
    std::uint64_t offset = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        auto const number = first + static_cast<std::uint32_t>(c);
        Location const slot_end{staging, ring->address() + c % static_cast<std::size_t>(fitted.buffers) * fitted.chunk};
        Location const far{device_end.place, device_end.address + offset};
        if (to_device) {
            driver_.wait_value(inner, channel.by_host(), number + 1);
            driver_.copy(inner, {far, slot_end, chunks[c], CopyApi::automatic});
        } else {
            if (c >= static_cast<std::size_t>(fitted.buffers)) {
                driver_.wait_value(inner, channel.by_host(), number + 1 - static_cast<std::uint32_t>(fitted.buffers));
            }
            driver_.copy(inner, {slot_end, far, chunks[c], CopyApi::automatic});
        }
        driver_.write_value(inner, channel.by_device(), number + 1);
        offset += chunks[c];
    }
    if (!to_device) {
        driver_.wait_value(inner, channel.by_host(), channel.chunks);
    }
    driver_.record(channel.last.view(), inner);
    rings.release(*ring, inner);
    driver_.wait(stream, channel.last.view());
    return true;
}

void Pageable::start_thread() {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) {
        thread_ = std::thread([this] { work(); });
        changed_.wait(lock, [this] { return running_; });
    }
}

void Pageable::work() {
    static_cast<void>(driver_.now());  // known to a simulated driver before anybody waits for this thread
    std::unique_lock lock(mutex_);
    running_ = true;
    changed_.notify_all();
    auto const busy = [this] {
        return std::any_of(channels_.begin(), channels_.end(), [](const Channel& c) { return !c.waiting.empty(); });
    };
    int idle_rounds = 0;
    try {
        while (true) {
            changed_.wait(lock, [&] { return stop_ || busy(); });
            if (!busy()) {
                return;
            }
            auto progress = false;
            for (std::size_t i = 0; i < channels_.size(); ++i) {
                auto& channel = channels_[i];
                if (!channel.waiting.empty()) {
                    lock.unlock();
                    auto const done = advance(channel);
                    lock.lock();
                    progress = done || progress;
                    if (channel.waiting.front().next == channel.waiting.front().chunks.size()) {
                        channel.waiting.pop_front();
                        changed_.notify_all();
                    }
                }
            }
            idle_rounds = progress ? 0 : idle_rounds + 1;
            if (idle_rounds > 0) {
                lock.unlock();
                if (idle_rounds < spins) {
                    std::this_thread::yield();
                } else {
                    std::this_thread::sleep_for(nap);
                    if (driver_.last_error() != 0) {
                        throw Error({driver_.last_error(), "pageable copy", -1, -1, "", true});
                    }
                }
                lock.lock();
            }
        }
    } catch (const std::exception&) {
        // The devices are gone: every other call says so.
        if (!lock.owns_lock()) {
            lock.lock();
        }
        for (auto& channel : channels_) {
            channel.waiting.clear();
        }
        changed_.notify_all();
    }
}

bool Pageable::advance(Channel& channel) {
    // Only this thread takes jobs out, and the front of a deque stays where it is while others are added.
    auto& job = channel.waiting.front();
    if (!reached(driver_.poll(channel.started()), job.number)) {
        return false;
    }
    auto any = false;
    while (job.next < job.chunks.size() && move_chunk(channel, job)) {
        any = true;
    }
    return any;
}

bool Pageable::move_chunk(Channel& channel, Job& job) {
    auto const number = job.first + static_cast<std::uint32_t>(job.next);
    auto const bytes = job.chunks[job.next];
    auto const slot = job.ring + job.next % job.buffers * job.slot_bytes;
    if (job.to_device) {
        if (job.next >= job.buffers &&
            !reached(driver_.poll(channel.by_device()), number + 1 - static_cast<std::uint32_t>(job.buffers))) {
            return false;
        }
        driver_.copy_host(slot, job.host + job.offset, bytes);
    } else {
        if (!reached(driver_.poll(channel.by_device()), number + 1)) {
            return false;
        }
        driver_.copy_host(job.host + job.offset, slot, bytes);
    }
    std::atomic_thread_fence(std::memory_order_release);
    auto const told = number + 1;
    driver_.write_host(channel.by_host(), &told, sizeof told);
    job.offset += bytes;
    ++job.next;
    return true;
}

void Pageable::drain() {
    std::unique_lock lock(mutex_);
    std::vector<StreamView> streams;
    for (auto const& channel : channels_) {
        streams.push_back(channel.stream.view());
    }
    lock.unlock();
    for (auto const stream : streams) {
        driver_.synchronize(stream);
    }
}

}  // namespace peerlane::move
