#include "machine/read/topo_matrix.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/read/topo_table.hpp"

namespace peerlane::read {
namespace {

/// One table: lines[header], its rows, and the first line that is not of it.
struct Table {
    TopoHeader header;
    std::size_t at = 0, end = 0;
    std::vector<TopoRow> rows;
};

std::vector<std::size_t> gpu_columns(const TopoHeader& header) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < header.names.size(); ++i) {
        if (gpu_number(header.names[i])) {
            columns.push_back(i);
        }
    }
    std::sort(columns.begin(), columns.end(),
              [&](std::size_t a, std::size_t b) { return gpu_number(header.names[a]) < gpu_number(header.names[b]); });
    return columns;
}

/// A row of a device that the header does not have: "GPU9", and then a class.
bool is_stray_row(std::string_view line) {
    auto const parts = words(line);
    return parts.size() > 1 && gpu_number(parts[0]) && topo_cell(parts[1]);
}

std::vector<Table> find_tables(const std::vector<Line>& lines) {
    std::vector<Table> tables;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto header = topo_header(lines[i].text);
        if (!header) {
            continue;
        }
        Table table{std::move(*header), i, i + 1, {}};
        for (auto at = i + 1; at < lines.size(); ++at) {
            if (lines[at].blank()) {
                continue;
            }
            auto row = topo_header(lines[at].text) ? std::nullopt : topo_row(lines[at], table.header);
            if (!row && !is_stray_row(lines[at].text)) {
                break;
            }
            if (row) {
                table.rows.push_back(std::move(*row));
            } else {
                table.rows.push_back(
                    {.column = -1, .line = lines[at].number, .stop = std::string(words(lines[at].text)[0])});
            }
            table.end = at + 1;
        }
        bool const p2p =
            std::any_of(table.rows.begin(), table.rows.end(), [](const TopoRow& row) { return is_p2p_word(row.stop); });
        // A header alone is a cut table only if it looks like nothing else.
        if (p2p) {
            i = table.end - 1;
        } else if (!table.rows.empty() || !table.header.tail.empty()) {
            i = table.end - 1;
            tables.push_back(std::move(table));
        }
    }
    return tables;
}

/// Throws when a row of a GPU cannot be what the tool printed.
void check_gpu_row(const Source& source, const TopoHeader& header, const TopoRow& row) {
    auto const& name = header.names[static_cast<std::size_t>(row.column)];
    auto const columns = header.names.size();
    if (row.cells.size() < columns) {
        bool const looks_like_tail =
            row.stop.empty() || row.stop == "N/A" || (row.stop[0] >= '0' && row.stop[0] <= '9');
        if (looks_like_tail) {
            refuse(source, row.line,
                   fmt::format("row {} has {} cells, the header has {} columns", name, row.cells.size(), columns));
        }
        refuse(source, row.line,
               fmt::format("unknown path class \"{}\" in row {}, column {}", row.stop.substr(0, 40), name,
                           header.names[row.cells.size()]));
    }
    if (row.stop_is_cell) {
        refuse(source, row.line, fmt::format("row {} has more cells than the header has columns ({})", name, columns));
    }
    for (std::size_t i = 0; i < columns; ++i) {
        bool const own = static_cast<int>(i) == row.column;
        if (row.cells[i].self != own) {
            refuse(source, row.line,
                   own ? fmt::format("row {} has {} where its own column has X", name, cell_text(row.cells[i]))
                       : fmt::format("row {} has its X in the column of {}", name, header.names[i]));
        }
    }
    if (!header.tail.empty() && row.tail_words > header.tail.size()) {
        refuse(source, row.line,
               fmt::format("row {} has {} cells after the matrix, the header has {} columns there", name,
                           row.tail_words, header.tail.size()));
    }
}

std::map<int, const TopoRow*> rows_by_column(const Source& source, const Table& table, const std::vector<Line>& lines) {
    auto const& header = table.header;
    for (std::size_t i = 0; i < header.names.size(); ++i) {
        if (header.column(header.names[i]) != static_cast<int>(i)) {
            refuse(source, lines[table.at].number,
                   fmt::format("column {} stands twice in the header", header.names[i]));
        }
    }
    std::map<int, const TopoRow*> rows;
    for (auto const& row : table.rows) {
        if (row.column < 0) {
            refuse(source, row.line, fmt::format("row {} has no column in the header", row.stop));
        }
        if (!rows.emplace(row.column, &row).second) {
            refuse(source, row.line,
                   fmt::format("row {} stands twice", header.names[static_cast<std::size_t>(row.column)]));
        }
    }
    return rows;
}

/// "0-23,48-71", "3": what the cells after the matrix hold where they hold anything.
bool is_list(std::string_view text) {
    auto const digit = [](char c) { return c >= '0' && c <= '9'; };
    return text.find_first_not_of("0123456789,-") == std::string_view::npos && digit(text.front()) &&
           digit(text.back());
}

