#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace peerlane::audit_tests {

/// A block of a Markdown file fenced as ```trace expect=CODES (codes divided by commas, or `clean`).
struct Fenced {
    std::string file{};
    std::size_t line = 0;   ///< of the fence
    std::string heading{};  ///< the last one above it
    std::set<std::string> expect{};
    std::string trace{};
};

/// All such blocks of a file. Throws std::runtime_error when it cannot be read or a fence is not closed.
std::vector<Fenced> fenced_traces(const std::string& path);
/// Of all .md files of a folder, in the order of their names.
std::vector<Fenced> fenced_traces_of_folder(const std::string& path);

}  // namespace peerlane::audit_tests
