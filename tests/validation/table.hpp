#pragma once
/// One published table beside what the simulator makes of it. Rates in GB/s unless the title names another unit.

#include <functional>
#include <string>
#include <vector>

#include <peerlane/driver.hpp>

namespace peerlane::validation {

struct Cell {
    std::string name;                     ///< "0>1", or the pattern
    double low = 0, high = 0;             ///< theirs; equal where the source gives one figure
    std::function<double(Driver&)> play;  ///< ours
    std::string not_counted;              ///< reason; empty: counted
    bool fitted = false;                  ///< a constant of this machine was chosen to match it: not counted either
    double ours = 0;                      ///< filled by `fill`
    /// Signed, relative to the nearest end of the span of theirs.
    [[nodiscard]] double error() const;
    [[nodiscard]] bool counts() const { return not_counted.empty() && !fitted; }
};

struct Table {
    std::string machine, title, source;
    bool access = true;  ///< peer access enabled
    std::vector<Cell> cells;
    std::string not_compared;                  ///< reason; then there are no cells
    double median_bound = 0, worst_bound = 0;  ///< what the project promises; 0: shown only
};

/// Of the cells that count; 0 when none does.
struct Errors {
    double median = 0, worst = 0;
    const Cell* worst_cell = nullptr;
    std::size_t counted = 0, fitted = 0, left_out = 0;
};

/// Plays every cell on the named machine; `by_default`: without the figures of its document, as a machine that nobody
/// measured would be simulated.
void fill(Table& table, bool by_default = false);
Errors errors(const Table& table);
/// Whether it keeps its bounds; true where it has none or nothing counts.
bool keeps(const Table& table);

/// Tables of one published file (`published/1`). Throws InputError for a file that is not one.
std::vector<Table> read_published(const std::string& path);
/// The pair that the project was measured on (facts of 2026-11-30).
std::vector<Table> pair_tables();
/// Of all cells together, whether fitted or not; one line a table that has bounds.
std::string defaults_section(const std::vector<Table>& tables);
/// docs/validation.md.
std::string page(const std::vector<Table>& tables);

}  // namespace peerlane::validation
