#include "pair_runs.hpp"

#include <algorithm>

#include <peerlane/driver/owned.hpp>
#include <peerlane/units.hpp>

#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"
#include "kernels/pages.hpp"
#include "kernels/touch.hpp"

namespace peerlane::validation {
namespace {

constexpr double giga = 1e9;

/// A source on device 0 and a destination on device 1.
struct Sides {
    Sides(Driver& driver, std::uint64_t bytes) : from(driver, {gpu(0), bytes}), to(driver, {gpu(1), bytes}) {}
    Allocation from, to;
};

CopyRequest peer_copy(const Sides& sides, std::uint64_t offset, std::uint64_t bytes) {
    return {sides.to.location(offset), sides.from.location(offset), bytes, CopyApi::peer};
}

/// Two legs joined by events through a ring of buffers, as somebody would write it by hand.
class Pipeline {
  public:
    Pipeline(Driver& driver, Place between, int first_issuer, int second_issuer, std::uint64_t chunk, std::size_t slots)
        : driver_(driver), chunk_(chunk), first_(driver, first_issuer), second_(driver, second_issuer) {
        auto const kind = between.is_host() ? MemoryKind::pinned : MemoryKind::plain;
        for (std::size_t i = 0; i < slots; ++i) {
            ring_.emplace_back(driver, AllocationRequest{between, chunk, kind});
            arrived_.emplace_back(driver, first_issuer);
            freed_.emplace_back(driver, second_issuer);
        }
    }

    void submit(Location to, Location from, std::uint64_t bytes) {
        for (std::uint64_t at = 0; at < bytes; at += chunk_, ++count_) {
            auto const slot = count_ % ring_.size();
            auto const size = std::min(chunk_, bytes - at);
            if (count_ >= ring_.size()) {
                driver_.wait(first_.view(), freed_[slot].view());
            }
            driver_.copy(first_.view(),
                         {ring_[slot].location(), {from.place, from.address + at}, size, api(from.place)});
            driver_.record(arrived_[slot].view(), first_.view());
            driver_.wait(second_.view(), arrived_[slot].view());
            driver_.copy(second_.view(), {{to.place, to.address + at}, ring_[slot].location(), size, api(to.place)});
            driver_.record(freed_[slot].view(), second_.view());
        }
    }

    void wait() { driver_.synchronize(second_.view()); }

  private:
    [[nodiscard]] CopyApi api(Place other) const {
        return other.is_device() && ring_.front().location().place.is_device() ? CopyApi::peer : CopyApi::automatic;
    }

