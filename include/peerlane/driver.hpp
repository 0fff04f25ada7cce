#pragma once
/// The one interface to hardware. Everything above it runs unchanged on GPUs (`open_cuda`) and on a simulated machine
/// (`open_simulated`). Both pass the conformance suite in tests/conformance, which is the contract in executable form.

#include <peerlane/driver/facts.hpp>
#include <peerlane/driver/mappings.hpp>
#include <peerlane/driver/memory.hpp>
#include <peerlane/driver/order.hpp>
#include <peerlane/driver/sharing.hpp>
#include <peerlane/driver/work.hpp>

namespace peerlane {

/// Safe to use from several threads. No call changes the calling thread's current device or leaves a last error behind.
class Driver : public FactsOfDriver,
               public MappingsOfDriver,
               public MemoryOfDriver,
               public SharingOfDriver,
               public OrderOfDriver,
               public WorkOfDriver {
  public:
    Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    ~Driver() override = default;
};

}  // namespace peerlane
