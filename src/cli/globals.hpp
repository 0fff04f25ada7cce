#pragma once
/// Options that every command has, understood.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/fault.hpp>

namespace peerlane::cli {

class Given;

enum class Format { table, json, markdown, tree, dot, svg, nccl_xml, csv, html };
const char* to_string(Format format);

enum class Color { automatic, always, never };

struct Globals {
    std::vector<std::string> machines{};  ///< empty: this machine
    std::vector<Fault> faults{};
    std::string fabric{};
    Format format = Format::table;
    std::string save{};          ///< empty: nowhere
    std::vector<int> devices{};  ///< numbers asked for, ascending; empty: all
    Color color = Color::automatic;
    std::optional<std::uint64_t> seed{};
    [[nodiscard]] bool simulated() const { return !machines.empty(); }
};

/// Throws UsageError that names the word at fault; `formats` are those of the command.
Globals understand(const Given& given, const std::string& command, const std::vector<Format>& formats);

/// A whole number within bounds, or UsageError that names the option.
std::uint64_t whole_number(const std::string& option, const std::string& word, std::uint64_t least, std::uint64_t most);

}  // namespace peerlane::cli