    Driver& driver_;
    std::uint64_t chunk_;
    Stream first_, second_;
    std::vector<Allocation> ring_;
    std::vector<Event> arrived_, freed_;
    std::size_t count_ = 0;
};

template <class Work>
double timed(Driver& driver, Work&& work) {
    auto const before = driver.now();
    work();
    return driver.now() - before;
}

}  // namespace

double kernel_rate(Driver& driver, int issuer, unsigned ctas) {
    Sides const sides(driver, 1_GiB);
    Stream const stream(driver, issuer);
    CopyArguments const arguments{sides.to.address(), sides.from.address(), 1_GiB, 16};
    auto const seconds = timed(driver, [&] {
        driver.launch(stream.view(), copy_kernel, &arguments, {ctas, 512});
        driver.synchronize(stream.view());
    });
    return static_cast<double>(1_GiB) / seconds / giga;
}

double back_to_back(Driver& driver, int issuer, std::uint64_t bytes) {
    constexpr int copies = 200;
    Sides const sides(driver, bytes);
    Stream const stream(driver, issuer);
    auto const seconds = timed(driver, [&] {
        for (int i = 0; i < copies; ++i) {
            driver.copy(stream.view(), peer_copy(sides, 0, bytes));
        }
        driver.synchronize(stream.view());
    });
    return copies * static_cast<double>(bytes) / seconds / giga;
}

double copy_and_wait(Driver& driver, std::uint64_t bytes) {
    Sides const sides(driver, bytes);
    Stream const stream(driver, 0);
    return timed(driver, [&] {
        driver.copy(stream.view(), peer_copy(sides, 0, bytes));
        driver.synchronize(stream.view());
    });
}

double kernel_and_wait(Driver& driver, std::uint64_t bytes) {
    Sides const sides(driver, bytes);
    Stream const stream(driver, 0);
    CopyArguments const arguments{sides.to.address(), sides.from.address(), bytes, 16};
    return timed(driver, [&] {
        driver.launch(stream.view(), copy_kernel, &arguments);
        driver.synchronize(stream.view());
    });
}

double staged(Driver& driver, std::uint64_t bytes, std::uint64_t chunk, std::size_t slots) {
    Sides const sides(driver, bytes);
    Pipeline lane(driver, host(), 0, 1, chunk, slots);
    return timed(driver, [&] {
        lane.submit(sides.to.location(), sides.from.location(), bytes);
        lane.wait();
    });
}

double split_ratio(Driver& driver, std::uint64_t bytes, std::uint64_t chunk, double share) {
    Sides const sides(driver, bytes);
    Stream const stream(driver, 0);
    auto const plain = timed(driver, [&] {
        driver.copy(stream.view(), peer_copy(sides, 0, bytes));
        driver.synchronize(stream.view());
    });
    auto const through_host = static_cast<std::uint64_t>(static_cast<double>(bytes) * share) / 256 * 256;
    auto const direct = bytes - through_host;
    Pipeline lane(driver, host(), 0, 1, chunk, 4);
    auto const split = timed(driver, [&] {
        driver.copy(stream.view(), peer_copy(sides, 0, direct));
        lane.submit(sides.to.location(direct), sides.from.location(direct), through_host);
        lane.wait();
        driver.synchronize(stream.view());
    });
    return plain / split;
}

double helped_in(Driver& driver, std::uint64_t bytes, std::uint64_t chunk) {
    Allocation const from(driver, {host(), bytes, MemoryKind::pinned});
    Allocation const to(driver, {gpu(0), bytes});
    Stream const direct(driver, 0);
    Pipeline lane(driver, gpu(1), 1, 1, chunk, 4);
    auto const half = bytes / 2;
    auto const seconds = timed(driver, [&] {
        driver.copy(direct.view(), {to.location(), from.location(), half});
        lane.submit(to.location(half), from.location(half), half);
        lane.wait();
        driver.synchronize(direct.view());
    });
    return static_cast<double>(bytes) / seconds / giga;
}

double helped_out(Driver& driver, std::uint64_t bytes, std::uint64_t chunk) {
    Allocation const from(driver, {gpu(0), bytes});
    Allocation const to(driver, {host(), bytes, MemoryKind::pinned});
    Stream const direct(driver, 0);
    Pipeline lane(driver, gpu(1), 0, 1, chunk, 4);
    auto const half = bytes / 2;
    auto const seconds = timed(driver, [&] {
        driver.copy(direct.view(), {to.location(), from.location(), half});
        lane.submit(to.location(half), from.location(half), half);
        lane.wait();
        driver.synchronize(direct.view());
    });
    return static_cast<double>(bytes) / seconds / giga;
}

double page_loop(Driver& driver, std::uint64_t block) {
    constexpr std::uint64_t blocks = 4096;
    Sides const sides(driver, blocks * block);
    Stream const stream(driver, 0);
    auto const seconds = timed(driver, [&] {
        for (std::uint64_t i = 0; i < blocks; ++i) {
            driver.copy(stream.view(), {sides.to.location(i * 5 % blocks * block),
                                        sides.from.location(i * 3 % blocks * block), block, CopyApi::automatic});
        }
        driver.synchronize(stream.view());
    });
    return static_cast<double>(blocks * block) / seconds / giga;
}

double page_batch(Driver& driver, std::uint64_t block) {
    auto const blocks = block < 64_KiB ? std::uint64_t{16384} : std::uint64_t{4096};
    Sides const sides(driver, blocks * block);
    Stream const stream(driver, 0);
    std::vector<CopyRequest> requests;
    for (std::uint64_t i = 0; i < blocks; ++i) {
        requests.push_back({sides.to.location(i * 5 % blocks * block), sides.from.location(i * 3 % blocks * block),
                            block, CopyApi::automatic});
    }
    auto const seconds = timed(driver, [&] {
        driver.copy_batch(stream.view(), requests);
        driver.synchronize(stream.view());
    });
    return static_cast<double>(blocks * block) / seconds / giga;
}

double page_kernel(Driver& driver, std::uint64_t block, unsigned ctas) {
    constexpr int launches = 8;
    auto const blocks = block < 2_KiB ? std::uint64_t{16384} : std::uint64_t{4096};
    Sides const sides(driver, blocks * block);
    Allocation const staging(driver, {host(), 2 * blocks * 8, MemoryKind::pinned});
    Allocation const lists(driver, {gpu(0), 2 * blocks * 8});
    std::vector<std::uint64_t> indices;
    for (auto const step : {5U, 3U}) {
        for (std::uint64_t i = 0; i < blocks; ++i) {
            indices.push_back(i * step % blocks);
        }
    }
    driver.write_host(staging.address(), indices.data(), indices.size() * 8);
    Stream const stream(driver, 0);
    driver.copy(stream.view(), {lists.location(), staging.location(), indices.size() * 8, CopyApi::automatic});
    driver.synchronize(stream.view());
    PagesArguments const arguments{.to = sides.to.address(),
                                   .from = sides.from.address(),
                                   .to_index = lists.address(),
                                   .from_index = lists.address() + blocks * 8,
                                   .pages = blocks,
                                   .layers = 1,
                                   .page_bytes = block,
                                   .to_pitch = block,
                                   .from_pitch = block,
                                   .index_bytes = 8,
                                   .unit = 16,
                                   .many_layers = false};
    Event const begin(driver, 0, true), end(driver, 0, true);
    for (int i = 0; i <= launches; ++i) {
        driver.launch(stream.view(), pages_kernel, &arguments, {ctas, 512});
        if (i == 0) {
            driver.record(begin.view(), stream.view());  // the first one gets the device going
        }
    }
    driver.record(end.view(), stream.view());
    driver.synchronize(stream.view());
    return launches * static_cast<double>(blocks * block) / driver.elapsed(begin.view(), end.view()) / giga;
}

std::vector<double> rates_from_start(Driver& driver, const std::vector<Transfer>& transfers) {
    std::vector<Allocation> memory;
    std::vector<Stream> streams;
    std::vector<Event> done;
    for (auto const& transfer : transfers) {
        for (auto const place : {transfer.from, transfer.to}) {
            memory.emplace_back(driver, AllocationRequest{place, transfer.bytes,
                                                          place.is_host() ? MemoryKind::pinned : MemoryKind::plain});
        }
        streams.emplace_back(driver, transfer.issuer);
        done.emplace_back(driver, transfer.issuer);
    }
    auto const start = driver.now();
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        auto const peers = transfers[i].from.is_device() && transfers[i].to.is_device();
        driver.copy(streams[i].view(), {memory[2 * i + 1].location(), memory[2 * i].location(), transfers[i].bytes,
                                        peers ? CopyApi::peer : CopyApi::automatic});
        driver.record(done[i].view(), streams[i].view());
    }
    std::vector<double> rates(transfers.size());
    for (auto left = transfers.size(); left > 0;) {
        for (std::size_t i = 0; i < rates.size(); ++i) {
            if (rates[i] == 0 && driver.query(done[i].view())) {
                rates[i] = static_cast<double>(transfers[i].bytes) / (driver.now() - start) / giga;
                --left;
            }
        }
    }
    return rates;
}

