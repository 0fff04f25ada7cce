#include "machine/read/topo_p2p.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "machine/read/text.hpp"
#include "machine/read/topo_table.hpp"

namespace peerlane::read {
namespace {

struct P2pTable {
    char option = 0;  ///< r, w, n, a, p; 0 when the text does not say
    int line = 0;     ///< of the header
    std::size_t at = 0, end = 0;
    std::vector<std::vector<std::string>> rows;  ///< by device
    std::string fault;                           ///< empty when the table is whole
    int fault_line = 0;
    bool cut = false;  ///< the fault is a missing end, not a wrong cell
};

/// The device ids of a header line, empty when it is none. NICs do not occur in these tables.
std::vector<int> header_ids(const Line& line) {
    if (line.text.size() > 65536) {
        return {};
    }
    std::vector<int> ids;
    for (auto const word : words(line.text)) {
        auto const id = gpu_number(word);
        if (!id || *id >= most_devices) {
            return {};
        }
        ids.push_back(*id);
    }
    return ids;
}

/// Letter of "nvidia-smi topo -p2p r" or "--p2p_status w"; 0 when the line is no such command.
char option_of(std::string_view line) {
    auto const parts = words(line);
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        if (same_word(parts[i], "-p2p") || same_word(parts[i], "--p2p_status")) {
            auto const letter = parts[i + 1].substr(0, 1);
            auto const rest = parts[i + 1].substr(1);
            if ((letter == "r" || letter == "w" || letter == "n" || letter == "a" || letter == "p") &&
                (rest.empty() || rest[0] == ';' || rest[0] == '`' || rest == ":" || rest == "'" || rest == "\"")) {
                return letter[0];
            }
        }
    }
    return 0;
}

bool is_p2p_row(const Line& line) {
    auto const parts = words(line.text);
    return parts.size() > 1 && gpu_number(parts[0]) && (parts[1] == "X" || is_p2p_word(parts[1]));
}

void set_fault(P2pTable& table, int line, std::string fault, bool cut) {
    if (table.fault.empty()) {
        table.fault = std::move(fault);
        table.fault_line = line;
        table.cut = cut;
    }
}

void read_row(P2pTable& table, const std::vector<int>& columns, const Line& line) {
    auto const parts = words(line.text);
    auto const id = *gpu_number(parts[0]);
    auto const place = std::find(columns.begin(), columns.end(), id);
    if (place == columns.end()) {
        set_fault(table, line.number, fmt::format("row GPU{} has no column in the header", id), false);
        return;
    }
    auto const own = static_cast<std::size_t>(place - columns.begin());
    if (!table.rows[own].empty()) {
        set_fault(table, line.number, fmt::format("row GPU{} stands twice", id), false);
        return;
    }
    std::vector<std::string> cells;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        auto const column = cells.size();
        if (column >= columns.size()) {
            set_fault(table, line.number,
                      fmt::format("row GPU{} has more cells than the header has columns ({})", id, columns.size()),
                      false);
            return;
        }
        bool const self = parts[i] == "X";
        if (self != (column == own)) {
            set_fault(table, line.number, fmt::format("row GPU{} has its X in the wrong column", id), false);
            return;
        }
        if (!self && !is_p2p_word(parts[i])) {
            set_fault(table, line.number, fmt::format("unknown status \"{}\" in row GPU{}", parts[i].substr(0, 40), id),
                      false);
            return;
        }
        cells.emplace_back(parts[i]);
    }
    if (cells.size() < columns.size()) {
        set_fault(table, line.number, fmt::format("row GPU{} has {} cells of {}", id, cells.size(), columns.size()),
                  true);
    }
    table.rows[own] = std::move(cells);
}

