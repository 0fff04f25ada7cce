#include "plan/table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace peerlane::plan {
namespace {

constexpr std::uint64_t least_bytes = 256, most_bytes = std::uint64_t{64} << 30;
/// Halvings of an octave: for the share and the chunk of one kind of plan, and for the size where one kind gives way to
/// another. A share that fits the begin of a quarter of an octave is at most a fifth too small at its end.
constexpr int share_depth = 2, kind_depth = 5;

Choice row_of(const Scorer& scorer, const std::vector<Lane>& lanes, std::uint64_t bytes) {
    Choice choice;
    choice.bytes = bytes;
    auto const decision = decide(scorer, lanes, bytes);
    if (auto const* const best = decision.best()) {
        choice.routes = best->routes;
        choice.predicted_s = best->seconds;
        choice.predicted_gbs = static_cast<double>(bytes) / best->seconds / 1e9;
    }
    return choice;
}

bool straight(const Choice& choice) {
    return choice.routes.empty() || (choice.routes.size() == 1 && choice.routes[0].legs.size() == 1);
}

}  // namespace

int Table::leading_zeros(std::uint64_t bytes) {
    return std::countl_zero(bytes);
}

struct Table::Builder {
    const Scorer& scorer;
    const std::vector<Lane>& lanes;
    std::vector<Choice>& rows;

    void between(const Choice& low, const Choice& high, int depth) {
        auto const same = alike(low.routes, high.routes);
        if ((same && straight(low)) || depth >= (same ? share_depth : kind_depth)) {
            return;
        }
        auto middle =
            static_cast<std::uint64_t>(std::sqrt(static_cast<double>(low.bytes) * static_cast<double>(high.bytes)));
        // Sizes that people can read, as near as a 64th.
        middle -= middle % std::max<std::uint64_t>(1, std::bit_floor(middle) / 64);
        if (middle <= low.bytes || middle >= high.bytes) {
            return;
        }
        auto const choice = row_of(scorer, lanes, middle);
        between(low, choice, depth + 1);
        rows.push_back(choice);
        between(choice, high, depth + 1);
    }
};

Table::Table(const Scorer& scorer, const std::vector<Lane>& lanes) {
    std::vector<Choice> all{row_of(scorer, lanes, least_bytes)};
    Builder builder{scorer, lanes, all};
    for (auto bytes = least_bytes; bytes < most_bytes; bytes *= 2) {
        auto const low = all.back();
        auto const high = row_of(scorer, lanes, bytes * 2);
        builder.between(low, high, 0);
        all.push_back(high);
    }
    all.front().bytes = 1;
    for (auto& row : all) {
        if (rows_.empty() || rows_.back().routes != row.routes) {
            rows_.push_back(std::move(row));
        }
    }
    for (std::size_t width = 1; width < first_.size(); ++width) {
        auto const lowest = std::uint64_t{1} << (width - 1);
        while (first_[width] + 1 < rows_.size() && rows_[first_[width] + 1].bytes <= lowest) {
            ++first_[width];
        }
        if (width + 1 < first_.size()) {
            first_[width + 1] = first_[width];
        }
    }
}

}  // namespace peerlane::plan
