#include "discover/files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "machine/read/text.hpp"

namespace peerlane::files {
namespace {

namespace fs = std::filesystem;

std::string_view without_ends(std::string_view text) {
    constexpr std::string_view ends(" \t\r\n\0", 5);  // some firmware pads its names with zeros
    auto const first = text.find_first_not_of(ends);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(ends) - first + 1);
}

}  // namespace

std::optional<std::string> bytes(const std::string& path, std::size_t most) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {  // a pipe or device would block
        return std::nullopt;
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return std::nullopt;
    }
    // The size that the system states for such files is a page or 0, whatever they hold: read until the end.
    std::string content;
    std::string part(std::min<std::size_t>(most, 4096), '\0');
    while (content.size() < most) {
        file.read(part.data(), static_cast<std::streamsize>(std::min(part.size(), most - content.size())));
        content.append(part, 0, static_cast<std::size_t>(file.gcount()));
        if (!file) {
            break;
        }
    }
    if (file.bad() && content.empty()) {
        return std::nullopt;
    }
    return content;
}

std::string text(const std::string& path) {
    auto const content = bytes(path);
    return content ? std::string(without_ends(*content)) : std::string();
}

std::string first_line(const std::string& path) {
    auto const content = text(path);
    return std::string(without_ends(std::string_view(content).substr(0, content.find('\n'))));
}

std::optional<std::int64_t> number(const std::string& path) {
    auto const content = text(path);
    std::string_view digits = content;
    int base = 10;
    if (digits.substr(0, 2) == "0x") {
        digits.remove_prefix(2);
        base = 16;
    }
    std::int64_t value = 0;
    auto const [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || error != std::errc{} || rest != digits.data() + digits.size()) {
        return std::nullopt;
    }
    return value;
}

std::vector<std::string> names(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        found.push_back(entry->path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

bool exists(const std::string& path) {
    std::error_code error;
    return fs::exists(path, error);
}

std::vector<std::string> real_parts(const std::string& path) {
    std::error_code error;
    auto const real = fs::canonical(path, error);
    std::vector<std::string> parts;
    if (!error) {
        for (auto const& part : real) {
            if (!part.empty() && part != "/") {
                parts.push_back(part.string());
            }
        }
    }
    return parts;
}

std::string link_name(const std::string& path) {
    std::error_code error;
    auto const target = fs::read_symlink(path, error);
    return error ? std::string() : target.filename().string();
}

std::optional<int> first_of_list(std::string_view list) {
    int value = 0;
    auto const [rest, error] = std::from_chars(list.data(), list.data() + list.size(), value);
    return error == std::errc{} && value >= 0 ? std::optional(value) : std::nullopt;
}

std::string value_of(std::string_view text, std::string_view key) {
    for (auto const line : read::cells(text, '\n')) {
        auto const rest = line.substr(std::min(key.size(), line.size()));
        // "cpu" must not answer for "cpu MHz": what follows a key is blanks and a separator, or blanks alone.
        if (line.substr(0, key.size()) != key || (!rest.empty() && rest.find_first_of(" \t:=") != 0)) {
            continue;
        }
        auto value = read::trimmed(rest);
        if (!value.empty() && (value.front() == ':' || value.front() == '=')) {
            value = read::trimmed(value.substr(1));
        }
        return std::string(value);
    }
    return {};
}

}  // namespace peerlane::files
