#pragma once
/// Sizes, rates and times: parsed from and printed for people. GB/s = 1e9 bytes per second.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peerlane {

inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

inline namespace literals {
constexpr std::uint64_t operator""_KiB(unsigned long long n) {
    return n * KiB;
}
constexpr std::uint64_t operator""_MiB(unsigned long long n) {
    return n * MiB;
}
constexpr std::uint64_t operator""_GiB(unsigned long long n) {
    return n * GiB;
}
}  // namespace literals

/// Bytes of "4096", "4KiB", "1.5GiB", "2M" (= MiB), "1MB" (decimal). Empty when it is no size, negative, or no whole
/// number of bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);
/// Exact and short: "4096" -> "4 KiB", "5000" -> "5000 B".
std::string size_text(std::uint64_t bytes);
/// The same without the blank, as the fault notation and the command line write it: "512KiB".
std::string size_word(std::uint64_t bytes);
/// Seconds of "49ms", "2us", "1.5s", "10ns". Empty when it is no time.
std::optional<double> parse_seconds(std::string_view text);
/// Three significant digits and a readable unit: "2.71 us".
std::string seconds_text(double seconds);
/// Bytes per second of "9.9GB/s" as GB/s.
std::optional<double> parse_rate_gbs(std::string_view text);
/// "396.7", three or four significant digits.
std::string gbs_text(double gbs);
/// A finite decimal number, the whole text. No locale.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace peerlane
