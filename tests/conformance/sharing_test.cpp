/// Export and import. A simulated machine plays the other process; on real devices the process itself is the importer,
/// which the runtime allows for virtual memory only.

#include <peerlane/driver/sharing.hpp>

#include "conformance/fixture.hpp"
#include "kernels/check.hpp"
#include "kernels/fill.hpp"

namespace peerlane::conformance {
namespace {

constexpr std::uint64_t block = 4 * MiB, offset = MiB + 512, part = 4096;

void fill(Driver& driver, int device, Address at, Pattern pattern) {
    Stream const stream(driver, device);
    FillArguments const arguments{at, part, pattern, 16};
    driver.launch(stream.view(), fill_kernel, &arguments);
    driver.synchronize(stream.view());
}

std::uint64_t wrong_bytes(Driver& driver, int device, Address at, Pattern expected) {
    Stream const stream(driver, device);
    Allocation const outcome(driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned});
    CheckOutcome found{0, part, 0, 0};
    driver.write_host(outcome.address(), &found, sizeof found);
    CheckArguments const arguments{at, part, expected, {}, outcome.address()};
    driver.launch(stream.view(), check_kernel, &arguments);
    driver.synchronize(stream.view());
    driver.read_host(outcome.address(), &found, sizeof found);
    return found.bad;
}

/// Both see what the other wrote, at the exported address.
void expect_shared(Driver& driver, int owner, Address exported, int importer, Address imported) {
    EXPECT_EQ((static_cast<std::uint64_t>(imported) ^ static_cast<std::uint64_t>(exported)) % part, 0U);
    fill(driver, owner, exported, {11, 0});
    EXPECT_EQ(wrong_bytes(driver, importer, imported, {11, 0}), 0U);
    fill(driver, importer, imported, {12, 0});
    EXPECT_EQ(wrong_bytes(driver, owner, exported, {12, 0}), 0U);
}

}  // namespace

TEST_P(Sharing, HandleSaysWhereInItsAllocationTheAddressLies) {
    Allocation const memory(driver(), {gpu(0), block, MemoryKind::plain});
    auto const outcome = driver().export_memory(memory.address() + offset);
    if (outcome.code == code::not_supported) {
        GTEST_SKIP() << "this machine exports no plain memory";
    }
    ASSERT_TRUE(outcome.usable()) << outcome.code;
    EXPECT_EQ(outcome.handle.offset, offset);
    EXPECT_EQ(outcome.handle.bytes, block);
    EXPECT_EQ(outcome.handle.base, memory.address());
    EXPECT_EQ(outcome.handle.token, driver().export_memory(memory.address()).handle.token) << "named by its base alone";
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Sharing, WhatCannotBeExportedIsRefusedWithACode) {
    Allocation const pinned(driver(), {host(), block, MemoryKind::pinned});
    EXPECT_EQ(driver().export_memory(pinned.address()).code, code::not_supported);
    EXPECT_EQ(driver().export_memory(Address{64}).code, code::invalid_value);
    if (can(0).virtual_memory) {
        Allocation const kept(driver(), {gpu(0), block, MemoryKind::virtual_memory});
        EXPECT_NE(driver().export_memory(kept.address()).code, 0) << "it was not allocated exportable";
    }
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Sharing, PlainMemoryIsSharedAtItsOffsetOrRefusedToItsOwnProcess) {
    Allocation const memory(driver(), {gpu(0), block, MemoryKind::plain});
    auto const outcome = driver().export_memory(memory.address() + offset);
    if (!outcome.usable()) {
        GTEST_SKIP() << "this machine exports no plain memory";
    }
    auto const importer = devices() > 1 && driver().can_access(1, 0) ? 1 : 0;
    auto const imported = driver().import_memory(outcome.handle, importer);
    if (!driver().simulated()) {
        EXPECT_NE(imported.code, 0) << "the runtime opens no handle of its own process";
        EXPECT_EQ(driver().last_error(), 0);
        return;
    }
    ASSERT_TRUE(imported.usable()) << imported.code;
    expect_shared(driver(), 0, memory.address() + offset, importer, imported.at);
    EXPECT_EQ(driver().import_memory(outcome.handle, importer).at, imported.at) << "again: the same address";
    driver().close_import(imported.at);
    expect_shared(driver(), 0, memory.address() + offset, importer, imported.at);
    driver().close_import(imported.at);
    EXPECT_EQ(code_of([&] { driver().close_import(imported.at); }), code::invalid_value);
}

TEST_P(Sharing, VirtualMemoryIsSharedAtItsOffset) {
    PEERLANE_NEEDS(virtual_memory, 0);
    Allocation const memory(driver(), {gpu(0), block, MemoryKind::virtual_memory, {}, {}, {}, true});
    auto const outcome = driver().export_memory(memory.address() + offset);
    ASSERT_TRUE(outcome.usable()) << outcome.code;
    auto const importer = devices() > 1 && driver().can_access(1, 0) ? 1 : 0;
    auto const imported = driver().import_memory(outcome.handle, importer);
    ASSERT_TRUE(imported.usable()) << imported.code;
    EXPECT_NE(imported.at, memory.address() + offset);
    auto const provenance = driver().provenance(imported.at);
    EXPECT_EQ(provenance.kernel_access, std::vector<int>{importer});
    EXPECT_EQ(provenance.base + offset, imported.at);
    expect_shared(driver(), 0, memory.address() + offset, importer, imported.at);
    driver().close_import(imported.at);
    EXPECT_EQ(code_of([&] { driver().close_import(imported.at); }), code::invalid_value);
}

