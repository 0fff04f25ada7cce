#include <peerlane/units.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace peerlane {
namespace {

struct Unit {
    std::string_view word;
    double factor;
};

/// Splits "1.5GiB" into 1.5 and "GiB"; one blank may stand between.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
    double value = 0;
    auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(value)) {
        return std::nullopt;
    }
    auto unit = text.substr(static_cast<std::size_t>(rest - text.data()));
    if (!unit.empty() && unit.front() == ' ') {
        unit.remove_prefix(1);
    }
    return std::pair{value, unit};
}

template <std::size_t N>
std::optional<double> with_units(std::string_view text, const std::array<Unit, N>& units) {
    auto const parts = number_and_unit(text);
    if (!parts || parts->first < 0) {
        return std::nullopt;
    }
    for (auto const& unit : units) {
        if (unit.word == parts->second) {
            return parts->first * unit.factor;
        }
    }
    return std::nullopt;
}

constexpr std::array<Unit, 15> size_units{{{"", 1},
                                           {"B", 1},
                                           {"KiB", 1024.0},
                                           {"K", 1024.0},
                                           {"MiB", 1048576.0},
                                           {"M", 1048576.0},
                                           {"GiB", 1073741824.0},
                                           {"G", 1073741824.0},
                                           {"TiB", 1099511627776.0},
                                           {"T", 1099511627776.0},
                                           {"kB", 1e3},
                                           {"KB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12}}};

std::string size_with(std::uint64_t bytes, const char* blank) {
    constexpr std::array<std::pair<std::uint64_t, const char*>, 3> units{{{GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}}};
    for (auto const& [factor, name] : units) {
        if (bytes != 0 && bytes % factor == 0) {
            return fmt::format("{}{}{}", bytes / factor, blank, name);
        }
    }
    return fmt::format("{}{}B", bytes, blank);
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t whole = 0;  // exact for every 64-bit number, which a double is not
    auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (error == std::errc{} && rest == text.data() + text.size()) {
        return whole;
    }
    auto const bytes = with_units(text, size_units);
    if (!bytes || *bytes >= 9.2e18 || *bytes != std::floor(*bytes)) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(*bytes);
}

std::string size_text(std::uint64_t bytes) {
    return size_with(bytes, " ");
}
std::string size_word(std::uint64_t bytes) {
    return size_with(bytes, "");
}

std::optional<double> parse_seconds(std::string_view text) {
    constexpr std::array<Unit, 5> units{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}}};
    return with_units(text, units);
}

std::string seconds_text(double seconds) {
    constexpr std::array<Unit, 4> units{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
    auto const magnitude = std::abs(seconds);
    for (auto const& unit : units) {
        if (magnitude >= unit.factor * 0.9995 || unit.factor == 1e-9) {
            auto const value = seconds / unit.factor;
            auto const digits = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
            return fmt::format("{:.{}f} {}", value, digits, unit.word);
        }
    }
    return "0 s";
}

std::optional<double> parse_rate_gbs(std::string_view text) {
    constexpr std::array<Unit, 3> units{{{"GB/s", 1}, {"MB/s", 1e-3}, {"TB/s", 1e3}}};
    return with_units(text, units);
}

std::string gbs_text(double gbs) {
    auto const digits = gbs >= 99.95 ? 1 : gbs >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f}", gbs, digits);
}

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

}  // namespace peerlane
