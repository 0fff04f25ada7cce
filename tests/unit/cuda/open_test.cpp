/// Opening the real driver on a machine that has no device, and on one that has.

#include <gtest/gtest.h>

#include <chrono>
#include <peerlane/error.hpp>
#include <peerlane/open.hpp>
#include <thread>
#include <vector>

namespace peerlane {
namespace {

TEST(OpenCuda, WithoutADeviceThrows100WithTheReasonAndOtherwiseOpensAllOfThem) {
    auto const available = cuda_availability();
    try {
        auto const driver = open_cuda();
        EXPECT_GT(available.devices, 0);
        EXPECT_EQ(driver->device_count(), available.devices);
        EXPECT_FALSE(driver->simulated());
        EXPECT_EQ(available.reason, "");
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code::no_device) << error.what();
        EXPECT_EQ(error.info().call, "open_cuda");
        EXPECT_FALSE(error.info().sticky);
        EXPECT_EQ(error.info().cure, available.reason);
        EXPECT_EQ(available.devices, 0);
    }
}

TEST(CudaAvailability, SaysWhyAndWhatToDoWhenThereIsNoDevice) {
    auto const available = cuda_availability();
    if (available.devices > 0) {
        EXPECT_TRUE(available.built);
        GTEST_SKIP() << "this machine has devices";
    }
    EXPECT_NE(available.reason.find(available.built ? "driver" : "nvcc"), std::string::npos) << available.reason;
    EXPECT_GT(available.reason.size(), 60U) << "a cause and a cure: " << available.reason;
}

TEST(CudaAvailability, AnswersAllThreadsAlikeAndTheSecondTimeAtOnce) {
    std::vector<CudaAvailability> answers(4);
    std::vector<std::thread> threads;
    for (auto& answer : answers) {
        threads.emplace_back([&answer] { answer = cuda_availability(); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (auto const& answer : answers) {
        EXPECT_EQ(answer.devices, answers.front().devices);
        EXPECT_EQ(answer.reason, answers.front().reason);
    }
    auto const start = std::chrono::steady_clock::now();
    static_cast<void>(cuda_availability());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace peerlane
