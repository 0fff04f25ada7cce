#include "traffic/run/leg_book.hpp"

#include <peerlane/units.hpp>

namespace peerlane::traffic {
namespace {

constexpr std::uint64_t tried_bytes = 16 * MiB;

}  // namespace

sim::Truth roomy(sim::Truth truth) {
    truth.figures.host_memory_bytes = 4e12;
    truth.figures.device_memory_bytes = 1e12;
    for (auto& device : truth.machine.devices) {
        device.memory_bytes.reset();
    }
    return truth;
}

LegBook::LegBook(sim::Truth described) : engine_(roomy(std::move(described))) {
    engine_.observe([this](const sim::Engine::Ended& ended) {
        tried_->uses = ended.uses;
        tried_->s_per_byte = (engine_.now() - ended.began) / static_cast<double>(ended.bytes);
    });
}

Address LegBook::room(Place place, bool out) {
    auto const [found, added] = rooms_.try_emplace({place, out}, Address::null);
    if (added) {
        auto const kind = place.is_device() ? MemoryKind::plain : MemoryKind::pinned;
        found->second = engine_.memory().allocate({place, tried_bytes, kind}).base;
    }
    return found->second;
}

bool LegBook::direct(int a, int b) const {
    return truth().claims(a, b) || truth().claims(b, a);
}

const LegFacts* LegBook::leg(Place from, Place to) {
    auto const [found, added] = known_.try_emplace({from, to});
    if (added) {
        if (from.is_device() && to.is_device() && from != to) {
            (void)engine_.memory().enable({from.index, to.index});
            (void)engine_.memory().enable({to.index, from.index});
        }
        sim::Op op;
        op.kind = sim::Op::Kind::copy;
        op.device = from.is_device() ? from.index : to.index;
        op.copy = {{to, room(to, false)}, {from, room(from, true)}, tried_bytes, CopyApi::automatic};
        tried_ = &found->second;
        auto const id = engine_.submit(std::move(op), {}, engine_.now());
        (void)engine_.advance([&] { return engine_.done(id) || engine_.fault(); });
    }
    return found->second.s_per_byte > 0 ? &found->second : nullptr;
}

}  // namespace peerlane::traffic
