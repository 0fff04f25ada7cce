#include <peerlane/simulation.hpp>

namespace peerlane {

const char* to_string(Strategy strategy) {
    switch (strategy) {
        case Strategy::driver:
            return "driver";
        case Strategy::library:
            return "library";
        case Strategy::peerlane:
            return "peerlane";
    }
    return "";
}

std::optional<Strategy> parse_strategy(const std::string& word) {
    for (auto const strategy : {Strategy::driver, Strategy::library, Strategy::peerlane}) {
        if (word == to_string(strategy)) {
            return strategy;
        }
    }
    return std::nullopt;
}

}  // namespace peerlane
