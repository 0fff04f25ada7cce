#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace peerlane::audit_tests {

using Lines = std::vector<std::string>;

struct RandomTrace {
    int calls = 6;  ///< besides streams and allocations
    int streams = 3;
    int threads = 1;
    int memories = 2;
    int flags = 2;
    bool any_kind = true;  ///< blocking, legacy and per-thread streams too
    bool equals = true;    ///< waits for exact values, and values that fall
    bool relaxed = true;   ///< flags that order nothing
    bool frees = true;     ///< at the end
};

/// Calls of any sense or none. Everything is mapped; ids exist.
Lines random_trace(std::mt19937_64& random, const RandomTrace& shape);

/// Drops lines as long as `bad` stays true.
Lines shrink(Lines trace, const std::function<bool(const Lines&)>& bad);

std::string joined(const Lines& lines);

}  // namespace peerlane::audit_tests
