#include "machine/read/matrix.hpp"

#include <fmt/format.h>

#include <peerlane/units.hpp>

namespace peerlane::read {
namespace {

/// Far beyond 512 columns; a longer line is no row of numbers.
constexpr std::size_t longest_row = 65536;

bool no_number(std::string_view word) {
    return same_word(word, "n/a") || same_word(word, "na") || same_word(word, "nan") || same_word(word, "-nan") ||
           same_word(word, "inf") || word == "-";
}

std::vector<std::optional<double>> row_cells(const Source& source, const Line& line,
                                             const std::vector<std::string_view>& parts) {
    std::vector<std::optional<double>> cells;
    cells.reserve(parts.size() - 1);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        auto const value = parse_number(parts[i]);
        if (!value && !no_number(parts[i])) {
            refuse(source, line.number, fmt::format("\"{}\" is no number", parts[i].substr(0, 40)));
        }
        if (value && *value < 0) {
            refuse(source, line.number, fmt::format("a measured value below zero: {}", parts[i].substr(0, 40)));
        }
        cells.push_back(value);
    }
    return cells;
}

/// Digits after the point. A table has equally many in every cell, so a row that ends in fewer was cut.
std::size_t decimals(std::string_view number) {
    auto const point = number.find('.');
    return point == std::string_view::npos ? 0 : number.size() - point - 1;
}

}  // namespace

std::optional<double> NumberMatrix::at(int row, int column) const {
    if (row < 0 || column < 0 || row >= static_cast<int>(rows.size()) ||
        column >= static_cast<int>(rows[static_cast<std::size_t>(row)].size())) {
        return std::nullopt;
    }
    return rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
}

int matrix_header(const Line& line) {
    if (line.text.size() > longest_row) {
        return 0;
    }
    auto parts = words(line.text);
    if (!parts.empty() && !small_number(parts[0])) {
        parts.erase(parts.begin());
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (small_number(parts[i]) != static_cast<int>(i)) {
            return 0;
        }
    }
    return parts.size() > most_devices ? 0 : static_cast<int>(parts.size());
}

NumberMatrix read_matrix(const Source& source, const std::vector<Line>& lines, std::size_t& at, int wanted_rows) {
    NumberMatrix matrix;
    matrix.columns = matrix_header(lines[at]);
    matrix.line = lines[at].number;
    auto const wanted = wanted_rows > 0 ? wanted_rows : matrix.columns;
    for (++at; at < lines.size() && static_cast<int>(matrix.rows.size()) < wanted; ++at) {
        if (lines[at].text.size() > longest_row) {
            refuse(source, lines[at].number, "this line is too long for a row of numbers");
        }
        auto parts = words(lines[at].text);
        if (parts.empty()) {
            // A paste may have got blank lines between its lines: the table goes on if its next row follows.
            auto next = at;
            while (next < lines.size() && lines[next].blank()) {
                ++next;
            }
            if (next == lines.size() || lines[next].text.size() > longest_row) {
                break;
            }
            parts = words(lines[next].text);
            if (static_cast<int>(parts.size()) != matrix.columns + 1 ||
                small_number(parts[0]) != static_cast<int>(matrix.rows.size())) {
                break;
            }
            at = next;
        }
        auto const number = small_number(parts[0]);
        if (!number) {
            break;
        }
        auto const row = static_cast<int>(matrix.rows.size());
        if (*number != row) {
            if (*number < row) {
                refuse(source, lines[at].number, fmt::format("row {} stands where row {} should", *number, row));
            }
            matrix.broken = fmt::format("row {} is missing", row);
            matrix.broken_line = lines[at].number;
            while (at < lines.size() && !words(lines[at].text).empty() && small_number(words(lines[at].text)[0])) {
                ++at;
            }
            return matrix;
        }
        auto cells = row_cells(source, lines[at], parts);
        if (static_cast<int>(cells.size()) > matrix.columns) {
            refuse(source, lines[at].number,
                   fmt::format("row {} has {} cells for {} columns", row, cells.size(), matrix.columns));
        }
        if (static_cast<int>(cells.size()) < matrix.columns && matrix.broken.empty()) {
            matrix.broken = fmt::format("row {} has {} cells of {}", row, cells.size(), matrix.columns);
            matrix.broken_line = lines[at].number;
        }
        bool const numbers = parts.size() > 2 && parse_number(parts[1]) && parse_number(parts.back());
        if (numbers && matrix.broken.empty() && decimals(parts.back()) < decimals(parts[1])) {
            matrix.broken = fmt::format("row {} ends in \"{}\", where others have more decimals", row, parts.back());
            matrix.broken_line = lines[at].number;
        }
        matrix.rows.push_back(std::move(cells));
        matrix.row_lines.push_back(lines[at].number);
    }
    if (static_cast<int>(matrix.rows.size()) == wanted && at < lines.size() && lines[at].text.size() <= longest_row) {
        auto const parts = words(lines[at].text);
        if (static_cast<int>(parts.size()) == matrix.columns + 1 && small_number(parts[0]) && matrix.columns > 1) {
            refuse(source, lines[at].number, fmt::format("a row more than the {} of this table", wanted));
        }
    }
    if (matrix.broken.empty() && static_cast<int>(matrix.rows.size()) < wanted) {
        matrix.broken = fmt::format("{} of {} rows", matrix.rows.size(), wanted);
        matrix.broken_line = at < lines.size() ? lines[at].number : (lines.empty() ? 0 : lines.back().number);
    }
    return matrix;
}

}  // namespace peerlane::read
