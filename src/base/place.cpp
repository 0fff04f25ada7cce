#include <peerlane/place.hpp>

#include <charconv>

#include <fmt/format.h>

namespace peerlane {
namespace {

std::optional<int> whole_number(std::string_view text) {
    int value = 0;
    auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size() || value < 0) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::optional<Place> parse_place(std::string_view text) {
    if (text == "host") {
        return host();
    }
    auto const on_host = text.substr(0, 5) == "host:";
    text.remove_prefix(on_host ? 5 : text.substr(0, 3) == "gpu" ? 3 : 0);
    auto const index = whole_number(text);
    if (!index) {
        return std::nullopt;
    }
    return on_host ? host(*index) : gpu(*index);
}

std::string to_string(Place place) {
    if (place.is_device()) {
        return fmt::format("gpu{}", place.index);
    }
    return place.index == Place::any ? "host" : fmt::format("host:{}", place.index);
}

}  // namespace peerlane
