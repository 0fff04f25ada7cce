/// Lists of blocks on the simulator: random ones against a host loop over every way, and what is refused.

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/units.hpp>

#include "move/uploads.hpp"
#include "support/list_oracle.hpp"
#include "unit/sim/pair.hpp"

namespace peerlane {
namespace {

using namespace testing_sim;
using testing_lists::Oracle;
using testing_lists::proven;

struct WayCase {
    const char* name;
    bool store, load;
    Place from, to;
    int stream_device;
};

class RandomLists : public testing::TestWithParam<WayCase> {};

/// 1,112 lists for each of the nine ways: 10,008.
TEST_P(RandomLists, GiveWhatAHostLoopGives) {
    auto const& way = GetParam();
    auto const driver = open_switched(2);
    Mover mover(*driver, proven(*driver, way.store, way.load));
    Oracle oracle(*driver, mover, way.from, way.to, way.stream_device, 17);
    for (int i = 0; i < 1112; ++i) {
        oracle.one();
        if (HasFatalFailure()) {
            FAIL() << "list " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(EveryWay, RandomLists,
                         testing::Values(WayCase{"pushed", true, false, gpu(0), gpu(1), 0},
                                         WayCase{"pushedAskedByTheOther", true, false, gpu(0), gpu(1), 1},
                                         WayCase{"pulled", false, true, gpu(0), gpu(1), 1},
                                         WayCase{"pulledAskedByTheOther", false, true, gpu(0), gpu(1), 0},
                                         WayCase{"either", true, true, gpu(1), gpu(0), 0},
                                         WayCase{"throughTheHost", false, false, gpu(0), gpu(1), 0},
                                         WayCase{"sameDevice", true, true, gpu(0), gpu(0), 0},
                                         WayCase{"toTheHost", true, true, gpu(0), host(), 0},
                                         WayCase{"fromTheHost", true, true, host(), gpu(1), 1}),
                         [](const auto& way) { return way.param.name; });

struct Rig {
    Rig() : driver(open_switched(2)), mover(*driver, proven(*driver, true, true)) {}
    std::unique_ptr<Driver> driver;
    Mover mover;
    Allocation src{*driver, {gpu(0), 1 * MiB}}, dst{*driver, {gpu(1), 1 * MiB}};
    Stream stream{*driver, 0};
    PageCopy copy(const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
        PageCopy made;
        made.dst = pointer_to(dst.address());
        made.src = pointer_to(src.address());
        made.page_bytes = 4096;
        made.dst_index = to.data();
        made.src_index = from.data();
        made.count = to.size();
        return made;
    }
    std::string refusal(const PageCopy& asked) {
        try {
            mover.copy_pages(asked, stream.view());
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "taken";
    }
};

TEST(Pages, BadListsAreRefusedWithTheIndex) {
    Rig rig;
    std::vector<std::int64_t> const good{0, 5, 255}, high{0, 256, 1}, negative{4, 3, -1}, twice{7, 9, 7};
    EXPECT_EQ(rig.refusal(rig.copy(good, good)), "taken");
    EXPECT_NE(rig.refusal(rig.copy(high, good)).find("dst_index[1] is 256"), std::string::npos);
    EXPECT_NE(rig.refusal(rig.copy(good, negative)).find("src_index[2] is -1"), std::string::npos);
    EXPECT_NE(rig.refusal(rig.copy(twice, good)).find("dst_index[2] names page 7 a second time"), std::string::npos);
    EXPECT_EQ(rig.refusal(rig.copy(good, twice)), "taken");  // one source may serve several destinations
    auto pageable = rig.copy(good, good);
    std::vector<unsigned char> mine(MiB);
    pageable.src = mine.data();
    EXPECT_NE(rig.refusal(pageable).find("pin or register"), std::string::npos);
}

TEST(Pages, ListsOnADeviceAreCheckedWhenAsked) {
    Rig rig;
    std::vector<std::int64_t> const numbers{0, 3, 1, 3};
    Allocation pinned(*rig.driver, {host(), 4096, MemoryKind::pinned}), list(*rig.driver, {gpu(0), 4096});
    rig.driver->write_host(pinned.address(), numbers.data(), 32);
    rig.driver->copy(rig.stream.view(), {list.location(), pinned.location(), 32, CopyApi::automatic});
    rig.driver->synchronize(rig.stream.view());
    auto copy = rig.copy(numbers, numbers);
    copy.dst_index = static_cast<const std::int64_t*>(pointer_to(list.address()));
    EXPECT_EQ(rig.mover.first_bad_page(copy, rig.stream.view()), 3U);
    copy.count = 3;
    EXPECT_EQ(rig.mover.first_bad_page(copy, rig.stream.view()), std::nullopt);
    copy.page_bytes = 512 * KiB;
    EXPECT_EQ(rig.mover.first_bad_page(copy, rig.stream.view()), 1U);
}

TEST(Pages, OverlappingSegmentsAreRefusedWithTheIndex) {
    Rig rig;
    auto const to = [&](std::uint64_t at) { return pointer_to(rig.dst.address() + at); };
    std::vector<void*> dst{to(0), to(100), to(50)};
    std::vector<const void*> src(3, pointer_to(rig.src.address()));
    std::vector<std::uint64_t> bytes{60, 10, 0};
    EXPECT_NO_THROW(rig.mover.copy_segments({dst.data(), src.data(), bytes.data(), 3, 0, {}, {}}, rig.stream.view()));
    bytes[2] = 1;
    try {
        rig.mover.copy_segments({dst.data(), src.data(), bytes.data(), 3, 0, {}, {}}, rig.stream.view());
        FAIL();
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("segment 2 overlaps"), std::string::npos) << error.what();
    }
    bytes = {MiB, 1, 0};
    dst[1] = to(MiB - 1);
    bytes[1] = 2;
    try {
        rig.mover.copy_segments({dst.data(), src.data(), bytes.data(), 3, 0, {}, {}}, rig.stream.view());
        FAIL();
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("dst[1]"), std::string::npos) << error.what();
    }
}

TEST(Pages, AFlagIsSetOnTheDestinationWhenTheListIsThere) {
    Rig rig;
    Allocation flag(*rig.driver, {host(), 64, MemoryKind::pinned});
    std::uint32_t const zero = 0;
    rig.driver->write_host(flag.address(), &zero, 4);
    std::vector<std::int64_t> numbers(256);
    std::iota(numbers.rbegin(), numbers.rend(), 0);
    ListOptions options;
    options.then_set = flag.location();
    options.value = 41;
    rig.mover.copy_pages(rig.copy(numbers, numbers), rig.stream.view(), options);
    if (testing_sim::test_progress != SimProgress::host_pauses) {
        EXPECT_EQ(rig.driver->poll(flag.address()), 0U);
    }
    rig.driver->synchronize(rig.stream.view());
    EXPECT_EQ(rig.driver->poll(flag.address()), 41U);
    Allocation far(*rig.driver, {gpu(1), 64}), back(*rig.driver, {host(), 64, MemoryKind::pinned});
    options.then_set = far.location();
    rig.mover.copy_pages(rig.copy({}, {}), rig.stream.view(), options);
    rig.driver->copy(rig.stream.view(), {back.location(), far.location(), 4, CopyApi::automatic});
    rig.driver->synchronize(rig.stream.view());
    std::uint32_t seen = 0;
    rig.driver->read_host(back.address(), &seen, 4);
    EXPECT_EQ(seen, 41U);
}

/// Seen on a device: the first list was on the device before the second asked for a slot, and got it overwritten.
TEST(Uploads, ASlotIsItsTakersUntilTheWorkThatReadsItIsSubmitted) {
    auto const driver = open_switched(2);
    move::Uploads uploads(*driver);
    Stream stream(*driver, 0);
    auto& first = uploads.take(stream.view(), 100);
    uploads.send(first, stream.view(), 100);
    driver->synchronize(stream.view());
    auto& second = uploads.take(stream.view(), 100);
    EXPECT_NE(&first, &second);
    uploads.used(first, stream.view());
    uploads.used(second, stream.view());
    driver->synchronize(stream.view());
    EXPECT_EQ(&uploads.take(stream.view(), 100), &first);
}

TEST(Pages, AreCapturedAndReplayed) {
    Rig rig;
    for (auto const staged : {false, true}) {
        Mover mover(*rig.driver, proven(*rig.driver, !staged, !staged));
        FillArguments const before{rig.src.address(), MiB, {7, 0}, 16};
        std::vector<std::int64_t> const numbers{3, 1, 2};
        rig.driver->begin_capture(rig.stream.view());
        mover.copy_pages(rig.copy(numbers, numbers), rig.stream.view());
        auto const graph = rig.driver->end_capture(rig.stream.view());
        rig.driver->launch(rig.stream.view(), fill_kernel, &before);
        for (int again = 0; again < 2; ++again) {
            put(*rig.driver, rig.dst, {9, 0});
            rig.driver->launch_graph(graph, rig.stream.view());
            rig.driver->synchronize(rig.stream.view());
            for (auto const page : {1U, 2U, 3U}) {
                Allocation result(*rig.driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned});
                Stream owner(*rig.driver, 1);
                CheckArguments const check{
                    rig.dst.address() + page * 4096, 4096, {7, page * 4096}, {9, page * 4096}, result.address()};
                rig.driver->launch(owner.view(), check_kernel, &check);
                rig.driver->synchronize(owner.view());
                CheckOutcome outcome;
                rig.driver->read_host(result.address(), &outcome, sizeof outcome);
                EXPECT_EQ(outcome, CheckOutcome{}) << "page " << page << (staged ? " staged" : "");
            }
        }
        rig.driver->destroy_graph(graph);
    }
}

}  // namespace
}  // namespace peerlane
