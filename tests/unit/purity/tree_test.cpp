/// The rule of the design, held by every file of the tree: pure folders reach no hardware, clock, environment, file,
/// thread or stream, themselves or through our own headers; vendor headers stay in their places.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "scan.hpp"

namespace peerlane::purity {
namespace {

namespace fs = std::filesystem;

/// Folders (not their sub-folders) and single files that are pure. A name that ends in * stands for files that begin
/// so.
const std::vector<std::string> pure{"src/machine",
                                    "src/machine/read",
                                    "src/machine/write",
                                    "src/model",
                                    "src/plan",
                                    "src/audit",
                                    "src/traffic",
                                    "src/traffic/run",
                                    "src/prepare/renumber*",
                                    "src/diagnose",
                                    "src/advise",
                                    "src/compare",
                                    "src/watch",
                                    "src/report",
                                    "src/measure/stop*",
                                    "src/measure/statistic*",
                                    "src/measure/steps*",
                                    "src/measure/proven*",
                                    "src/measure/json*",
                                    "src/discover/assemble*",
                                    "src/discover/tree*",
                                    "src/discover/fabric*"};

std::string content_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

bool is_source(const fs::path& path) {
    static const std::set<std::string> endings{".cpp", ".hpp", ".cu", ".cuh", ".h", ".inl"};
    return endings.count(path.extension().string()) != 0;
}

/// Relative name -> content of every source below these folders.
const std::map<std::string, std::string>& sources() {
    static const auto all = [] {
        std::map<std::string, std::string> found;
        fs::path const top = PEERLANE_SOURCE_DIR;
        for (auto const* folder : {"src", "include", "examples"}) {
            for (auto const& entry : fs::recursive_directory_iterator(top / folder)) {
                if (entry.is_regular_file() && is_source(entry.path())) {
                    found[entry.path().lexically_relative(top).generic_string()] = content_of(entry.path());
                }
            }
        }
        return found;
    }();
    return all;
}

bool is_pure(const std::string& file) {
    for (auto const& name : pure) {
        if (name.back() == '*' ? file.compare(0, name.size() - 1, name, 0, name.size() - 1) == 0
                               : fs::path(file).parent_path().generic_string() == name) {
            return true;
        }
    }
    return false;
}

/// The CUDA driver, device code, and the two public headers for people who have CUDA themselves.
bool may_include_vendors(const std::string& file) {
    auto const begins = [&](std::string_view start) { return file.compare(0, start.size(), start) == 0; };
    auto const extension = fs::path(file).extension();
    return begins("src/driver/cuda/") || (begins("src/kernels/") && (extension == ".cu" || extension == ".cuh")) ||
           file == "src/kernels/device_code.hpp" || file == "include/peerlane/cuda.hpp" ||
           file == "include/peerlane/device.cuh";
}

/// Our own file that an include means; empty for others'.
std::string own_file(const std::string& from, const std::string& name) {
    for (auto const& candidate : {"include/" + name, "src/" + name,
                                  (fs::path(from).parent_path() / name).lexically_normal().generic_string()}) {
        if (sources().count(candidate) != 0) {
            return candidate;
        }
    }
    return {};
}

/// Headers of a kind that a file reaches through our own, with the way: "a.cpp:3 > b.hpp:5: thread".
void reach(const std::string& file, bool (*kind)(std::string_view), const std::string& way, std::set<std::string>& seen,
           std::vector<std::string>& found) {
    for (auto const& include : includes_of(sources().at(file))) {
        auto const step = way + file + ":" + std::to_string(include.line);
        if (kind(include.name)) {
            found.push_back(step + ": " + include.name);
        } else if (auto const own = own_file(file, include.name); !own.empty() && seen.insert(own).second) {
            reach(own, kind, step + " > ", seen, found);
        }
    }
}

TEST(Purity, TheTreeIsWhereItIsLookedFor) {
    EXPECT_GT(sources().size(), 50U);
    EXPECT_GT(std::count_if(sources().begin(), sources().end(), [](auto const& one) { return is_pure(one.first); }),
              50);
    for (auto const* folder : {"src/machine/", "src/machine/read/", "src/model/", "src/audit/", "src/plan/"}) {
        auto const first = sources().lower_bound(folder);
        ASSERT_NE(first, sources().end()) << folder;
        EXPECT_EQ(first->first.compare(0, std::string(folder).size(), folder), 0) << folder;
    }
}

TEST(Purity, PureFoldersUseNothingOfTheWorld) {
    for (auto const& [file, text] : sources()) {
        if (is_pure(file)) {
            for (auto const& offence : purity_offences(file, text)) {
                ADD_FAILURE() << offence.text();
            }
        }
    }
}

void expect_unreached(const std::string& file, bool (*kind)(std::string_view)) {
    std::set<std::string> seen{file};
    std::vector<std::string> found;
    reach(file, kind, "", seen, found);
    for (auto const& way : found) {
        ADD_FAILURE() << way;
    }
}

TEST(Purity, PureFoldersReachNothingThroughOurHeaders) {
    for (auto const& [file, text] : sources()) {
        if (is_pure(file)) {
            expect_unreached(file,
                             [](std::string_view name) { return is_vendor_header(name) || is_impure_header(name); });
        }
    }
}

TEST(Purity, VendorHeadersStayInTheirPlaces) {
    for (auto const& [file, text] : sources()) {
        if (!may_include_vendors(file)) {
            expect_unreached(file, &is_vendor_header);
        }
    }
}

TEST(Purity, PublicHeadersIncludeOnlyPublicOnes) {
    for (auto const& [file, text] : sources()) {
        if (file.compare(0, 8, "include/") != 0) {
            continue;
        }
        for (auto const& include : includes_of(text)) {
            EXPECT_TRUE(sources().count("src/" + include.name) == 0 || sources().count("include/" + include.name) != 0)
                << file << ":" << include.line << ": " << include.name << " is not installed";
            EXPECT_EQ(include.name.find("nlohmann"), std::string::npos) << file << ":" << include.line;
        }
    }
}

}  // namespace
}  // namespace peerlane::purity
