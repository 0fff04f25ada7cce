#include "advise/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace peerlane::advising {
namespace {

constexpr double most_sets = 50'000;
constexpr std::size_t most_permuted = 8;

/// Rates within a tenth are the same: one run of one size says no more.
int step_of(double gbs) {
    return gbs <= 0 ? std::numeric_limits<int>::min() / 1024
                    : static_cast<int>(std::lround(std::log(gbs) / std::log(1.1)));
}

/// Smaller is better.
struct Cost {
    std::array<int, 4> bad{};  ///< pairs that are cut off, wrong, part, without peer access
    int slowest = 0;           ///< negated step
    long sum = 0;              ///< negated steps
    auto operator<=>(const Cost&) const = default;
};

void add(Cost& cost, const Neighbours& pair) {
    switch (pair.standing) {
        case Standing::cut_off:
            ++cost.bad[0];
            break;
        case Standing::wrong:
            ++cost.bad[1];
            break;
        case Standing::part:
            ++cost.bad[2];
            break;
        case Standing::no_peer:
            ++cost.bad[3];
            break;
        case Standing::right:
            break;
    }
    auto const step = -step_of(pair.gbs);
    cost.slowest = std::max(cost.slowest, step);
    cost.sum += step;
}

Cost nothing() {
    Cost cost;
    cost.slowest = std::numeric_limits<int>::min();
    return cost;
}

Cost cost_of(const Matrix& matrix, const std::vector<int>& devices) {
    auto cost = nothing();
    for (std::size_t i = 0; i < devices.size(); ++i) {
        for (std::size_t j = i + 1; j < devices.size(); ++j) {
            add(cost, matrix.of(devices[i], devices[j]));
        }
    }
    return cost;
}

double sets(int of, int take) {
    double number = 1;
    for (int i = 0; i < take; ++i) {
        number = number * (of - i) / (i + 1);
    }
    return number;
}

std::vector<int> best_of_all(const Matrix& matrix, int count) {
    std::vector<int> devices(static_cast<std::size_t>(count));
    std::iota(devices.begin(), devices.end(), 0);
    auto best = devices;
    auto cost = cost_of(matrix, best);
    for (;;) {  // sets in rising order, so that the first of equals has the lowest numbers
        int at = count - 1;
        while (at >= 0 && devices[static_cast<std::size_t>(at)] == matrix.devices() - count + at) {
            --at;
        }
        if (at < 0) {
            return best;
        }
        ++devices[static_cast<std::size_t>(at)];
        for (int i = at + 1; i < count; ++i) {
            devices[static_cast<std::size_t>(i)] = devices[static_cast<std::size_t>(i) - 1] + 1;
        }
        if (auto const other = cost_of(matrix, devices); other < cost) {
            cost = other;
            best = devices;
        }
    }
}

std::vector<int> best_grown(const Matrix& matrix, int count) {
    std::optional<std::pair<Cost, std::vector<int>>> best;
    for (int first = 0; first < matrix.devices(); ++first) {
        std::vector<int> devices{first};
        while (static_cast<int>(devices.size()) < count) {
            std::optional<std::pair<Cost, int>> next;
            for (int other = 0; other < matrix.devices(); ++other) {
                if (std::find(devices.begin(), devices.end(), other) != devices.end()) {
                    continue;
                }
                auto cost = nothing();
                for (auto const device : devices) {
                    add(cost, matrix.of(device, other));
                }
                if (!next || std::pair(cost, other) < *next) {
                    next = {cost, other};
                }
            }
            devices.push_back(next->second);
        }
        std::sort(devices.begin(), devices.end());
        std::pair const found(cost_of(matrix, devices), devices);
        if (!best || found < *best) {
            best = found;
        }
    }
    return best->second;
}

/// Of neighbours in the ring.
Cost ring_cost(const Matrix& matrix, const std::vector<int>& ring) {
    auto cost = nothing();
    for (std::size_t i = 0; i < ring.size(); ++i) {
        add(cost, matrix.of(ring[i], ring[(i + 1) % ring.size()]));
    }
    return cost;
}

}  // namespace

Matrix::Matrix(std::vector<Neighbours> pairs, int devices) : pairs_(std::move(pairs)), devices_(devices) {}

const Neighbours& Matrix::of(int a, int b) const {
    auto const low = std::min(a, b), high = std::max(a, b);
    auto const row = low * devices_ - low * (low + 1) / 2;  // pairs before those of the row
    return pairs_[static_cast<std::size_t>(row + high - low - 1)];
}

std::vector<int> choose_devices(const Matrix& matrix, int count) {
    if (count <= 0) {
        return {};
    }
    return sets(matrix.devices(), count) <= most_sets ? best_of_all(matrix, count) : best_grown(matrix, count);
}

std::vector<int> order_devices(const Matrix& matrix, std::vector<int> devices) {
    if (devices.size() < 4) {  // every order is the same ring
        return devices;
    }
    if (devices.size() > most_permuted) {
        for (std::size_t i = 0; i + 1 < devices.size(); ++i) {
            auto const nearer = [&](int x, int y) {
                auto cost_x = nothing(), cost_y = nothing();
                add(cost_x, matrix.of(devices[i], x));
                add(cost_y, matrix.of(devices[i], y));
                return std::pair(cost_x, x) < std::pair(cost_y, y);
            };
            auto const from = devices.begin() + static_cast<std::ptrdiff_t>(i) + 1;
            auto const next = std::min_element(from, devices.end(), nearer);
            std::rotate(from, next, next + 1);
        }
        return devices;
    }
    auto best = devices;
    auto cost = ring_cost(matrix, devices);
    while (std::next_permutation(devices.begin() + 1, devices.end())) {
        if (auto const other = ring_cost(matrix, devices); other < cost) {
            cost = other;
            best = devices;
        }
    }
    return best;
}

int most_without_trouble(const Matrix& matrix, int at_most) {
    for (int count = at_most; count > 1; --count) {
        auto const bad = cost_of(matrix, choose_devices(matrix, count)).bad;
        if (bad[0] + bad[1] + bad[2] == 0) {
            return count;
        }
    }
    return 1;
}

}  // namespace peerlane::advising
