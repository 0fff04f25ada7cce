#pragma once
/// An operation on its way. Shared by the files of the engine only.

#include "driver/sim/engine.hpp"

namespace peerlane::sim {

struct Engine::Live {
    OpId id = 0;
    Op op;
    double arrival = 0;
    std::size_t waits_for = 0;  ///< operations it still waits for
    std::vector<OpId> next{};   ///< that wait for this one
    bool has_engine = false;
    std::pair<int, int> between{-1, -1};  ///< source and destination of what moves directly between two devices
    bool held = false;                    ///< hangs for ever
    Way way{};
    std::uint64_t left_bytes = 0;  ///< of the flow, when it starts
    // The flow.
    bool flowing = false;
    model::FlowId flow = 0;
    double began = 0;
    double left = 0;            ///< bytes
    double rate = 0;            ///< bytes/s
    double since = 0;           ///< time at which `left` was right
    std::uint64_t version = 0;  ///< of the latest event that counts
    // The kernel.
    KernelSteps steps{};
    MemoryStep step{};
    bool stepping = false;
};

}  // namespace peerlane::sim
