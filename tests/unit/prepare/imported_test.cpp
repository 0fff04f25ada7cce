// Memory of another process as a place like others: copies, pages and messages over imports. The simulated machine
// plays both processes.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include <peerlane/courier.hpp>
#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/share.hpp>
#include <peerlane/units.hpp>

#include "unit/share/support.hpp"

namespace peerlane::prepare_tests {
namespace {

constexpr std::uint64_t bytes = 4_MiB, offset = 1_MiB + 512, page = 16_KiB;

class ImportsMoved : public testing::TestWithParam<MemoryKind> {
  protected:
    ImportsMoved() {
        AllocationRequest request{gpu(0), bytes + offset, GetParam()};
        request.exportable = GetParam() == MemoryKind::virtual_memory;
        if (GetParam() == MemoryKind::pool) {
            request.pool = driver_->create_pool(0);
        }
        theirs_ = Allocation(*driver_, request);
        own_ = Allocation(*driver_, {gpu(1), bytes});
        pinned_ = Allocation(*driver_, {host(), bytes, MemoryKind::pinned});
        auto const range = exporter_.export_range(pointer_to(theirs_.address() + offset), bytes);
        imported_ = importer_.import_range(range, 1);
        exporter_.restore(range.id);
        put(0, theirs_.address() + offset, {1, 0});
        put(1, own_.address(), {2, 0});
    }

    static Ready trusted(const Driver& driver) {
        Ready ready;
        ready.machine = driver.machine();
        ready.trust_claimed = true;
        return ready;
    }
    void put(int device, Address to, Pattern pattern) {
        driver_->fill_host(pinned_.address(), bytes, pattern);
        Stream const stream(*driver_, device);
        driver_->copy(stream.view(), {{gpu(device), to}, pinned_.location(), bytes});
        driver_->synchronize(stream.view());
    }
    /// As the owner of the memory sees it.
    std::uint64_t wrong(int device, Address at, std::uint64_t count, Pattern pattern) {
        Stream const stream(*driver_, device);
        driver_->copy(stream.view(), {pinned_.location(), {gpu(device), at}, count});
        driver_->synchronize(stream.view());
        return driver_->check_host(pinned_.address(), count, pattern, {}).bad;
    }

    std::unique_ptr<Driver> driver_ = share_tests::open_pair();
    Share exporter_{*driver_}, importer_{*driver_};
    Allocation theirs_, own_, pinned_;
    Imported imported_;
    Mover mover_{*driver_, trusted(*driver_)};
    Stream stream_{*driver_, 1};
};

TEST_P(ImportsMoved, ByCopies) {
    mover_.copy(pointer_to(own_.address()), imported_.data(), bytes, stream_.view());
    driver_->synchronize(stream_.view());
    EXPECT_EQ(wrong(1, own_.address(), bytes, {1, 0}), 0U);
    put(1, own_.address(), {3, 0});
    mover_.copy(imported_.data(), pointer_to(own_.address()), bytes, stream_.view());
    mover_.synchronize();
    driver_->synchronize(stream_.view());
    EXPECT_EQ(wrong(0, theirs_.address() + offset, bytes, {3, 0}), 0U);
}

TEST_P(ImportsMoved, ByPages) {
    std::vector<std::int32_t> backwards(bytes / page);
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    PageCopy list;
    list.dst = imported_.data();
    list.src = pointer_to(own_.address());
    list.page_bytes = page;
    list.dst_index = backwards.data();
    list.count = backwards.size();
    mover_.copy_pages(list, stream_.view());
    driver_->synchronize(stream_.view());
    for (std::size_t i = 0; i < backwards.size(); ++i) {
        auto const at = theirs_.address() + offset + static_cast<std::uint64_t>(backwards[i]) * page;
        ASSERT_EQ(wrong(0, at, page, {2, i * page}), 0U) << "page " << i;
    }
}

TEST_P(ImportsMoved, ByMessages) {
    Courier courier(*driver_, mover_.ready(), 1);
    EXPECT_TRUE(courier.post(imported_.data(), pointer_to(own_.address()), 4096).wait(share_tests::limit_s));
    EXPECT_EQ(wrong(0, theirs_.address() + offset, 4096, {2, 0}), 0U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ImportsMoved,
                         testing::Values(MemoryKind::plain, MemoryKind::virtual_memory, MemoryKind::pool),
                         [](const auto& kind) { return std::string(to_string(kind.param)).substr(0, 5); });

TEST(OneVisibleDevice, MovesWithinItself) {
    Machine machine;
    machine.devices.push_back(share_tests::two_devices().devices[0]);
    auto const driver = open_simulated(SimulatedMachine(machine));
    Ready ready;
    ready.machine = driver->machine();
    Mover mover(*driver, ready);
    Allocation const a(*driver, {gpu(0), bytes}), b(*driver, {gpu(0), bytes});
    Stream const stream(*driver, 0);
    for (auto const count : {std::uint64_t{64}, bytes}) {
        mover.copy(pointer_to(b.address()), pointer_to(a.address()), count, stream.view());
    }
    driver->synchronize(stream.view());
    mover.check();
}

}  // namespace
}  // namespace peerlane::prepare_tests
