#include "conformance/fixture.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::conformance {
namespace {

/// A child that a device never lets go is killed.
constexpr unsigned child_limit_s = 120;

/// Ends the child: 0 when every expectation held. Listeners are mute in a child, so it prints its failures itself.
[[noreturn]] void leave_child() {
    auto const* result = testing::UnitTest::GetInstance()->current_test_info()->result();
    for (int i = 0; i < result->total_part_count(); ++i) {
        auto const& part = result->GetTestPartResult(i);
        if (part.failed()) {
            std::fprintf(stderr, "%s:%d: %s\n", part.file_name() != nullptr ? part.file_name() : "unknown",
                         part.line_number(), part.message());
        }
    }
    std::fflush(stderr);
    std::_Exit(result->Failed() ? 1 : 0);
}

}  // namespace

void DriverConformance::open(Rig rig, int devices) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto opened = GetParam().open(rig);
    if (opened.driver == nullptr) {
        GTEST_SKIP() << opened.why_not;
    }
    if (opened.driver->device_count() < devices) {
        GTEST_SKIP() << "needs " << devices << " devices, this machine has " << opened.driver->device_count();
    }
    driver_ = std::move(opened.driver);
    witness_ = std::make_unique<Witness>(*driver_);
}

void DriverConformance::TearDown() {
    if (driver_ == nullptr) {
        return;
    }
    // Real mappings outlive the driver object: the next case starts with none. What was not enabled answers so.
    for (int accessor = 0; accessor < devices(); ++accessor) {
        for (int owner = 0; owner < devices(); ++owner) {
            if (accessor != owner) {
                driver_->disable_access({accessor, owner});
            }
        }
    }
    EXPECT_EQ(driver_->last_error(), 0) << "a last error was left for the next user of the runtime";
}

void DriverConformance::enable(int accessor, int owner) {
    auto const outcome = driver_->enable_access({accessor, owner});
    EXPECT_TRUE(outcome.usable()) << "enabling " << accessor << ":" << owner << " ended with code " << outcome.code;
}

bool DriverConformance::listed(Address at, int accessor) {
    auto const devices = driver_->provenance(at).kernel_access;
    return std::find(devices.begin(), devices.end(), accessor) != devices.end();
}

void DriverConformance::in_child(const std::function<void()>& body) {
    EXPECT_EXIT(
        {
            ::alarm(child_limit_s);
            body();
            leave_child();
        },
        testing::ExitedWithCode(0), "");
}

void PairConformance::SetUp() {
    open(Rig::pair, 2);
    if (IsSkipped()) {
        return;
    }
    if (!driver().can_access(0, 1) || !driver().can_access(1, 0)) {
        GTEST_SKIP() << "the driver claims no peer access between devices 0 and 1";
    }
}

void AccessFaults::expect_fault(int accessor, Location memory, Touch touch) {
    constexpr std::uint64_t bytes = 64;
    Buffer const local(driver(), gpu(accessor), MemoryKind::plain, bytes);
    auto const in = witness().stream(accessor);
    if (touch == Touch::store) {
        FillArguments const store{memory.address, bytes, Pattern{}, 16};
        driver().launch(in, fill_kernel, &store);
    } else {
        CopyArguments const load{local.address(), memory.address, bytes, 16};
        driver().launch(in, copy_kernel, &load);
    }
    auto const error = error_of([&] { driver().synchronize(in); });
    ASSERT_TRUE(error) << "a kernel of device " << accessor << " reached memory that it must not reach";
    EXPECT_EQ(error->code, code::illegal_address);
    EXPECT_TRUE(error->sticky);
    EXPECT_EQ(error->accessor, accessor) << "the device of the launch";
    // A real runtime does not know whose memory it was; a guess would send people to the wrong device.
    auto const owner = memory.place.is_device() ? memory.place.index : -1;
    EXPECT_TRUE(error->owner == -1 || error->owner == owner) << "blames device " << error->owner;
}

Gate::Gate(Driver& driver, Witness& witness) : driver_(driver), flag_(driver, {host(), 4, MemoryKind::pinned}) {
    std::uint32_t const closed = 0;
    driver_.write_host(flag_.address(), &closed, sizeof closed);
    constexpr std::uint64_t bytes = 4096;
    Buffer const staging(driver, host(), MemoryKind::pinned, bytes);
    for (int device = 0; device < driver.device_count(); ++device) {
        Buffer const a(driver, gpu(device), MemoryKind::plain, bytes), b(driver, gpu(device), MemoryKind::plain, bytes);
        auto const stream = witness.stream(device);
        driver.fill(stream, a.at(), 0, bytes);
        for (auto const& step : {CopyRequest{staging.at(), a.at(), bytes}, CopyRequest{b.at(), staging.at(), bytes},
                                 CopyRequest{a.at(), b.at(), bytes}}) {
            driver.copy(stream, step);
        }
        EXPECT_TRUE(witness.copies(stream, b, a));
        if (device != 0) {
            Buffer const first(driver, gpu(0), MemoryKind::plain, bytes);
            EXPECT_TRUE(witness.copies(witness.stream(0), a, first));
            EXPECT_TRUE(witness.copies(stream, first, a));
        }
    }
}

Gate::~Gate() {
    // Not the largest number: the comparison of real streams wraps around.
    constexpr std::uint32_t everything = 1U << 30;
    try {
        open(everything);
        for (auto const stream : held_) {
            driver_.synchronize(stream);
        }
    } catch (const std::exception&) {  // the case has failed already; its handles are given back after this
    }
}

void Gate::hold(StreamView stream, std::uint32_t level) {
    driver_.wait_value(stream, flag_.address(), level);
    held_.push_back(stream);
}

bool Gate::runs_beside(StreamView held, StreamView candidate, double bound_s) {
    Buffer const a(driver_, gpu(candidate.device), MemoryKind::plain, 4096),
        b(driver_, host(), MemoryKind::pinned, 4096);
    Event const done(driver_, candidate.device);
    open(0);
    hold(held);
    FillArguments const fill{a.address(), a.bytes(), Pattern{}, 16};
    driver_.launch(candidate, fill_kernel, &fill);
    driver_.copy(candidate, {b.at(), a.at(), a.bytes()});
    driver_.record(done.view(), candidate);
    auto const ran = driver_.wait_for(done.view(), bound_s);
    open();
    driver_.synchronize(held);
    driver_.synchronize(candidate);
    open(0);
    return ran;
}

const Stream& Gate::stream_beside(StreamView held) {
    for (auto const bound_s : {blink_s, 0.2, 2.0}) {
        for (int i = 0; i < 12; ++i) {
            beside_.emplace_back(driver_, held.device);
            if (runs_beside(held, beside_.back().view(), bound_s)) {
                return beside_.back();
            }
        }
    }
    throw std::runtime_error("every stream of the device waits for the one that is held");
}

void Gate::open(std::uint32_t level) {
    driver_.write_host(flag_.address(), &level, sizeof level);
}

}  // namespace peerlane::conformance
