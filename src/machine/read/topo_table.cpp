#include "machine/read/topo_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace peerlane::read {
namespace {

/// Column of a byte of the line when tabs are expanded to multiples of eight.
std::size_t display_column(std::string_view line, std::size_t offset) {
    std::size_t column = 0;
    for (std::size_t i = 0; i < offset; ++i) {
        column = line[i] == '\t' ? (column / 8 + 1) * 8 : column + 1;
    }
    return column;
}

bool is_name(std::string_view word) {
    bool const digit = std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    bool const letter = !word.empty() && ((word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z'));
    return digit && letter && word.size() <= 64 && word.find_first_of("=()[]{},;\"'") == std::string_view::npos &&
           !topo_cell(word);
}

/// "0-31,64-95" and the like; "N/A" is none.
bool is_number_list(std::string_view word) {
    return !word.empty() && word.find_first_not_of("0123456789,-") == std::string_view::npos && word[0] >= '0' &&
           word[0] <= '9';
}

struct Word {
    std::string text;
    std::size_t offset = 0;  ///< in the line
};

/// Words after the matrix; a list that somebody broke after a comma is one word again.
std::vector<Word> tail_words(std::string_view line, std::size_t from) {
    std::vector<Word> result;
    for (auto const word : words(line.substr(from))) {
        auto const offset = static_cast<std::size_t>(word.data() - line.data());
        if (!result.empty() && result.back().text.back() == ',' && is_number_list(word)) {
            result.back().text += word;
        } else {
            result.push_back({std::string(word), offset});
        }
    }
    return result;
}

/// Which of `count` columns each word belongs to when some cells are empty. The tool always prints the NUMA cells, so
/// an empty CPU cell is the common case; tabs, Markdown borders and positions decide the others.
std::vector<std::size_t> place_tail(const Line& line, std::size_t from, const std::vector<Word>& found,
                                    const TopoHeader& header) {
    auto const count = header.tail.size();
    std::vector<std::size_t> place;
    for (std::size_t i = 0; i < found.size(); ++i) {
        place.push_back(i);
    }
    if (found.size() >= count || found.empty()) {
        return place;
    }
    std::string_view const text = line.text;
    auto const tail = text.substr(from);
    if (line.markdown) {
        std::size_t column = 0;
        auto const parts =
            cells(tail.substr(tail.find('\t') == std::string_view::npos ? 0 : tail.find('\t') + 1), '\t');
        place.clear();
        for (auto const part : parts) {
            if (!part.empty()) {
                place.push_back(std::min(column, count - 1));
            }
            ++column;
        }
        return place.size() == found.size() ? place : std::vector<std::size_t>(found.size(), 0);
    }
    bool const first_is_list = is_number_list(found[0].text) && found[0].text.find_first_of(",-") != std::string::npos;
    bool first_is_cpu = first_is_list;
    if (auto const tab = tail.find('\t'); tab != std::string_view::npos) {
        auto const next = tail.find('\t', tab + 1);
        first_is_cpu = !trimmed(tail.substr(tab + 1, next == std::string_view::npos ? next : next - tab - 1)).empty();
    } else if (!first_is_list && header.tail_at.size() == count) {
        auto const column = display_column(text, found[0].offset);
        first_is_cpu = found[0].text != "N/A" && column < header.tail_at[0] + 8 && found.size() + 1 != count;
    }
    auto const missing = count - found.size();
    for (std::size_t i = 0; i < found.size(); ++i) {
        place[i] = first_is_cpu ? i : i + missing;
    }
    return place;
}

}  // namespace

int TopoHeader::column(std::string_view name) const {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (same_word(names[i], name)) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

std::optional<int> gpu_number(std::string_view word) {
    return word.size() > 3 && same_word(word.substr(0, 3), "GPU") ? small_number(word.substr(3)) : std::nullopt;
}

std::optional<TopoCell> topo_cell(std::string_view word) {
    if (same_word(word, "X")) {
        return TopoCell{.self = true};
    }
    if (word.size() > 2 && same_word(word.substr(0, 2), "NV")) {
        auto const links = small_number(word.substr(2));
        return links && *links > 0 && *links <= 1000 ? std::optional(TopoCell{.path = PathClass::nv, .nvlinks = links})
                                                     : std::nullopt;
    }
    auto const path = word.size() <= 4 ? parse_path_class(std::string(word)) : std::nullopt;
    if (!path || *path == PathClass::nv || *path == PathClass::unknown) {
        return std::nullopt;
    }
    return TopoCell{.path = *path};
}

bool is_p2p_word(std::string_view word) {
    return word == "OK" || word == "CNS" || word == "GNS" || word == "TNS" || word == "NS" || word == "DR" ||
           word == "U";
}

std::optional<TopoHeader> topo_header(std::string_view line) {
    if (!contains_word(line, "gpu")) {
        return std::nullopt;
    }
    TopoHeader header;
    auto const parts = words(line);
    bool in_tail = false, gpu = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        auto const next = i + 1 < parts.size() ? parts[i + 1] : std::string_view{};
        std::optional<TailColumn> tail;
        std::size_t used = 1;
        if (same_word(parts[i], "CPU") && same_word(next, "Affinity")) {
            tail = TailColumn::cpu;
            used = 2;
        } else if (same_word(parts[i], "NUMA") && same_word(next, "Affinity")) {
            tail = TailColumn::numa;
            used = 2;
        } else if (same_word(parts[i], "GPU") && same_word(next, "NUMA")) {
            tail = TailColumn::memory_numa;
            used = i + 2 < parts.size() && same_word(parts[i + 2], "ID") ? 3 : 2;
        }
        if (tail) {
            in_tail = true;
            header.tail.push_back(*tail);
            header.tail_at.push_back(display_column(line, static_cast<std::size_t>(parts[i].data() - line.data())));
            i += used - 1;
        } else if (in_tail || !is_name(parts[i])) {
            return std::nullopt;
        } else {
            gpu = gpu || gpu_number(parts[i]).has_value();
            header.names.emplace_back(parts[i]);
        }
    }
    return gpu ? std::optional(header) : std::nullopt;
}

std::optional<TopoRow> topo_row(const Line& line, const TopoHeader& header) {
    std::string_view const text = line.text;
    auto const parts = words(text);
    if (parts.empty()) {
        return std::nullopt;
    }
    auto label = parts[0];
    if (label.back() == ':') {
        label.remove_suffix(1);
    }
    TopoRow row;
    row.column = header.column(label);
    row.line = line.number;
    if (row.column < 0) {
        return std::nullopt;
    }
    std::size_t at = 1;
    while (at < parts.size() && row.cells.size() < header.names.size()) {
        auto const cell = topo_cell(parts[at]);
        if (!cell) {
            break;
        }
        row.cells.push_back(*cell);
        ++at;
    }
    if (at < parts.size()) {
        row.stop = parts[at];
        row.stop_is_cell = topo_cell(parts[at]).has_value();
    }
    auto const& last = parts[at - 1];
    auto const from = static_cast<std::size_t>(last.data() - text.data()) + last.size();
    auto const found = tail_words(text, from);
    row.tail_words = found.size();
    row.tail.resize(header.tail.size());
    auto const place = place_tail(line, from, found, header);
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (place[i] < row.tail.size() && !same_word(found[i].text, "N/A")) {
            row.tail[place[i]] = found[i].text;
        }
    }
    return row;
}

std::string cell_text(const TopoCell& cell) {
    if (cell.self) {
        return "X";
    }
    return cell.nvlinks ? fmt::format("NV{}", *cell.nvlinks) : to_string(cell.path);
}

}  // namespace peerlane::read
