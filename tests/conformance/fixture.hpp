#pragma once
/// What every conformance case starts from. The suites below are the facets of the contract in
/// include/peerlane/driver.hpp; one file of cases each, instantiated once per driver with PEERLANE_CONFORMS.

#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peerlane/driver.hpp>
#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "conformance/backend.hpp"
#include "conformance/buffer.hpp"
#include "conformance/witness.hpp"

namespace peerlane::conformance {

/// Long enough for any healthy device, short enough for a run that somebody watches.
inline constexpr double patience_s = 30;
/// A wait that is meant to end unmet.
inline constexpr double blink_s = 0.02;

/// What `call` threw; empty when it threw nothing. Other exceptions pass through and fail the case.
template <class Call>
std::optional<Error::Info> error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.info();
    }
    return std::nullopt;
}

/// Code of the Error, 0 when there was none.
template <class Call>
int code_of(Call&& call) {
    auto const error = error_of(call);
    return error ? error->code : 0;
}

/// A broken precondition: std::invalid_argument, or the driver's own word for it where it finds out first.
template <class Call>
testing::AssertionResult refuses(Call&& call) {
    try {
        call();
    } catch (const std::invalid_argument&) {
        return testing::AssertionSuccess();
    } catch (const Error& error) {
        auto const blames_the_caller = error.code() == code::invalid_value || error.code() == code::invalid_device ||
                                       error.code() == code::invalid_handle;
        return blames_the_caller && !error.info().sticky ? testing::AssertionSuccess()
                                                         : testing::AssertionFailure() << "threw " << error.what();
    }
    return testing::AssertionFailure() << "nothing was thrown";
}

/// Cases on one device, or on every device there is.
class DriverConformance : public testing::TestWithParam<Backend> {
  protected:
    void SetUp() override { open(Rig::pair, 1); }
    void TearDown() override;

    /// Opens the rig, or skips the case and says why.
    void open(Rig rig, int devices);

    [[nodiscard]] Driver& driver() { return *driver_; }
    [[nodiscard]] Witness& witness() { return *witness_; }
    [[nodiscard]] int devices() const { return driver_->device_count(); }
    [[nodiscard]] Capabilities can(int device) const { return driver_->capabilities(device); }

    /// Enables and expects success.
    void enable(int accessor, int owner);
    void enable_both() {
        enable(0, 1);
        enable(1, 0);
    }
    /// True when the device's provenance lists the accessor.
    [[nodiscard]] bool listed(Address at, int accessor);

    /// Runs the body in a process of its own, which re-executes this case up to here and ends afterwards: a fault that
    /// it provokes on a real device dies with it. Expectations of the body count.
    void in_child(const std::function<void()>& body);

  private:
    std::unique_ptr<Driver> driver_;
    std::unique_ptr<Witness> witness_;
};

/// Cases on devices 0 and 1, which the driver claims can reach each other.
class PairConformance : public DriverConformance {
  protected:
    void SetUp() override;
};

/// Holds streams back until it is opened; opens itself when the case ends, however it ends. Declare it last.
class Gate {
  public:
    /// Also runs each kind of work once: loading a kernel for the first time may wait for the very stream that is held.
    Gate(Driver& driver, Witness& witness);
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate();
    /// What comes after in the stream waits until the gate is open to this level.
    void hold(StreamView stream, std::uint32_t level = 1);
    void open(std::uint32_t level = 1);
    /// A stream of the same device that runs while `held` is held. A device has few hardware queues, and streams that
    /// share one wait for each other although no rule says so (seen on a real device): it is tried out. Leaves the gate
    /// closed. The stream is the gate's: it may be held too, and then must outlive the gate's last opening.
    [[nodiscard]] const Stream& stream_beside(StreamView held);
    [[nodiscard]] Address flag() const { return flag_.address(); }

  private:
    [[nodiscard]] bool runs_beside(StreamView held, StreamView candidate, double bound_s);

    Driver& driver_;
    Allocation flag_;
    std::vector<StreamView> held_;
    std::deque<Stream> beside_;  ///< also those that did not run, so that the next one gets another queue
};

#define PEERLANE_NEEDS_GATE(device)                                                  \
    if (!can(device).stream_memory_operations) {                                     \
        GTEST_SKIP() << "device " << (device) << " has no stream memory operations"; \
    }
#define PEERLANE_NEEDS(what, device)                               \
    if (!can(device).what) {                                       \
        GTEST_SKIP() << "device " << (device) << " has no " #what; \
    }

