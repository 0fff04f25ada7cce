#include "table.hpp"

#include <algorithm>
#include <cmath>

#include <peerlane/named.hpp>

#include "play.hpp"

namespace peerlane::validation {

double Cell::error() const {
    return ours < low ? ours / low - 1.0 : ours > high ? ours / high - 1.0 : 0.0;
}

void fill(Table& table, bool by_default) {
    if (table.cells.empty()) {
        return;
    }
    auto const named = load_machine(table.machine);
    auto const driver = open_for(by_default ? SimulatedMachine(named.machine()) : named, table.access);
    for (auto& cell : table.cells) {
        cell.ours = cell.play(*driver);
    }
}

Errors errors(const Table& table) {
    Errors result;
    std::vector<double> sizes;
    for (auto const& cell : table.cells) {
        if (!cell.counts()) {
            ++(cell.fitted ? result.fitted : result.left_out);
            continue;
        }
        auto const size = std::abs(cell.error());
        sizes.push_back(size);
        if (result.worst_cell == nullptr || size > result.worst) {
            result.worst = size;
            result.worst_cell = &cell;
        }
    }
    result.counted = sizes.size();
    if (!sizes.empty()) {
        std::sort(sizes.begin(), sizes.end());
        auto const half = sizes.size() / 2;
        result.median = sizes.size() % 2 == 1 ? sizes[half] : (sizes[half - 1] + sizes[half]) / 2;
    }
    return result;
}

bool keeps(const Table& table) {
    auto const result = errors(table);
    return (table.median_bound == 0 || result.median <= table.median_bound) &&
           (table.worst_bound == 0 || result.worst <= table.worst_bound);
}

}  // namespace peerlane::validation