void read_tail(const Source& source, const TopoHeader& header, const TopoRow& row, Machine& machine, Device& device) {
    for (std::size_t i = 0; i < header.tail.size(); ++i) {
        auto const& text = row.tail[i];
        if (!text) {
            continue;
        }
        if (!is_list(*text)) {
            add_notice(machine, source, "odd-cell", row.line,
                       fmt::format("\"{}\" after the matrix is no list of numbers: left out", text->substr(0, 40)));
            continue;
        }
        switch (header.tail[i]) {
            case TailColumn::cpu:
                device.cpu_affinity = text;
                break;
            case TailColumn::numa:
                device.numa = small_number(*text);
                if (!device.numa) {
                    device.numa_text = text;
                }
                break;
            case TailColumn::memory_numa:
                device.memory_numa = small_number(*text);
                break;
        }
    }
}

/// NICs by their columns in the rows of the GPUs; their own rows only have to agree.
void read_nics(const Source& source, const Table& table, const std::map<int, const TopoRow*>& rows,
               const std::vector<std::size_t>& gpus, const std::vector<Line>& lines, Machine& machine) {
    auto const& names = table.header.names;
    std::vector<std::string> missing;
    int cut_at = 0;
    for (std::size_t column = 0; column < names.size(); ++column) {
        if (gpu_number(names[column])) {
            continue;
        }
        Nic nic{names[column], std::nullopt, {}};
        auto const own = rows.find(static_cast<int>(column));
        bool const whole = own != rows.end() && own->second->cells.size() == names.size() &&
                           !own->second->stop_is_cell && own->second->cells[column].self;
        for (auto const gpu : gpus) {
            auto const& seen = rows.at(static_cast<int>(gpu))->cells[column];
            nic.paths.push_back(seen.path);
            if (whole && own->second->cells[gpu] != seen) {
                add_notice(machine, source, "asymmetric", own->second->line,
                           fmt::format("{} says {} to {}, and that says {}: not used", names[column],
                                       cell_text(own->second->cells[gpu]), names[gpu], cell_text(seen)));
                nic.paths.back() = PathClass::unknown;
            }
        }
        if (!whole) {
            missing.push_back(names[column]);
            cut_at = std::max(cut_at, own == rows.end() ? 0 : own->second->line);
        }
        machine.nics.push_back(std::move(nic));
    }
    if (!missing.empty()) {
        add_notice(machine, source, "truncated", cut_at > 0 ? cut_at : lines[table.end - 1].number,
                   fmt::format("no whole row of {}: read from the rows of the GPUs", fmt::join(missing, ", ")));
    }
}

/// "NIC0: mlx5_0" after the table.
void read_nic_names(const std::vector<Line>& lines, std::size_t from, std::size_t to, Machine& machine) {
    for (auto i = from; i < to; ++i) {
        auto const parts = words(lines[i].text);
        if (parts.size() != 2 || parts[0].back() != ':') {
            continue;
        }
        for (auto& nic : machine.nics) {
            if (nic.name == parts[0].substr(0, parts[0].size() - 1)) {
                nic.name = parts[1];
                break;
            }
        }
    }
}

/// The -mp form says so in its command line, or by a legend that explains PIX but not NV#.
bool hides_nvlink(const std::vector<Line>& lines, const Table& table, std::size_t from, std::size_t to) {
    for (auto const& row : table.rows) {
        if (std::any_of(row.cells.begin(), row.cells.end(),
                        [](const TopoCell& c) { return c.path == PathClass::nv; })) {
            return false;
        }
    }
    bool legend = false, nvlink = false, command = false;
    for (auto i = from; i < to; ++i) {
        auto const parts = words(lines[i].text);
        if (i < table.at) {
            command = command || lines[i].text.find("topo -mp") != std::string::npos;
        } else if (parts.size() > 2 && parts[1] == "=") {
            legend = legend || parts[0] == "PIX";
            nvlink = nvlink || parts[0] == "NV#";
        }
    }
    return (legend && !nvlink) || (command && !nvlink);
}

