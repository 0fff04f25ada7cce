/// Random lists of blocks on devices, against a host loop.

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/open.hpp>

#include "support/list_oracle.hpp"

namespace peerlane {
namespace {

std::unique_ptr<Driver> devices() {
    try {
        return open_cuda();
    } catch (const Error&) {
        return nullptr;
    }
}

TEST(PagesOnDevices, RandomListsGiveWhatAHostLoopGives) {
    auto const driver = devices();
    if (!driver) {
        GTEST_SKIP() << "needs a CUDA device, and two for lists between devices";
    }
    struct Way {
        bool store, load;
        Place from, to;
        int stream_device;
    };
    std::uint64_t seed = 100;
    std::vector<Way> ways{
        {true, true, gpu(0), gpu(0), 0}, {true, true, gpu(0), host(), 0}, {true, true, host(), gpu(0), 0}};
    if (driver->device_count() >= 2) {
        ways.insert(ways.end(), {{true, false, gpu(0), gpu(1), 0},
                                 {true, false, gpu(1), gpu(0), 0},
                                 {false, true, gpu(0), gpu(1), 1},
                                 {false, true, gpu(0), gpu(1), 0},
                                 {false, false, gpu(0), gpu(1), 1}});
    }
    for (auto const& way : ways) {
        SCOPED_TRACE(to_string(way.from) + " to " + to_string(way.to));
        Mover mover(*driver, testing_lists::proven(*driver, way.store, way.load));
        testing_lists::Oracle oracle(*driver, mover, way.from, way.to, way.stream_device, ++seed);
        for (int i = 0; i < 340; ++i) {  // a thousand and more on one device alone
            oracle.one();
            if (HasFatalFailure()) {
                FAIL() << "list " << i;
            }
        }
    }
}

}  // namespace
}  // namespace peerlane
