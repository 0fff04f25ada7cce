// Memory exported and imported: the simulated machine plays both processes.

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <peerlane/auditing.hpp>
#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>
#include <peerlane/share.hpp>
#include <peerlane/units.hpp>

#include "support.hpp"

namespace peerlane::share_tests {
namespace {

constexpr std::uint64_t offset = 1_MiB + 512, part = 64_KiB;

std::vector<unsigned char> read_device(Driver& driver, int device, const void* at, std::uint64_t bytes) {
    Allocation const pinned(driver, {host(), bytes, MemoryKind::pinned});
    Stream const stream(driver, device);
    driver.copy(stream.view(), {pinned.location(), {gpu(device), address_of(at)}, bytes});
    driver.synchronize(stream.view());
    std::vector<unsigned char> data(bytes);
    driver.read_host(pinned.address(), data.data(), bytes);
    return data;
}

void write_device(Driver& driver, int device, Address at, const std::vector<unsigned char>& data) {
    Allocation const pinned(driver, {host(), data.size(), MemoryKind::pinned});
    driver.write_host(pinned.address(), data.data(), data.size());
    Stream const stream(driver, device);
    driver.copy(stream.view(), {{gpu(device), at}, pinned.location(), data.size()});
    driver.synchronize(stream.view());
}

std::vector<unsigned char> some_bytes(std::uint64_t key) {
    std::vector<unsigned char> data(part);
    write_pattern({key, 0}, data.data(), data.size());
    return data;
}

int code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.code();
    }
    return 0;
}

class ShareOfKind : public testing::TestWithParam<MemoryKind> {
  protected:
    Allocation allocate(std::uint64_t bytes) {
        AllocationRequest request{gpu(0), bytes, GetParam()};
        request.exportable = GetParam() == MemoryKind::virtual_memory;
        if (GetParam() == MemoryKind::pool) {
            request.pool = driver_->create_pool(0);
        }
        return {*driver_, request};
    }
    std::unique_ptr<Driver> driver_ = open_pair();
    Share exporter_{*driver_}, importer_{*driver_};
};

TEST_P(ShareOfKind, ArrivesAtItsOffsetWithItsBytesUntouched) {
    auto const memory = allocate(4_MiB);
    write_device(*driver_, 0, memory.address() + offset, some_bytes(1));
    auto const range = exporter_.export_range(pointer_to(memory.address() + offset), part);
    auto const imported = importer_.import_range(range, 1);
    EXPECT_EQ(imported.bytes(), part);
    EXPECT_EQ(imported.whole_bytes(), 4_MiB);
    EXPECT_EQ(static_cast<char*>(imported.data()) - static_cast<char*>(imported.base()),
              static_cast<std::ptrdiff_t>(offset));
    EXPECT_EQ(imported.owner(), 0);
    exporter_.restore(range.id);
    EXPECT_EQ(read_device(*driver_, 1, imported.data(), part), some_bytes(1)) << "what the marker hid is back";
    write_device(*driver_, 1, address_of(imported.data()), some_bytes(2));
    EXPECT_EQ(read_device(*driver_, 0, pointer_to(memory.address() + offset), part), some_bytes(2));
}

TEST_P(ShareOfKind, TheLastImportUnmaps) {
    auto const memory = allocate(4_MiB);
    auto const first_range = exporter_.export_range(pointer_to(memory.address()), part);
    auto const second_range = exporter_.export_range(pointer_to(memory.address() + offset), part);
    EXPECT_EQ(first_range.allocation, second_range.allocation);
    auto first = importer_.import_range(first_range, 1);
    auto second = importer_.import_range(second_range, 1);
    EXPECT_EQ(first.base(), second.base()) << "one mapping of one allocation";
    auto const base = address_of(first.base());
    first.close();
    EXPECT_FALSE(first.open());
    EXPECT_NE(driver_->provenance(base).bytes, 0U) << "the second import still uses it";
    ASSERT_EQ(importer_.findings().size(), 1U);
    EXPECT_EQ(importer_.findings()[0].code, "leaked-mapping");
    second.close();
    EXPECT_EQ(driver_->provenance(base).bytes, 0U);
    EXPECT_TRUE(importer_.findings().empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShareOfKind,
                         testing::Values(MemoryKind::plain, MemoryKind::virtual_memory, MemoryKind::pool),
                         [](const auto& kind) { return std::string(to_string(kind.param)).substr(0, 5); });

class ShareTest : public testing::Test {
  protected:
    std::unique_ptr<Driver> driver_ = open_pair();
    Share exporter_{*driver_}, importer_{*driver_};
};

TEST_F(ShareTest, AnotherAllocationAtTheSameAddressIsFoundOut) {
    Allocation const memory(*driver_, {gpu(0), 4_MiB});
    auto const range = exporter_.export_range(pointer_to(memory.address() + offset), part);
    exporter_.restore(range.id);  // as good as other bytes
    EXPECT_EQ(code_of([&] { (void)importer_.import_range(range, 1); }), code::invalid_value);
    EXPECT_TRUE(importer_.findings().empty()) << "nothing stays mapped";
}

TEST_F(ShareTest, AnOffsetThatGotLostIsFoundOut) {
    Allocation const memory(*driver_, {gpu(0), 4_MiB});
    auto range = exporter_.export_range(pointer_to(memory.address() + offset), part);
    range.handle.offset = 0;
    EXPECT_EQ(code_of([&] { (void)importer_.import_range(range, 1); }), code::invalid_value);
}

TEST_F(ShareTest, MemoryIsNotFreedUnderAnImport) {
    Allocation const memory(*driver_, {gpu(0), 4_MiB});
    auto const range = exporter_.export_range(pointer_to(memory.address()), part);
    EXPECT_FALSE(exporter_.check_free(pointer_to(memory.address())));
    exporter_.opened_elsewhere(range.id);
    EXPECT_FALSE(exporter_.withdraw(range.id));
    auto const why = exporter_.check_free(pointer_to(memory.address() + 3_MiB));
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, "stale-mapping");
    EXPECT_EQ(exporter_.findings().size(), 1U);
    exporter_.closed_elsewhere(range.id);
    EXPECT_THROW(exporter_.closed_elsewhere(range.id), std::invalid_argument);
    EXPECT_TRUE(exporter_.withdraw(range.id));
    EXPECT_FALSE(exporter_.check_free(pointer_to(memory.address())));
    EXPECT_THROW(static_cast<void>(exporter_.withdraw(range.id)), std::invalid_argument);
}

