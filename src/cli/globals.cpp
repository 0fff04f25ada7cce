#include "cli/globals.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/machine.hpp>

#include "cli/command.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

constexpr std::array<const char*, 9> format_words{"table", "json",     "markdown", "tree", "dot",
                                                  "svg",   "nccl-xml", "csv",      "html"};

Format understand_format(const std::string& word, const std::string& command, const std::vector<Format>& formats) {
    for (auto const format : formats) {
        if (word == to_string(format)) {
            return format;
        }
    }
    std::vector<std::string> known;
    for (auto const format : formats) {
        known.emplace_back(to_string(format));
    }
    throw UsageError(fmt::format("{} has no --format \"{}\"; it has {}", command, word, fmt::join(known, ", ")));
}

Color understand_color(const std::string& word) {
    if (word == "auto") {
        return Color::automatic;
    }
    if (word == "always") {
        return Color::always;
    }
    if (word == "never") {
        return Color::never;
    }
    throw UsageError(fmt::format("--color \"{}\": auto, always or never", word));
}

std::vector<int> understand_devices(const std::vector<std::string>& words) {
    std::vector<int> devices;
    for (auto const& word : words) {
        std::size_t at = 0;
        while (at <= word.size()) {
            auto const comma = std::min(word.find(',', at), word.size());
            devices.push_back(static_cast<int>(whole_number("-i", word.substr(at, comma - at), 0, most_devices - 1)));
            at = comma + 1;
        }
    }
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    return devices;
}

}  // namespace

const char* to_string(Format format) {
    return format_words.at(static_cast<std::size_t>(format));
}

std::uint64_t whole_number(const std::string& option, const std::string& word, std::uint64_t least,
                           std::uint64_t most) {
    std::uint64_t value = 0;
    auto const [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || rest != word.data() + word.size() || value < least || value > most) {
        throw UsageError(fmt::format("{} \"{}\": a whole number from {} to {} is needed", option, word, least, most));
    }
    return value;
}

Globals understand(const Given& given, const std::string& command, const std::vector<Format>& formats) {
    Globals globals;
    globals.machines = given.all("--machine");
    globals.fabric = given.one("--fabric").value_or("");
    globals.save = given.one("--save").value_or("");
    globals.devices = understand_devices(given.all("-i"));
    globals.format = formats.empty() ? Format::table : formats.front();
    if (auto const word = given.one("--format")) {
        globals.format = understand_format(*word, command, formats);
    }
    if (auto const word = given.one("--color")) {
        globals.color = understand_color(*word);
    }
    if (auto const word = given.one("--seed")) {
        globals.seed = whole_number("--seed", *word, 0, ~std::uint64_t{0});
    }
    for (auto const& spec : given.all("--fault")) {
        try {
            globals.faults.push_back(parse_fault(spec));
        } catch (const std::invalid_argument& error) {
            throw UsageError(error.what());
        }
    }
    if (given.has("--save") && globals.save.empty()) {
        throw UsageError("--save needs the name of a file");
    }
    if (!globals.simulated()) {
        for (auto const* const option : {"--fault", "--fabric"}) {
            if (given.has(option)) {
                throw UsageError(fmt::format(
                    "{} is for simulated machines: name one with --machine (see peerlane topo --list)", option));
            }
        }
    }
    return globals;
}

}  // namespace peerlane::cli
