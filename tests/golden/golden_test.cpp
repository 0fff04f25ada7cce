// Every description of a machine that lies beside the project, read and compared with the result that was looked at and
// committed. PEERLANE_GOLDEN_REWRITE=1 writes the results anew; `git diff` is then the review.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/read/reader.hpp"
#include "machine/write/writers.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path inputs = fs::path(PEERLANE_SHARED_DIR) / "machines";
const fs::path expected = fs::path(PEERLANE_SOURCE_DIR) / "tests" / "golden" / "expected";

std::string contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

/// What a reader makes of the file: our document and the table, or the refusal.
std::string result_of(const std::string& name, const std::string& text) {
    try {
        auto const machine = peerlane::read::read_machine({name, text});
        return peerlane::write::json(machine) + "\n" + peerlane::write::table(machine);
    } catch (const peerlane::InputError& error) {
        return std::string("refused: ") + error.what() + "\n";
    }
}

std::vector<std::string> input_names() {
    std::vector<std::string> names;
    std::error_code none;
    for (auto const& entry : fs::directory_iterator(inputs, none)) {
        auto const name = entry.path().filename().string();
        if (entry.is_regular_file() && entry.path().extension() != ".md") {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    if (names.empty()) {
        names.emplace_back("none");
    }
    return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, ReadsAsLookedAt) {
    auto const& name = GetParam();
    if (!fs::exists(inputs / name)) {
        GTEST_SKIP() << "no inputs at " << inputs << ": they are not part of the project";
    }
    auto const got = result_of(name, contents(inputs / name));
    auto const file = expected / (name + ".json");
    auto const* const rewrite = std::getenv("PEERLANE_GOLDEN_REWRITE");
    if (rewrite != nullptr && std::string(rewrite) == "1") {
        std::ofstream(file, std::ios::binary) << got;
        return;
    }
    ASSERT_TRUE(fs::exists(file)) << "no result was committed for " << name
                                  << "; make golden writes it, look at it before committing";
    EXPECT_EQ(got, contents(file)) << "make golden and git diff show what changed";
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    auto name = info.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Shared, Golden, testing::ValuesIn(input_names()), test_name);

TEST(GoldenFiles, EachResultBelongsToAnInput) {
    if (!fs::exists(inputs)) {
        GTEST_SKIP() << "no inputs at " << inputs;
    }
    for (auto const& entry : fs::directory_iterator(expected)) {
        EXPECT_TRUE(fs::exists(inputs / entry.path().stem())) << entry.path().filename();
    }
}

// Our document is whole: what is read back from it is equal, for every machine we know.
TEST(GoldenFiles, DocumentsReadBackEqual) {
    if (!fs::exists(inputs)) {
        GTEST_SKIP() << "no inputs at " << inputs;
    }
    int machines = 0;
    for (auto const& name : input_names()) {
        try {
            auto const text = contents(inputs / name);
            auto const machine = peerlane::read::read_machine({name, text});
            auto const document = peerlane::write::json(machine);
            EXPECT_EQ(peerlane::read::read_machine({name, document}), machine) << name;
            ++machines;
        } catch (const peerlane::InputError&) {  // refused as a whole: nothing to read back
        }
    }
    EXPECT_GT(machines, 50);
}

}  // namespace