enum class End { right, left_open, freed_first };

/// Codes of what the audit finds when one import ends like this.
std::vector<std::string> audited_codes(End end) {
    auto const inner = open_pair();
    auto const audited = make_auditing(*inner);
    auto const memory = audited->allocate({gpu(0), 4_MiB});
    Share exporter(*audited), importer(*audited);
    auto const range = exporter.export_range(pointer_to(memory), part);
    auto imported = importer.import_range(range, 1);
    exporter.restore(range.id);
    if (end == End::right) {
        imported.close();
        audited->free(memory);
    } else if (end == End::freed_first) {
        audited->free(memory);
        Stream const stream(*audited, 1);
        Allocation const own(*audited, {gpu(1), part});
        try {
            audited->copy(stream.view(), {own.location(), {gpu(1), address_of(imported.data())}, part});
            audited->synchronize(stream.view());
        } catch (const Error&) {  // as it should
        }
    }
    std::vector<std::string> codes;
    for (auto const& finding : audited->finish().findings) {
        codes.push_back(finding.code);
    }
    return codes;
}

TEST(ShareAudited, TheLedgerSeesWhatIsLeftOpenAndWhatWasFreedTooSoon) {
    auto const has = [](const std::vector<std::string>& codes, const char* code) {
        return std::count(codes.begin(), codes.end(), code) != 0;
    };
    EXPECT_TRUE(audited_codes(End::right).empty());
    EXPECT_TRUE(has(audited_codes(End::left_open), "leaked-mapping"));
    EXPECT_TRUE(has(audited_codes(End::freed_first), "stale-mapping"));
}

TEST_F(ShareTest, WhatCannotBeExportedIsRefusedWithTheCure) {
    Allocation const pinned(*driver_, {host(), 1_MiB, MemoryKind::pinned});
    Allocation const pooled(*driver_, {gpu(0), 1_MiB, MemoryKind::pool});
    Allocation const memory(*driver_, {gpu(0), 1_MiB});
    EXPECT_EQ(code_of([&] { (void)exporter_.export_range(pointer_to(pinned.address()), 64); }), code::not_supported);
    EXPECT_EQ(code_of([&] { (void)exporter_.export_range(pointer_to(pooled.address()), 64); }), code::not_supported);
    EXPECT_THROW((void)exporter_.export_range(pointer_to(memory.address()), 1_MiB + 1), std::invalid_argument);
    EXPECT_THROW((void)exporter_.export_range(pointer_to(memory.address()), 0), std::invalid_argument);
    auto const range = exporter_.export_range(pointer_to(memory.address()), part);
    EXPECT_THROW((void)importer_.import_range(range, 2), std::invalid_argument);
    EXPECT_THROW((void)importer_.import_range(range, -1), std::invalid_argument);
}

