#pragma once
/// Flows of scattered pages: the kernel that moves a list, and the way it takes.

#include "driver/sim/engine.hpp"
#include "traffic/run/plans.hpp"

namespace peerlane::traffic {

/// Numbers of pages on their way to the kernel: 4 bytes each.
constexpr std::uint64_t number_bytes = 4;

/// One launch, as Mover::copy_pages makes it; a null list: page i is i itself.
sim::Op list_op(int device, Address to, Address to_list, Address from, Address from_list, std::uint64_t pages,
                std::uint64_t page_bytes);

/// By one kernel, pushed where that is claimed, else pulled, else gathered into host memory and scattered from there.
Route list_route(const sim::Truth& truth, const Flow& flow);

/// The same plans with each flow of pages by a kernel.
Plans with_lists(Plans plans, const sim::Truth& truth, const std::vector<Flow>& flows);

}  // namespace peerlane::traffic
