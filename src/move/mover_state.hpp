#pragma once
/// What a mover is made of.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>

#include "move/buffers.hpp"
#include "move/decisions.hpp"
#include "move/executor.hpp"
#include "move/list_mover.hpp"
#include "move/order.hpp"
#include "move/pageable.hpp"

namespace peerlane {

struct Mover::State {
    State(Driver& driver, Ready ready, const MoverOptions& options);

    void copy(Location to, Location from, const move::End& target, const move::End& source, std::uint64_t bytes,
              StreamView stream);
    void carry_out(const Choice& choice, Location to, Location from, StreamView stream);
    [[nodiscard]] Choice choose(Place from, Place to, std::uint64_t bytes) const;
    void check();
    void synchronize();
    /// Under the lock, with staging of its own where the stream is being captured.
    template <class Call>
    void with_lists(StreamView stream, Call&& call) {
        told([&] { submit_lists(stream, call); });
    }
    template <class Call>
    void submit_lists(StreamView stream, Call& call) {
        std::lock_guard const lock(mutex);
        if (!driver.capturing(stream)) {
            call(lists);
            return;
        }
        auto const own = graph_resources();
        lists.use(*own);
        try {
            call(lists);
        } catch (...) {
            lists.use(resources);
            graphs.push_back(own);  // some of it may be recorded
            throw;
        }
        lists.use(resources);
        keep(own, stream);
    }
    /// A sticky error with what this mover did last.
    [[noreturn]] void throw_device_error(const Error& error) const;
    /// Runs a call whose sticky errors are told so.
    template <class Call>
    auto told(Call&& call) const {
        try {
            return call();
        } catch (const Error& error) {
            if (error.info().sticky) {
                throw_device_error(error);
            }
            throw;
        }
    }
    static constexpr std::size_t most_exchange_streams = 8;  ///< of a device
    /// Kept for later exchanges. The lock is held.
    Stream& exchange_stream(int device, std::size_t number);
    Event& exchange_event(int device, std::size_t number);
    void remember(const Leg& leg) noexcept;
    /// Maps and grants what enabling does not cover where legs touch the ends: for kernels (Error where that is
    /// refused), and for engines, which go on without. The lock is held.
    void open_ends(std::span<const Leg> legs, Location to, Location from);
    [[nodiscard]] std::shared_ptr<move::Resources> graph_resources() const;
    void keep(const std::shared_ptr<move::Resources>& own, StreamView stream);

    Driver& driver;
    Ready ready;
    MoverOptions options;
    Planner planner;
    mutable std::mutex mutex;  ///< lanes are handed out and submitted to by one thread at a time
    move::Resources resources;
    move::Executor executor;
    move::ListMover lists;
    move::Pageable pageable;
    move::Buffers buffers;
    move::Decisions decisions;
    std::vector<std::shared_ptr<void>> graphs{};  ///< that the driver does not keep
    std::vector<Finding> findings{};
    std::unique_ptr<move::Orders> orders{};  ///< of exchanges, when there was one

  private:
    [[nodiscard]] std::unique_ptr<move::Decision> decide(Place from, Place to, std::uint64_t bytes) const;
    [[nodiscard]] std::optional<move::Decision::Side> side_of(const Choice& choice, Place from, Place to,
                                                              Place issuer) const;
    /// The routes with their single legs issued by the destination, where that is not slower than the way to another
    /// stream and back; empty when none is.
    [[nodiscard]] std::vector<Route> issued_at_destination(std::vector<Route> routes, std::uint64_t bytes) const;
    [[nodiscard]] std::optional<double> measured_s(const Leg& leg, std::uint64_t bytes) const;
    [[nodiscard]] bool behind_other_work(StreamView stream) const;
    /// `open`: enabling access is all that both ends need.
    void copy_single(const move::Decision& decision, Location to, Location from, bool open, std::uint64_t bytes,
                     StreamView stream);
    void copy_split(move::Decision& decision, Location to, Location from, bool open, std::uint64_t bytes,
                    StreamView stream);
    void copy_pageable(const move::Decision& decision, Location to, Location from, std::uint64_t bytes,
                       StreamView stream);
    void record(std::vector<Route> routes, Location to, Location from, std::uint64_t bytes, StreamView stream);
    [[nodiscard]] Place staging_near(int device) const;
    [[noreturn]] void throw_failure(const move::Failure& failure);
    struct Split {
        move::Adaptation* adaptation = nullptr;
        StreamView stream{};
    };
    Split latest_split_{};  ///< what it shows holds only while no other comes beside it
    std::map<int, std::vector<Stream>> exchange_streams_{};
    std::map<int, std::map<std::size_t, Event>> exchange_events_{};
    std::vector<std::atomic<std::uint64_t>> latest_;  ///< [device]: leg of its latest copy, packed; 0: none
};

}  // namespace peerlane
