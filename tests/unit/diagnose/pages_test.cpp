/// Every code has a page and every page a code; what the pages say of facts is so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "diagnose/fact_words.hpp"
#include "support.hpp"

namespace peerlane::testing_diagnose {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path folder = fs::path(PEERLANE_SOURCE_DIR) / "docs/findings";

std::string content_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Pages, EveryCodeHasAPageAndEveryPageACode) {
    std::set<std::string> wanted{"README", "facts"};
    auto const index = content_of(folder / "README.md");
    for (auto const& code : finding_codes()) {
        std::string const name(code.code);
        wanted.insert(name);
        auto const page = content_of(folder / (name + ".md"));
        EXPECT_EQ(page.rfind("# " + name + "\n", 0), 0U) << name;
        EXPECT_THAT(page, HasSubstr(std::string("Severity: ") + to_string(code.severity) + "\n")) << name;
        EXPECT_THAT(page, HasSubstr("## Evidence\n")) << name;
        EXPECT_THAT(page, HasSubstr("## Cure\n")) << name;
        EXPECT_THAT(index, HasSubstr("| [" + name + "](" + name + ".md) | " + to_string(code.severity) + " |")) << name;
    }
    std::set<std::string> found;
    for (auto const& entry : fs::directory_iterator(folder)) {
        found.insert(entry.path().stem().string());
    }
    EXPECT_EQ(found, wanted);
}

TEST(Pages, EveryFactHasALine) {
    auto const page = content_of(folder / "facts.md");
    for (auto const& head : fact_words::heads()) {
        EXPECT_TRUE(page.find("`" + head + "`") != std::string::npos ||
                    page.find("`" + head + ":") != std::string::npos)
            << head;
    }
}

/// Facts named on a page as `--fault fact:...`.
std::vector<std::string> faults_of(const std::string& page) {
    std::string const start = "`--fault fact:";
    std::vector<std::string> found;
    for (auto at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
        auto const begin = at + start.size();
        found.push_back(page.substr(begin, page.find('`', begin) - begin));
    }
    return found;
}

TEST(Pages, TheFactsOfAPageGiveItsFinding) {
    int pages = 0;
    for (auto const& code : finding_codes()) {
        std::string const name(code.code);
        auto const facts = faults_of(content_of(folder / (name + ".md")));
        if (facts.empty() || name == "iommu-fault") {
            continue;
        }
        // A pair of cards, and a machine of modules: each page is about one of them.
        bool shown = false;
        for (auto const* machine : {"rtx4090-8-dual-epyc", "a100-pcie-pairs-4", "h200-pair"}) {
            Scene scene(load_machine(machine).machine(), facts);
            if (name == "peer-refused" || name == "shm-small") {
                refuse(scene.verdicts);
            } else if (name == "foreign-peer-holder") {
                for (auto const check : all_checks) {
                    set(scene.verdicts, -1, -1, check, "ok");
                }
                auto& map = (*scene.verdicts.pair(0, 1))[Check::map];
                map.result = Result::no;
                map.code = 711;
            } else if (name == "module-patched" || name == "mixed-models") {
                for (auto const check : all_checks) {
                    set(scene.verdicts, -1, -1, check, "ok");
                }
            }
            shown = shown || find(scene.findings(), name) != nullptr;
        }
        EXPECT_TRUE(shown) << name;
        ++pages;
    }
    EXPECT_GT(pages, 25);
}

}  // namespace
}  // namespace peerlane::testing_diagnose