// One device.
class Facts : public DriverConformance {};
class Allocations : public DriverConformance {};
class HostMemory : public DriverConformance {};
class Pools : public DriverConformance {};
class Contexts : public DriverConformance {};
class LocalCopies : public DriverConformance {};
class Kernels : public DriverConformance {};
class StreamOrder : public DriverConformance {};
class Events : public DriverConformance {};
class DefaultStreams : public DriverConformance {};
class StreamValues : public DriverConformance {};
class Capture : public DriverConformance {};
class Threads : public DriverConformance {};
class Sharing : public DriverConformance {};
// Two.
class Enabling : public PairConformance {};
class Grants : public PairConformance {};
class PeerContexts : public PairConformance {};
class KernelReach : public PairConformance {};
class AccessFaults : public PairConformance {
  protected:
    enum class Touch { store, load };
    /// Only in a child: a kernel of `accessor` touches the memory and must fault; the error must name the device of the
    /// launch and blame no wrong owner.
    void expect_fault(int accessor, Location memory, Touch touch);
};
class PeerCopies : public PairConformance {};
class CrossDeviceOrder : public PairConformance {};
class PeerCapture : public PairConformance {};
class PeerThreads : public PairConformance {};
/// Opens its own rigs.
class LimitedMappings : public DriverConformance {
  protected:
    void SetUp() override {}
};

/// Every suite with one driver: the few lines that a new driver needs.
#define PEERLANE_CONFORMS(Prefix, ...)                                                         \
    INSTANTIATE_TEST_SUITE_P(Prefix, Facts, testing::Values(__VA_ARGS__), name_of);            \
    INSTANTIATE_TEST_SUITE_P(Prefix, Allocations, testing::Values(__VA_ARGS__), name_of);      \
    INSTANTIATE_TEST_SUITE_P(Prefix, HostMemory, testing::Values(__VA_ARGS__), name_of);       \
    INSTANTIATE_TEST_SUITE_P(Prefix, Pools, testing::Values(__VA_ARGS__), name_of);            \
    INSTANTIATE_TEST_SUITE_P(Prefix, Contexts, testing::Values(__VA_ARGS__), name_of);         \
    INSTANTIATE_TEST_SUITE_P(Prefix, LocalCopies, testing::Values(__VA_ARGS__), name_of);      \
    INSTANTIATE_TEST_SUITE_P(Prefix, Kernels, testing::Values(__VA_ARGS__), name_of);          \
    INSTANTIATE_TEST_SUITE_P(Prefix, StreamOrder, testing::Values(__VA_ARGS__), name_of);      \
    INSTANTIATE_TEST_SUITE_P(Prefix, Events, testing::Values(__VA_ARGS__), name_of);           \
    INSTANTIATE_TEST_SUITE_P(Prefix, DefaultStreams, testing::Values(__VA_ARGS__), name_of);   \
    INSTANTIATE_TEST_SUITE_P(Prefix, StreamValues, testing::Values(__VA_ARGS__), name_of);     \
    INSTANTIATE_TEST_SUITE_P(Prefix, Capture, testing::Values(__VA_ARGS__), name_of);          \
    INSTANTIATE_TEST_SUITE_P(Prefix, Threads, testing::Values(__VA_ARGS__), name_of);          \
    INSTANTIATE_TEST_SUITE_P(Prefix, Sharing, testing::Values(__VA_ARGS__), name_of);          \
    INSTANTIATE_TEST_SUITE_P(Prefix, Enabling, testing::Values(__VA_ARGS__), name_of);         \
    INSTANTIATE_TEST_SUITE_P(Prefix, Grants, testing::Values(__VA_ARGS__), name_of);           \
    INSTANTIATE_TEST_SUITE_P(Prefix, PeerContexts, testing::Values(__VA_ARGS__), name_of);     \
    INSTANTIATE_TEST_SUITE_P(Prefix, KernelReach, testing::Values(__VA_ARGS__), name_of);      \
    INSTANTIATE_TEST_SUITE_P(Prefix, AccessFaults, testing::Values(__VA_ARGS__), name_of);     \
    INSTANTIATE_TEST_SUITE_P(Prefix, PeerCopies, testing::Values(__VA_ARGS__), name_of);       \
    INSTANTIATE_TEST_SUITE_P(Prefix, CrossDeviceOrder, testing::Values(__VA_ARGS__), name_of); \
    INSTANTIATE_TEST_SUITE_P(Prefix, PeerCapture, testing::Values(__VA_ARGS__), name_of);      \
    INSTANTIATE_TEST_SUITE_P(Prefix, PeerThreads, testing::Values(__VA_ARGS__), name_of);      \
    INSTANTIATE_TEST_SUITE_P(Prefix, LimitedMappings, testing::Values(__VA_ARGS__), name_of)

}  // namespace peerlane::conformance
