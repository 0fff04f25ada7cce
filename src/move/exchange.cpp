#include <peerlane/exchange.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>

#include <peerlane/error.hpp>

#include "move/mover_state.hpp"
#include "move/order.hpp"

namespace peerlane {

struct Exchange::State {
    Driver& driver;
    Event start, end;
    std::vector<PlannedCopy> plan{};
    double predicted_s = 0;
    mutable std::optional<double> achieved_s{};

    static std::unique_ptr<State> submitted(Mover::State& mover, std::span<const ExchangeCopy> copies,
                                            StreamView stream);
};

namespace {

struct Asked {
    Location to, from;
    std::uint64_t bytes = 0;
    bool open = false;  ///< enabling access is all that both ends need
};

/// For each copy a stream of its first issuer in which what comes before it is planned to be over.
std::vector<std::pair<int, std::size_t>> streams_for(const std::vector<PlannedCopy>& plan,
                                                     const std::vector<std::size_t>& order, std::size_t most) {
    std::map<int, std::vector<double>> free_s;
    std::vector<std::pair<int, std::size_t>> chosen(plan.size());
    for (auto const i : order) {
        auto const device = plan[i].route.legs.front().issuer.index;
        auto& streams = free_s[device];
        auto soonest = std::min_element(streams.begin(), streams.end());
        if ((soonest == streams.end() || *soonest > plan[i].start_s) && streams.size() < most) {
            streams.push_back(0);
            soonest = std::prev(streams.end());
        }
        chosen[i] = {device, static_cast<std::size_t>(soonest - streams.begin())};
        *soonest = plan[i].end_s;
    }
    return chosen;
}

}  // namespace

Exchange::Exchange(std::unique_ptr<State> state) : state_(std::move(state)) {}
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&&) noexcept = default;
Exchange::~Exchange() = default;

double Exchange::predicted_s() const {
    return state_->predicted_s;
}

const std::vector<PlannedCopy>& Exchange::plan() const {
    return state_->plan;
}

bool Exchange::done() const {
    return state_->achieved_s || state_->driver.query(state_->end.view());
}

double Exchange::wait() const {
    if (!state_->achieved_s) {
        state_->driver.synchronize(state_->end.view());
        state_->achieved_s = state_->driver.elapsed(state_->start.view(), state_->end.view());
    }
    return *state_->achieved_s;
}

Exchange Mover::exchange(std::span<const ExchangeCopy> copies, StreamView stream) {
    return state_->told([&] { return Exchange(Exchange::State::submitted(*state_, copies, stream)); });
}

std::unique_ptr<Exchange::State> Exchange::State::submitted(Mover::State& mover, std::span<const ExchangeCopy> copies,
                                                            StreamView stream) {
    auto& driver = mover.driver;
    if (driver.capturing(stream)) {
        throw Error({code::capture_unsupported, "exchange", -1, -1,
                     "an exchange cannot be recorded: capture its copies one by one; the capture goes on"});
    }
    std::vector<Asked> asked;
    std::vector<move::Flow> flows;
    std::unique_lock lock(mover.mutex);
    if (!mover.orders) {
        mover.orders = std::make_unique<move::Orders>(driver, mover.planner);
    }
    for (auto const& copy : copies) {
        if (copy.bytes == 0) {
            throw std::invalid_argument("exchange: a copy of 0 bytes");
        }
        auto const target = mover.buffers.find(address_of(copy.to), copy.bytes, "destination");
        auto const source = mover.buffers.find(address_of(copy.from), copy.bytes, "source");
        if (target.kind == MemoryKind::pageable || source.kind == MemoryKind::pageable) {
            throw std::invalid_argument("exchange: pageable host memory; pin or register it");
        }
        asked.push_back({{target.place, address_of(copy.to)},
                         {source.place, address_of(copy.from)},
                         copy.bytes,
                         target.open_to_kernels && source.open_to_kernels});
        flows.push_back({source.place, target.place, copy.bytes});
    }
    auto const& order_of_copies = mover.orders->of(flows);
    auto const& plan = order_of_copies.plan;
    auto const& order = order_of_copies.by_start;
    auto state = std::make_unique<Exchange::State>(Exchange::State{driver,
                                                                   Event(driver, stream.device, true),
                                                                   Event(driver, stream.device, true),
                                                                   plan,
                                                                   order_of_copies.makespan_s,
                                                                   {}});

    for (std::size_t i = 0; i < plan.size(); ++i) {  // nothing is mapped once the clock runs
        for (auto const& leg : plan[i].route.legs) {
            mover.resources.map(leg);
        }
        if (!asked[i].open) {
            mover.open_ends(plan[i].route.legs, asked[i].to, asked[i].from);
        }
    }
    auto const where = streams_for(plan, order, Mover::State::most_exchange_streams);
    std::map<std::pair<int, std::size_t>, std::size_t> latest;  // copy of each stream
    auto const nothing_before = driver.query(stream);           // then nobody waits for the way from stream to stream
    driver.record(state->start.view(), stream);
    for (auto const i : order) {
        auto const on = mover.exchange_stream(where[i].first, where[i].second).view();
        if (!nothing_before && latest.find(where[i]) == latest.end()) {
            driver.wait(on, state->start.view());
        }
        for (auto const before : order_of_copies.placed[i].after) {
            if (where[before] != where[i]) {
                driver.wait(on, mover.exchange_event(where[before].first, before).view());
            }
        }
        mover.remember(plan[i].route.legs.back());
        mover.executor.submit({plan[i].route}, asked[i].bytes, asked[i].to, asked[i].from, on, mover.resources);
        driver.record(mover.exchange_event(where[i].first, i).view(), on);
        latest[where[i]] = i;
    }
    for (auto const& [at, last] : latest) {
        driver.wait(stream, mover.exchange_event(at.first, last).view());
    }
    driver.record(state->end.view(), stream);
    return state;
}

}  // namespace peerlane
