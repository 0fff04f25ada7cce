#pragma once
/// Looks for words and includes that a kind of source file must not have. Comments and the insides of quotes are not
/// looked at.

#include <string>
#include <string_view>
#include <vector>

namespace peerlane::purity {

/// One forbidden thing: "file:line: word".
struct Offence {
    std::string file;
    int line = 0;
    std::string word;
    [[nodiscard]] std::string text() const { return file + ":" + std::to_string(line) + ": " + word; }
};

/// Comments, strings and characters replaced by blanks, line breaks kept. Knows raw strings and digit separators.
std::string without_comments(std::string_view text);

/// Names that `#include` lines ask for, with their line numbers; "<x>" and "\"x\"" alike.
struct Include {
    std::string name;
    int line = 0;
};
std::vector<Include> includes_of(std::string_view text);

/// A header of a vendor: CUDA, HIP, NVML, hwloc, NCCL and the libraries that come with them.
bool is_vendor_header(std::string_view name);
/// A header by which a pure file would reach a clock, thread, file, stream of the process or the system.
bool is_impure_header(std::string_view name);

std::vector<Offence> vendor_offences(const std::string& file, std::string_view text);
/// Includes and calls that a pure file must not have, vendor headers among them.
std::vector<Offence> purity_offences(const std::string& file, std::string_view text);

}  // namespace peerlane::purity
