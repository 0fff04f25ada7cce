// Profiles that are kept: used for the machine that was measured, as it was then, and never silently for another.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <peerlane/profile_cache.hpp>

namespace peerlane {
namespace {

class ProfileCache : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = (std::filesystem::temp_directory_path() / "peerlane-profile-XXXXXX").string();
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string path() const { return folder_ + "/a/profile.json"; }
    std::string folder_;
};

CacheKey key(const std::string& driver = "580.1") {
    return {{{"machine", "two \"H200\""}, {"driver", driver}, {"link:0", "x16"}}};
}

StoredProfile stored(const CacheKey& of) {
    Profile profile;
    profile.key = profile_key(of);
    profile.legs = {{{gpu(0), gpu(1), Engine::copy, gpu(0)}, Basis::measured, {{{256, 1e-5, 0.01}}}, {}}};
    return {of, profile};
}

TEST_F(ProfileCache, IsReadBackForTheSameMachine) {
    EXPECT_FALSE(read_profile_cache(path(), key()).stored);
    EXPECT_EQ(read_profile_cache(path(), key()).notice, "");
    ASSERT_EQ(write_profile_cache(path(), stored(key())), "");
    EXPECT_EQ(read_profile_cache(path(), key()).stored, stored(key()));
    EXPECT_EQ(read_profile_cache(path(), key()).notice, "");
}

TEST_F(ProfileCache, OfAnotherMachineIsNotUsedAndSaysWhatChanged) {
    ASSERT_EQ(write_profile_cache(path(), stored(key())), "");
    auto const answer = read_profile_cache(path(), key("590.2"));
    EXPECT_FALSE(answer.stored);
    EXPECT_EQ(answer.notice, path() + ": this is not the machine that was measured: driver changed");
    auto more = key();
    more.parts.emplace_back("boot", "1");
    EXPECT_NE(read_profile_cache(path(), more).notice.find("boot changed"), std::string::npos);
    auto fewer = key();
    fewer.parts.pop_back();
    EXPECT_NE(read_profile_cache(path(), fewer).notice.find("link:0 changed"), std::string::npos);
}

TEST_F(ProfileCache, AProfileOfAnotherKeyInsideIsNotUsed) {
    auto mixed = stored(key());
    mixed.profile.key = profile_key(key("590.2"));
    ASSERT_EQ(write_profile_cache(path(), mixed), "");
    EXPECT_FALSE(read_profile_cache(path(), key()).stored);
    EXPECT_NE(read_profile_cache(path(), key()).notice, "");
}

TEST_F(ProfileCache, ADamagedFileIsANoticeAndIsReplaced) {
    ASSERT_EQ(write_profile_cache(path(), stored(key())), "");
    for (auto const* const text : {"", "{", "[]", "{\"schema\":\"peerlane.stored-profile/1\"}",
                                   R"({"schema":"peerlane.stored-profile/1","key":{"a":1},"profile":{}})",
                                   R"({"schema":"peerlane.stored-profile/1","key":{},"profile":{"schema":"x"}})"}) {
        std::ofstream(path()) << text;
        auto const answer = read_profile_cache(path(), key());
        EXPECT_FALSE(answer.stored) << text;
        EXPECT_NE(answer.notice, "") << text;
    }
    ASSERT_EQ(write_profile_cache(path(), stored(key())), "");
    EXPECT_TRUE(read_profile_cache(path(), key()).stored);
    EXPECT_NE(write_profile_cache("/proc/none/profile.json", stored(key())), "");
}

TEST(ProfileKey, TellsKeysApart) {
    EXPECT_EQ(profile_key(key()), profile_key(key()));
    EXPECT_EQ(profile_key(key()).size(), 32U);
    EXPECT_NE(profile_key(key()), profile_key(key("590.2")));
    EXPECT_NE(profile_key({{{"a", "bc"}}}), profile_key({{{"ab", "c"}}})) << "parts do not run into each other";
    EXPECT_NE(profile_key({}), profile_key({{{"", ""}}}));
}

}  // namespace
}  // namespace peerlane