double useful_reads(Driver& driver, int owner, std::uint64_t stride) {
    constexpr std::uint64_t bytes = 256_MiB;
    constexpr unsigned rounds = 100;
    Allocation const memory(driver, {gpu(owner), bytes});
    Stream const stream(driver, 1);
    TouchArguments const arguments{memory.address(), bytes, stride, rounds, 4};
    auto const seconds = timed(driver, [&] {
        driver.launch(stream.view(), touch_kernel, &arguments);
        driver.synchronize(stream.view());
    });
    return static_cast<double>(bytes / stride * 4) * rounds / seconds / giga;
}

double touched(Driver& driver, int owner, unsigned times, bool copied) {
    constexpr std::uint64_t bytes = 256_MiB;
    Allocation const memory(driver, {gpu(owner), bytes});
    Allocation const local(driver, {gpu(1), bytes});
    Stream const stream(driver, 1);
    auto const& read = copied ? local : memory;
    TouchArguments const arguments{read.address(), bytes, 16, times, 16};
    return timed(driver, [&] {
        if (copied) {
            driver.copy(stream.view(), {local.location(), memory.location(), bytes, CopyApi::peer});
        }
        driver.launch(stream.view(), touch_kernel, &arguments);
        driver.synchronize(stream.view());
    });
}

}  // namespace peerlane::validation
