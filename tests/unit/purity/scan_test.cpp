/// The scanner itself: it finds what it is for, and nothing in comments and quotes.

#include <gtest/gtest.h>

#include "scan.hpp"

namespace peerlane::purity {
namespace {

std::string found(std::string_view text) {
    std::string all;
    for (auto const& offence : purity_offences("f.cpp", text)) {
        all += offence.text() + "\n";
    }
    return all;
}

TEST(PurityScan, NamesFileLineAndWord) {
    EXPECT_EQ(found("int a;\nint b = std::time(nullptr);\n"), "f.cpp:2: time\n");
    EXPECT_EQ(found("#include <vector>\n#include <chrono>\n"), "f.cpp:2: chrono\n");
    EXPECT_EQ(found("#  include \"cuda_runtime.h\"\n"), "f.cpp:1: cuda_runtime.h\n");
}

TEST(PurityScan, FindsEachKind) {
    for (auto const* text : {"#include <thread>",
                             "#include <mutex>",
                             "#include <filesystem>",
                             "#include <fstream>",
                             "#include <iostream>",
                             "#include <cstdio>",
                             "#include <nvml.h>",
                             "#include <hwloc.h>",
                             "#include <sys/stat.h>",
                             "#include <cuda.h>",
                             "auto e = getenv(\"HOME\");",
                             "std::random_device seed;",
                             "std::cout << 1;",
                             "printf(\"x\");",
                             "fmt::print(\"x\");",
                             "auto t = time(0);",
                             "return rand();",
                             "std::exit(1);",
                             "auto n = ::time (nullptr);",
                             "std::chrono::seconds s;",
                             "std::thread t;",
                             "std::this_thread::yield();",
                             "std::cerr << 1;"}) {
        EXPECT_NE(found(text), "") << text;
    }
}

TEST(PurityScan, LeavesOtherThingsAlone) {
    for (auto const* text :
         {"// std::cout and time() in words", "/* getenv\n printf( */", "auto s = \"std::cout << time(0)\";",
          "auto r = R\"x(getenv(\"a\") )\" )x\";", "char c = '\"'; int after_time = 1;", "event.time();",
          "clock->rand();", "double time(int step);", "auto n = 1'000'000;", "int timeline(int);", "my::time(3);",
          "snprintf(b, 2, \"x\");", "#include <string>", "#include <random>", "int threads = 3; int thread = 2;",
          "fmt::format(\"print\")"}) {
        EXPECT_EQ(found(text), "") << text;
    }
}

TEST(PurityScan, CountsLinesAcrossCommentsAndRawStrings) {
    EXPECT_EQ(found("/* a\n b */\nauto s = R\"(\n\n)\";\nputs(s);\n"), "f.cpp:6: puts\n");
}

TEST(PurityScan, VendorHeadersAloneAreToldApart) {
    EXPECT_EQ(vendor_offences("f", "#include <cuda_runtime.h>\n#include <chrono>\n").size(), 1U);
    EXPECT_TRUE(is_vendor_header("hip/hip_runtime.h"));
    EXPECT_TRUE(is_vendor_header("hwloc/nvml.h"));
    EXPECT_FALSE(is_vendor_header("peerlane/cuda.hpp"));
    EXPECT_FALSE(is_vendor_header("discover/nvml_api.hpp"));
}

}  // namespace
}  // namespace peerlane::purity
