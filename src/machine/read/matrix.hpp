#pragma once
/// A matrix of numbers as benchmarks print it: a line of column numbers, then one line a row that begins with the row's
/// number.

#include <optional>
#include <string>
#include <vector>

#include "machine/read/text.hpp"

namespace peerlane::read {

/// `cell` is empty where the benchmark printed no number (N/A, nan).
struct NumberMatrix {
    int columns = 0;
    int line = 0;  ///< of the column numbers
    std::vector<std::vector<std::optional<double>>> rows;
    std::vector<int> row_lines;
    std::string broken;  ///< why the table is not whole; empty when it is
    int broken_line = 0;
    [[nodiscard]] bool square() const { return static_cast<int>(rows.size()) == columns; }
    [[nodiscard]] std::optional<double> at(int row, int column) const;
};

/// Number of columns when the line holds the column numbers 0 .. n-1, after at most one word such as "D\D"; 0
/// otherwise.
int matrix_header(const Line& line);

/// Reads the matrix whose header stands at lines[at]; `at` ends behind it. `wanted_rows` 0 means as many as columns. A
/// row that is missing or short makes the matrix broken; a cell that is no number, a negative one, a row out of order
/// or one cell too many throws InputError: that is no cut, the text was changed.
NumberMatrix read_matrix(const Source& source, const std::vector<Line>& lines, std::size_t& at, int wanted_rows);

}  // namespace peerlane::read