Machine read_table(const Source& source, const std::vector<Line>& lines, const Table& table, std::size_t from,
                   std::size_t to) {
    auto const& header = table.header;
    auto const gpus = gpu_columns(header);
    if (static_cast<int>(gpus.size()) > most_devices) {
        refuse(source, lines[table.at].number,
               fmt::format("{} GPUs, no machine has more than {}", gpus.size(), most_devices));
    }
    auto const rows = rows_by_column(source, table, lines);
    Machine machine;
    std::vector<int> no_numa;
    bool renumbered = false;
    for (std::size_t id = 0; id < gpus.size(); ++id) {
        auto const& name = header.names[gpus[id]];
        auto const found = rows.find(static_cast<int>(gpus[id]));
        if (found == rows.end()) {
            refuse(source, lines[table.end - 1].number, fmt::format("the table is cut: row {} is missing", name));
        }
        check_gpu_row(source, header, *found->second);
        Device device;
        device.id = static_cast<int>(id);
        renumbered = renumbered || gpu_number(name) != device.id;
        read_tail(source, header, *found->second, machine, device);
        bool const asked = std::find(header.tail.begin(), header.tail.end(), TailColumn::numa) != header.tail.end();
        if (asked && !device.numa && !device.numa_text) {
            no_numa.push_back(device.id);
        }
        machine.devices.push_back(std::move(device));
    }
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        auto const& row = *rows.at(static_cast<int>(gpus[a]));
        for (std::size_t b = 0; b < gpus.size(); ++b) {
            if (a == b) {
                continue;
            }
            auto const& cell = row.cells[gpus[b]];
            auto const& back = rows.at(static_cast<int>(gpus[b]))->cells[gpus[a]];
            if (cell != back) {
                refuse(source, std::max(row.line, rows.at(static_cast<int>(gpus[b]))->line),
                       fmt::format("the table contradicts itself: {} to {} is {}, {} to {} is {}",
                                   header.names[gpus[a]], header.names[gpus[b]], cell_text(cell), header.names[gpus[b]],
                                   header.names[gpus[a]], cell_text(back)));
            }
            Pair pair;
            pair.accessor = static_cast<int>(a);
            pair.owner = static_cast<int>(b);
            pair.path = cell.path;
            pair.nvlinks = cell.nvlinks;
            machine.pairs.push_back(std::move(pair));
        }
    }
    note_wrapping(lines, table.at, table.end, source, machine);
    read_nics(source, table, rows, gpus, lines, machine);
    read_nic_names(lines, table.end, to, machine);
    if (renumbered) {
        add_notice(machine, source, "renumbered", lines[table.at].number,
                   fmt::format("GPUs {} are numbered 0 to {} here",
                               fmt::join(
                                   [&] {
                                       std::vector<std::string> names;
                                       for (auto const gpu : gpus) {
                                           names.push_back(header.names[gpu]);
                                       }
                                       return names;
                                   }(),
                                   ", "),
                               gpus.size() - 1));
    }
    if (!no_numa.empty()) {
        add_notice(machine, source, "numa-unknown", lines[table.at].number,
                   fmt::format("no NUMA node is told for device {}", fmt::join(no_numa, ", ")));
    }
    if (hides_nvlink(lines, table, from, to)) {
        add_notice(machine, source, "nvlink-hidden", lines[table.at].number,
                   "this form of the table (topo -mp) never shows NVLink: pairs may have it all the same");
    }
    complete_pairs(machine);
    return machine;
}

/// A prompt or banner line right above a header belongs to its table.
int first_line(const std::vector<Line>& lines, const Table& table) {
    bool const banner = table.at > 0 && lines[table.at - 1].text.find("nvidia-smi") != std::string::npos;
    return lines[table.at - (banner ? 1 : 0)].number;
}

}  // namespace

bool is_topo_matrix(std::string_view text) {
    if (text.find("GPU") == std::string_view::npos && text.find("gpu") == std::string_view::npos) {
        return false;
    }
    LineScanner scanner(text);
    std::optional<TopoHeader> header;
    bool maybe = false;
    for (Line line; scanner.next(line);) {
        if (line.blank()) {
            continue;
        }
        if (auto next = topo_header(line.text)) {
            maybe = maybe || !next->tail.empty();
            header = std::move(next);
            continue;
        }
        if (!header) {
            continue;
        }
        auto const parts = words(line.text);
        if (header->column(parts[0]) < 0) {
            header.reset();
            continue;
        }
        for (std::size_t i = 1; i < parts.size(); ++i) {
            if (is_p2p_word(parts[i])) {
                return false;
            }
            auto const cell = topo_cell(parts[i]);
            if (cell && !cell->self) {
                return true;
            }
            maybe = maybe || cell;
        }
    }
    return maybe;
}

Machine read_topo_matrix(const Source& source) {
    auto const lines = plain_lines(source);
    auto const tables = find_tables(lines);
    if (tables.empty()) {
        refuse(source, 0, "no header of a topology matrix");
    }
    std::optional<Machine> machine;
    std::optional<InputError> first_error;
    std::vector<Notice> others;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        auto const from = i == 0 ? 0 : tables[i - 1].end;
        auto const to = i + 1 < tables.size() ? tables[i + 1].at : lines.size();
        auto const file = std::string(source.name);
        try {
            auto next = read_table(source, lines, tables[i], from, to);
            if (!machine) {
                machine = std::move(next);
                if (i > 0) {
                    others.push_back({"two-tables", file, first_line(lines, tables[i]),
                                      fmt::format("the first complete table begins at line {}: read from there",
                                                  first_line(lines, tables[i]))});
                }
            } else {
                others.push_back(
                    {"two-tables", file, first_line(lines, tables[i]),
                     fmt::format("another table begins at line {}: not used", first_line(lines, tables[i]))});
            }
        } catch (const InputError& error) {
            if (machine) {
                others.push_back(
                    {"two-tables", file, first_line(lines, tables[i]),
                     fmt::format("another table begins at line {}: not used", first_line(lines, tables[i]))});
            }
            others.push_back({"truncated", file, error.line(),
                              fmt::format("a table is not whole, line {}: {}", error.line(), error.reason())});
            if (!first_error) {
                first_error = error;
            }
        }
    }
    if (!machine) {
        throw *first_error;
    }
    machine->notices.insert(machine->notices.end(), others.begin(), others.end());
    return std::move(*machine);
}

}  // namespace peerlane::read