TEST_F(ShareTest, HostMemoryIsTheSameMemory) {
    auto* const data = static_cast<char*>(exporter_.allocate_host(1_MiB));
    std::memset(data, 7, 1_MiB);
    auto const range = exporter_.export_range(data + 4096, part);
    EXPECT_THROW(exporter_.free_host(data), std::invalid_argument) << "it is exported";
    auto imported = importer_.import_range(range, 0);
    exporter_.restore(range.id);
    auto* const seen = static_cast<char*>(imported.data());
    EXPECT_NE(seen, data + 4096);
    EXPECT_EQ(seen[0], 7);
    seen[100] = 42;
    EXPECT_EQ(data[4096 + 100], 42);
    EXPECT_FALSE(imported.owner());
    EXPECT_EQ(mapped_segments(), 2);
    imported.close();
    EXPECT_EQ(mapped_segments(), 1);
    EXPECT_TRUE(exporter_.withdraw(range.id));
    exporter_.free_host(data);
    EXPECT_EQ(mapped_segments(), 0);
}

TEST_F(ShareTest, HostMemoryThatItsOwnerCouldShrinkIsNotMapped) {
    auto* const file = std::tmpfile();
    ASSERT_EQ(::ftruncate(::fileno(file), 4096), 0);
    EXPECT_EQ(code_of([&] { HostSegment const segment(Descriptor(::dup(::fileno(file))), 4096); }),
              code::invalid_value);
    std::fclose(file);
    HostSegment const good(4096);
    EXPECT_EQ(code_of([&] { HostSegment const other(good.descriptor(), 8192); }), code::invalid_value);
    EXPECT_EQ(code_of([&] { HostSegment const none(Descriptor(), 4096); }), code::invalid_value);
}

TEST_F(ShareTest, AnEventOrdersTwoProcesses) {
    SharedEvent recorded(*driver_, 0);
    SharedEvent awaited(*driver_, 1, recorded.token());
    Stream const first(*driver_, 0), second(*driver_, 1);
    Allocation const memory(*driver_, {gpu(0), part}), other(*driver_, {gpu(1), part});
    Allocation const pinned(*driver_, {host(), part, MemoryKind::pinned});
    driver_->fill_host(pinned.address(), part, {9, 0});
    driver_->copy(first.view(), {memory.location(), pinned.location(), part});
    recorded.record(first.view());
    awaited.wait(second.view());
    driver_->copy(second.view(), {other.location(), memory.location(), part, CopyApi::peer});
    driver_->synchronize(second.view());
    std::vector<unsigned char> expected(part);
    write_pattern({9, 0}, expected.data(), part);
    EXPECT_EQ(read_device(*driver_, 1, pointer_to(other.address()), part), expected);
    EXPECT_THROW(SharedEvent(*driver_, 1, "short"), InputError);
}

TEST_F(ShareTest, ARangeTravelsAsBytes) {
    Allocation const memory(*driver_, {gpu(1), 4_MiB});
    auto const range = exporter_.export_range(pointer_to(memory.address() + offset), part);
    auto const bytes = write_range(range);
    EXPECT_LE(bytes.size(), most_range_bytes);
    auto const read = read_range(bytes);
    EXPECT_EQ(write_range(read), bytes);
    EXPECT_EQ(read.owner, (DeviceName{"GPU-bbbb", "0000:02:00.0"}));
    auto const imported = importer_.import_range(read, 0);
    EXPECT_EQ(imported.owner(), 1);
}

TEST_F(ShareTest, DamagedRangesAreRefused) {
    Allocation const memory(*driver_, {gpu(0), 4_MiB, MemoryKind::virtual_memory, {}, {}, {}, true});
    auto range = exporter_.export_range(pointer_to(memory.address()), part);
    auto const bytes = write_range(range);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_THROW((void)read_range(std::string_view(bytes).substr(0, length)), InputError) << length;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        EXPECT_THROW((void)read_range(damaged), InputError) << i;
    }
    EXPECT_THROW((void)read_range(bytes + "more"), InputError);
    EXPECT_THROW((void)read_range(std::string(100000, 'x')), InputError);
    range.handle.descriptor = Descriptor(::dup(0));
    EXPECT_THROW((void)read_range(write_range(range)), InputError) << "its descriptor is missing";
}

TEST(Devices, AreJoinedByWhatTheyAre) {
    auto const machine = two_devices();
    EXPECT_EQ(find_device(machine, {"GPU-BBBB", ""}), 1);
    EXPECT_EQ(find_device(machine, {"", "00000000:02:00.0"}), 1);
    EXPECT_EQ(find_device(machine, {"GPU-cccc", "0000:01:00.0"}), std::nullopt) << "the UUID rules";
    EXPECT_EQ(find_device(machine, {"", ""}), std::nullopt);
    Machine one;  // another list of visible devices: this process sees only the second
    one.devices.push_back(machine.devices[1]);
    one.devices[0].id = 0;
    std::vector<DeviceName> const theirs{device_name(machine, 1), device_name(machine, 0)};
    EXPECT_EQ(join_devices(one, theirs), (std::vector<std::optional<int>>{0, std::nullopt}));
    EXPECT_EQ(join_devices(machine, theirs), (std::vector<std::optional<int>>{1, 0}));
}

}  // namespace
}  // namespace peerlane::share_tests
