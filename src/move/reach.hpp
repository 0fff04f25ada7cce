#pragma once
/// Whether a device's kernels may and can touch memory.

#include <peerlane/driver.hpp>
#include <peerlane/mover.hpp>

namespace peerlane::move {

/// The leg is proven, or claimed where that is trusted (src/plan/trust.hpp).
bool may_use(const Ready& ready, const Leg& leg);
/// Kernels of the device may touch it as things are.
bool reaches(const Provenance& memory, int issuer);
/// Grants what enabling does not cover: pools and virtual memory. Throws Error, naming `call`, where kernels of the
/// issuer then still cannot reach it.
void grant_reach(Driver& driver, int issuer, Address at, const Provenance& memory, const char* call);

}  // namespace peerlane::move