std::vector<P2pTable> find_tables(const std::vector<Line>& lines) {
    std::vector<P2pTable> tables;
    char option = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (auto const next = option_of(lines[i].text)) {
            option = next;
            continue;
        }
        auto const columns = header_ids(lines[i]);
        if (columns.empty()) {
            continue;
        }
        P2pTable table;
        table.option = option;
        table.line = lines[i].number;
        table.at = i;
        table.rows.resize(columns.size());
        for (std::size_t c = 0; c < columns.size(); ++c) {
            if (columns[c] != static_cast<int>(c)) {
                set_fault(table, lines[i].number, fmt::format("column GPU{} stands where GPU{} should", columns[c], c),
                          false);
            }
        }
        auto at = i + 1;
        int last_row = table.line;
        bool any = false;
        for (; at < lines.size(); ++at) {
            if (lines[at].blank() && !any) {
                continue;
            }
            if (!words(lines[at].text).empty() && gpu_number(words(lines[at].text)[0]) &&
                words(lines[at].text).size() > 1 && header_ids(lines[at]).empty()) {
                if (!is_p2p_row(lines[at]) && !any) {
                    break;  // the rows of another kind of table
                }
                read_row(table, columns, lines[at]);
                any = true;
                last_row = lines[at].number;
            } else if (!lines[at].blank() || header_ids(lines[at]).size() > 0) {
                break;
            }
        }
        if (!any) {
            continue;
        }
        for (std::size_t row = 0; row < table.rows.size(); ++row) {
            if (table.rows[row].empty()) {
                set_fault(table, last_row, fmt::format("row GPU{} is missing", row), true);
            }
        }
        table.end = at;
        i = at - 1;
        option = 0;
        tables.push_back(std::move(table));
    }
    return tables;
}

bool all_not_supported(const P2pTable& table) {
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        for (std::size_t column = 0; column < table.rows.size(); ++column) {
            if (row != column && table.rows[row][column] != "NS") {
                return false;
            }
        }
    }
    return table.rows.size() > 1;
}

void apply(const Source& source, const P2pTable& table, Machine& machine) {
    auto option = table.option;
    if (option == 0) {
        option = all_not_supported(table) ? 'p' : 'r';
        add_notice(machine, source, "p2p-option-unknown", table.line,
                   option == 'p' ? "the table does not say its option; NS everywhere is what option p prints, so "
                                   "nothing is known of peer access"
                                 : "the table does not say its option; taken as the one for reading (r)");
    }
    for (auto& pair : machine.pairs) {
        auto const& word = table.rows[static_cast<std::size_t>(pair.accessor)][static_cast<std::size_t>(pair.owner)];
        auto& place = option == 'r'   ? pair.claims.read
                      : option == 'w' ? pair.claims.write
                      : option == 'n' ? pair.claims.nvlink
                      : option == 'a' ? pair.claims.atomics
                                      : pair.claims.pcie;
        place = word;
    }
}

}  // namespace

bool recognizes_topo_p2p(std::string_view text) {
    if (text.find("GPU") == std::string_view::npos) {
        return false;
    }
    LineScanner scanner(text);
    bool header = false, lone_row = false;
    for (Line line; scanner.next(line);) {
        if (line.blank()) {
            continue;
        }
        if (!header_ids(line).empty()) {
            header = true;
            continue;
        }
        if (!header) {
            continue;
        }
        auto const parts = words(line.text);
        if (gpu_number(parts[0]) && parts.size() > 1) {
            if (std::any_of(parts.begin() + 1, parts.end(), is_p2p_word)) {
                return true;
            }
            lone_row = parts.size() == 2 && parts[1] == "X";
        } else if (lone_row && contains_word(line.text, "status ok")) {
            return true;
        } else if (!lone_row) {
            header = false;
        }
    }
    return false;
}

Machine read_topo_p2p(const Source& source) {
    auto const lines = plain_lines(source);
    auto const tables = find_tables(lines);
    Machine machine;
    std::map<char, bool> used;
    std::size_t size = 0;
    for (auto const& table : tables) {
        if (!table.fault.empty() && (!table.cut || tables.size() == 1)) {
            refuse(source, table.fault_line, table.fault);
        }
        if (!table.fault.empty()) {
            add_notice(machine, source, "truncated", table.fault_line, "this table is cut: " + table.fault);
            continue;
        }
        if (size == 0) {
            size = table.rows.size();
            for (int id = 0; id < static_cast<int>(size); ++id) {
                machine.devices.push_back({.id = id});
            }
            complete_pairs(machine);
        }
        if (table.rows.size() != size || used[table.option]) {
            add_notice(machine, source, "two-tables", table.line, "another table follows; the first is used");
            continue;
        }
        used[table.option] = true;
        apply(source, table, machine);
        note_wrapping(lines, table.at, table.end, source, machine);
    }
    if (size == 0) {
        refuse(source, tables.empty() ? 0 : tables[0].fault_line,
               tables.empty() ? "no table of status words" : tables[0].fault);
    }
    for (auto& pair : machine.pairs) {
        // A kernel's store needs the write answer, a load the read answer: peer access as a whole needs both where both
        // are told.
        if (pair.claims.read || pair.claims.write) {
            pair.claim = pair.claims.read.value_or("OK") == "OK" && pair.claims.write.value_or("OK") == "OK";
        }
    }
    return machine;
}

}  // namespace peerlane::read
