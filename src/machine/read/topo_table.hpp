#pragma once
/// The parts of one `topo -m` table: header, rows, cells. Used by topo_matrix.cpp only.

#include <optional>
#include <string>
#include <vector>

#include "machine/read/text.hpp"

namespace peerlane::read {

enum class TailColumn { cpu, numa, memory_numa };

struct TopoHeader {
    std::vector<std::string> names;    ///< GPU0, GPU1, NIC0, mlx5_1, ... in the order of the columns
    std::vector<TailColumn> tail;      ///< the columns after the matrix
    std::vector<std::size_t> tail_at;  ///< where their words begin, tabs expanded to eight
    [[nodiscard]] int column(std::string_view name) const;  ///< -1 when there is none
};

struct TopoCell {
    bool self = false;
    PathClass path = PathClass::unknown;
    std::optional<int> nvlinks;
    friend bool operator==(const TopoCell&, const TopoCell&) = default;
};

struct TopoRow {
    int column = -1;  ///< whose row it is
    int line = 0;
    std::vector<TopoCell> cells;
    std::string stop;                              ///< the word at which the cells ended, empty at the end of the line
    bool stop_is_cell = false;                     ///< that word is a class: there is a cell too many
    std::vector<std::optional<std::string>> tail;  ///< one for each TopoHeader::tail
    std::size_t tail_words = 0;                    ///< cells found after the matrix
};

/// "GPU12" -> 12.
std::optional<int> gpu_number(std::string_view word);
/// "X", "PIX", "NV18", "SOC", ...; empty for every other word.
std::optional<TopoCell> topo_cell(std::string_view word);
/// A word of `topo -p2p`: OK, CNS, GNS, TNS, NS, DR, U.
bool is_p2p_word(std::string_view word);
/// Empty when the line is no header of a device matrix.
std::optional<TopoHeader> topo_header(std::string_view line);
/// Empty when the line does not begin with the name of a column.
std::optional<TopoRow> topo_row(const Line& line, const TopoHeader& header);
/// How a cell is written: "X", "NV18", "PIX".
std::string cell_text(const TopoCell& cell);

}  // namespace peerlane::read
