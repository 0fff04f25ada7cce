#include "many_rig.hpp"

#include <numeric>
#include <random>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::bench {
namespace {

constexpr Pattern poisoned{99, 0};

Place near_device_0(const Machine& machine) {
    auto const node = machine.devices.empty() ? std::nullopt : machine.devices.front().numa;
    return node && machine.graph.numa_node(*node) >= 0 ? host(*node) : host();
}

}  // namespace

Rig::Rig(Driver& driver, const Ready& ready, std::uint64_t device_bytes, std::optional<Place> home)
    : driver_(driver),
      mover_(driver, ready),
      planner_(ready.machine, ready.verdicts, ready.profile,
               {ready.trust_claimed, MoverOptions{}.staging_bytes / 4, {}, false}),
      host_(driver, {home.value_or(near_device_0(ready.machine)), host_bytes, MemoryKind::pinned}),
      host_in_(driver, {host_.location().place, host_bytes, MemoryKind::pinned}),
      outcome_(driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned}) {
    for (int device = 0; device < devices(); ++device) {
        out_.emplace_back(driver, AllocationRequest{gpu(device), device_bytes});
        in_.emplace_back(driver, AllocationRequest{gpu(device), device_bytes});
        fill(out_.back().location(), device_bytes, pattern_of(gpu(device)));
    }
    for (auto const* const memory : {&out_, &in_}) {
        for (auto const& one : *memory) {
            mover_.register_buffer(pointer_to(one.address()), one.bytes());
        }
    }
    mover_.register_buffer(pointer_to(host_.address()), host_bytes);
    mover_.register_buffer(pointer_to(host_in_.address()), host_bytes);
    fill(host_.location(), host_bytes, pattern_of(this->home()));
}

const Allocation& Rig::memory(Place place, bool out) const {
    if (place.is_host()) {
        return out ? host_ : host_in_;
    }
    return (out ? out_ : in_).at(static_cast<std::size_t>(place.index));
}

Location Rig::from(const Job& job) const {
    return memory(job.from, true).location(job.from_offset);
}

Location Rig::to(const Job& job) const {
    return memory(job.to, false).location(job.to_offset);
}

StreamView Rig::stream(int device, int number) {
    auto const at = std::pair{device, number};
    if (streams_.find(at) == streams_.end()) {
        streams_.emplace(at, Stream(driver_, device));
    }
    return streams_.at(at).view();
}

void Rig::enable_all() {
    for (int a = 0; a < devices(); ++a) {
        for (int b = 0; b < devices(); ++b) {
            if (a != b) {
                static_cast<void>(driver_.enable_access({a, b}));
            }
        }
    }
}

std::vector<std::int32_t> Rig::shuffled(std::uint64_t count) {
    std::vector<std::int32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), std::mt19937(7));
    return all;
}

PageIndices Rig::page_numbers(int device, std::uint64_t count) {
    auto const at = std::pair{device, count};
    if (page_numbers_.find(at) == page_numbers_.end()) {
        auto const numbers = shuffled(count);
        auto const bytes = count * sizeof numbers.front();
        Allocation const staged(driver_, {host(), bytes, MemoryKind::pinned});
        driver_.write_host(staged.address(), numbers.data(), bytes);
        auto& there = page_numbers_.emplace(at, Allocation(driver_, {gpu(device), bytes})).first->second;
        driver_.copy(stream(device), {there.location(), staged.location(), bytes, CopyApi::automatic});
        driver_.synchronize(stream(device));
    }
    return static_cast<const std::int32_t*>(pointer_to(page_numbers_.at(at).address()));
}

void Rig::fill(Location at, std::uint64_t bytes, Pattern pattern) {
    if (at.place.is_host()) {
        driver_.fill_host(at.address, bytes, pattern);
        return;
    }
    FillArguments const arguments{at.address, bytes, pattern, 16};
    driver_.launch(stream(at.place.index), fill_kernel, &arguments);
    driver_.synchronize(stream(at.place.index));
}

void Rig::poison(const std::vector<Job>& jobs) {
    for (auto const& job : jobs) {
        fill(to(job), job.bytes, poisoned);
    }
}

int Rig::wrong(const std::vector<Job>& jobs) {
    int wrong = 0;
    for (auto const& job : jobs) {
        auto const at = to(job);
        auto expected = pattern_of(job.from);
        expected.offset = job.from_offset;
        CheckOutcome seen;
        if (at.place.is_host()) {
            seen = driver_.check_host(at.address, job.bytes, expected, poisoned);
        } else {
            CheckArguments const arguments{at.address, job.bytes, expected, poisoned, outcome_.address()};
            driver_.launch(stream(at.place.index), check_kernel, &arguments);
            driver_.synchronize(stream(at.place.index));
            driver_.read_host(outcome_.address(), &seen, sizeof seen);
        }
        wrong += seen == CheckOutcome{} ? 0 : 1;
    }
    return wrong;
}

}  // namespace peerlane::bench