TEST_P(Sharing, MemoryOfAMadePoolIsSharedAtItsOffset) {
    PEERLANE_NEEDS(pools, 0);
    Allocation const common(driver(), {gpu(0), block, MemoryKind::pool});
    EXPECT_EQ(driver().export_memory(common.address()).code, code::not_supported) << "of the device's own pool";
    auto const pool = driver().create_pool(0);
    {
        AllocationRequest request{gpu(0), block, MemoryKind::pool};
        request.pool = pool;
        Allocation const memory(driver(), request);
        driver().synchronize_device(0);
        auto const outcome = driver().export_memory(memory.address() + offset);
        ASSERT_TRUE(outcome.usable() || outcome.code == code::not_supported) << outcome.code;
        if (outcome.usable()) {
            EXPECT_EQ(outcome.handle.offset, offset);
            auto const importer = devices() > 1 && driver().can_access(1, 0) ? 1 : 0;
            auto const imported = driver().import_memory(outcome.handle, importer);
            EXPECT_TRUE(imported.usable() || !driver().simulated()) << imported.code;
            if (imported.usable()) {
                EXPECT_EQ(driver().provenance(imported.at).base + offset, imported.at);
                expect_shared(driver(), 0, memory.address() + offset, importer, imported.at);
                driver().close_import(imported.at);
                EXPECT_EQ(code_of([&] { driver().close_import(imported.at); }), code::invalid_value);
            }
        }
    }
    driver().destroy_pool(pool);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Sharing, EventsAreSharedOrRefusedWithACode) {
    auto const made = driver().create_shared_event(0);
    if (!made.usable()) {
        EXPECT_EQ(made.code, code::not_supported);
        EXPECT_EQ(driver().import_event(made.token, 0).code, code::not_supported);
        return;
    }
    EXPECT_NE(driver().import_event(made.token, 0).code, 0) << "the process that made it";
    Stream const stream(driver(), 0);
    driver().record(made.event, stream.view());
    driver().synchronize(made.event);
    driver().destroy_event(made.event);
    EXPECT_EQ(driver().last_error(), 0);
}

TEST_P(Sharing, VirtualMemoryOutlivesItsExporter) {
    PEERLANE_NEEDS(virtual_memory, 0);
    auto const free_before = driver().free_bytes(0);
    Allocation memory(driver(), {gpu(0), block, MemoryKind::virtual_memory, {}, {}, {}, true});
    auto const outcome = driver().export_memory(memory.address());
    ASSERT_TRUE(outcome.usable()) << outcome.code;
    auto const imported = driver().import_memory(outcome.handle, 0);
    ASSERT_TRUE(imported.usable()) << imported.code;
    fill(driver(), 0, memory.address(), {5, 0});
    driver().free(memory.release());
    EXPECT_EQ(wrong_bytes(driver(), 0, imported.at, {5, 0}), 0U);
    driver().close_import(imported.at);
    if (driver().simulated()) {
        EXPECT_EQ(driver().free_bytes(0), free_before);
    }
}

TEST_P(Sharing, ImportOfPlainMemoryThatIsFreedIsFoundOut) {
    if (!driver().simulated()) {
        GTEST_SKIP() << "undefined on real devices; the audit finds it there";
    }
    in_child([&] {
        Allocation memory(driver(), {gpu(0), block, MemoryKind::plain});
        auto const outcome = driver().export_memory(memory.address());
        auto const imported = driver().import_memory(outcome.handle, 0);
        EXPECT_TRUE(imported.usable());
        driver().free(memory.release());
        EXPECT_NE(driver().import_memory(outcome.handle, 0).code, 0);
        auto const error = error_of([&] { fill(driver(), 0, imported.at, {6, 0}); });
        EXPECT_EQ(error ? error->code : 0, code::illegal_address);
        driver().close_import(imported.at);
    });
}

TEST_P(Sharing, ImportSaysWhichDevicesKernelsReachIt) {
    if (!driver().simulated() || devices() < 2) {
        GTEST_SKIP() << "two processes are needed where the devices are real";
    }
    Allocation const memory(driver(), {gpu(0), block, MemoryKind::plain});
    auto const outcome = driver().export_memory(memory.address());
    auto const imported = driver().import_memory(outcome.handle, 1);
    ASSERT_TRUE(imported.usable());
    EXPECT_EQ(driver().provenance(imported.at).kernel_access, std::vector<int>{1});
    EXPECT_EQ(driver().provenance(memory.address()).kernel_access, std::vector<int>{0}) << "not the exporter's address";
    driver().close_import(imported.at);
}

}  // namespace peerlane::conformance
