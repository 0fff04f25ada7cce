#pragma once
/// The truth about small traces, by trying every interleaving that host threads and streams can have. Shares nothing
/// with the auditor but the reader.

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace peerlane::audit_tests {

struct Truth {
    bool too_large = false;        ///< more actions or states than the oracle takes
    bool deadlock = false;         ///< in some interleaving
    bool always_deadlock = false;  ///< in every interleaving
    std::set<std::string> racy{};  ///< memories with two accesses unordered in some interleaving
    std::set<std::pair<std::uint64_t, std::uint64_t>> pairs{};  ///< lines of such accesses, smaller first
    std::set<std::uint64_t> busy_frees{};  ///< lines of frees that work issued before may still use
};

/// Calls understood: machine, stream, alloc, free, record, wait, query, sync, launch, signal, wait_flag, host, copy (no
/// pageable memory).
Truth try_everything(const std::vector<std::string>& trace);

}  // namespace peerlane::audit_tests
