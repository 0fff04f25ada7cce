// Machines by name and by file.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/named.hpp>

#include "driver/sim/figures.hpp"

namespace peerlane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Scratch : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() /
                  (std::string("peerlane-named-") + testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string write(const std::string& name, const std::string& text) {
        auto const path = folder_ / name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    std::filesystem::path folder_;
};

TEST(Named, EveryFileOfMachinesIsInTheLibraryUnchanged) {
    std::size_t files = 0;
    for (auto const& entry : std::filesystem::directory_iterator(PEERLANE_SOURCE_DIR "/machines")) {
        if (entry.path().extension() != ".json") {
            continue;
        }
        ++files;
        auto const& all = named_machines();
        auto const found = std::find_if(
            all.begin(), all.end(), [&](const NamedMachine& machine) { return machine.name == entry.path().stem(); });
        ASSERT_NE(found, all.end()) << entry.path();
        std::ifstream file(entry.path(), std::ios::binary);
        EXPECT_EQ(found->document, std::string(std::istreambuf_iterator<char>(file), {})) << entry.path();
        EXPECT_GE(found->devices, 2);
        EXPECT_FALSE(found->about.empty());
    }
    EXPECT_EQ(named_machines().size(), files);
    EXPECT_TRUE(std::is_sorted(named_machines().begin(), named_machines().end(),
                               [](auto& a, auto& b) { return a.name < b.name; }));
}

TEST(Named, LoadsWithTheFiguresOfItsOwnDocument) {
    auto const machine = load_machine("h200-pair");
    EXPECT_EQ(machine.machine().devices.size(), 2);
    EXPECT_EQ(machine.machine().origin.name, "h200-pair");
    EXPECT_EQ(machine.figures().peer_copy_gbs, 396.7);
    EXPECT_EQ(load_machine("sim:gpu=2").figures().peer_copy_gbs, std::nullopt);
}

TEST(Named, MissingOnesNameWhatIsNear) {
    try {
        load_machine("h200-pear");
        FAIL();
    } catch (const NoSuchMachine& error) {
        EXPECT_EQ(error.asked(), "h200-pear");
        EXPECT_THAT(error.similar(), ElementsAre("h200-pair"));
        EXPECT_THAT(error.what(), HasSubstr("similar: h200-pair"));
    }
}

TEST(Named, SimilarWords) {
    std::vector<std::string> const known{"copy", "topo", "doctor", "measure"};
    EXPECT_THAT(similar_words("cpoy", known), testing::IsEmpty());
    EXPECT_THAT(similar_words("copi", known), ElementsAre("copy"));
    EXPECT_THAT(similar_words("docter", known), ElementsAre("doctor"));
    EXPECT_THAT(similar_words("meas", known), ElementsAre("measure"));
    EXPECT_THAT(similar_words("", known), testing::IsEmpty());
    EXPECT_THAT(similar_words(std::string(100000, 'x'), known), testing::IsEmpty());
}

TEST_F(Scratch, AFileWithTheNameOfAMachineIsMeantByItsPath) {
    auto const path = write("h200-pair", "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n");
    EXPECT_EQ(load_machine(path).machine().pair(0, 1)->nvlinks, 4);
    EXPECT_EQ(load_machine("h200-pair").machine().pair(0, 1)->nvlinks, 18);
}

TEST_F(Scratch, FiguresOfTheFirstDescriptionThatHasSome) {
    auto const topo = write("topo.txt", "\tGPU0\tGPU1\nGPU0\tX\tNV18\nGPU1\tNV18\tX\n");
    auto const merged = load_machines({topo, "h200-pair"});
    EXPECT_EQ(merged.machine().devices.size(), 2);
    EXPECT_EQ(merged.figures().peer_copy_gbs, 396.7);
}

TEST_F(Scratch, FabricIsAddedAndRefused) {
    auto const topo = write("topo.txt", "\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n");
    EXPECT_EQ(load_machines({topo}, "nvlink:18@26.56GB/s").machine().pair(1, 0)->path, PathClass::nv);
    EXPECT_THROW(load_machines({topo}, "nvlink"), std::invalid_argument);
    EXPECT_THROW(load_machines({}), std::invalid_argument);
}

TEST_F(Scratch, WhatCannotBeReadIsAnInputErrorThatNamesTheFile) {
    for (auto const& path : {write("empty", ""), write("bad.json", "{\"schema\": \"peerlane.machine/1\""),
                             write("figures.json", R"({"schema": "peerlane.machine/1", "devices": [{"id": 0}],
                                                       "simulation": {"copy_engines": "many"}})"),
                             folder_.string()}) {
        try {
            load_machine(path);
            ADD_FAILURE() << path;
        } catch (const InputError& error) {
            EXPECT_EQ(error.file(), path);
        }
    }
    EXPECT_THROW(load_machine(folder_ / "nothing"), NoSuchMachine);
}

TEST_F(Scratch, HalfAGigabyteIsRefusedUnread) {
    auto const path = write("large", "x");
    std::filesystem::resize_file(path, std::size_t{500} << 20);
    EXPECT_THAT([&] { load_machine(path); }, testing::ThrowsMessage<InputError>(HasSubstr("is larger than 256 MiB")));
}

TEST(Named, ReadingIsBounded) {
    EXPECT_THROW(read_input("/dev/zero"), InputError);
}

}  // namespace
}  // namespace peerlane
