#include <peerlane/named.hpp>

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/merge.hpp>

#include "machine/read/grammar.hpp"
#include "machine/read/own_json.hpp"
#include "machine/read/reader.hpp"
#include "named/embedded.hpp"

namespace peerlane {
namespace {

/// What a source says first: up to its first full stop.
std::string first_sentence(const std::string& text) {
    auto const end = text.find(". ");
    return text.substr(0, end == std::string::npos ? text.size() : end);
}

const named::Embedded* embedded(std::string_view name) {
    auto const table = named::embedded_machines();
    auto const* const end = table.entries + table.count;
    auto const* const found =
        std::find_if(table.entries, end, [name](const named::Embedded& entry) { return name == entry.name; });
    return found == end ? nullptr : found;
}

/// Steps of inserting, deleting or replacing one character that turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            auto const replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
        }
    }
    return row[b.size()];
}

struct Text {
    std::string name;
    std::string text;
};

Text text_of(const std::string& name_or_path) {
    if (auto const* const found = embedded(name_or_path)) {
        return {found->name, found->document};
    }
    return {name_or_path == "-" ? "standard input" : name_or_path, read_input(name_or_path)};
}

struct Part {
    Machine machine;
    Text text;
};

Part read_part(const std::string& name_or_path) {
    if (read::is_grammar(name_or_path)) {
        return {read::read_grammar(name_or_path), {}};
    }
    auto text = text_of(name_or_path);
    auto machine = read::read_machine({text.name, text.text});
    if (embedded(name_or_path) != nullptr) {
        machine.origin.files.clear();
    }
    return {std::move(machine), std::move(text)};
}

bool tells_of_simulation(const Text& text) {
    return text.text.find("\"simulation\"") != std::string::npos && read::is_own_json(text.text);
}

}  // namespace

const std::vector<NamedMachine>& named_machines() {
    static const auto machines = [] {
        std::vector<NamedMachine> all;
        auto const table = named::embedded_machines();
        for (std::size_t i = 0; i < table.count; ++i) {
            auto const& entry = table.entries[i];
            auto const machine = read::read_machine({entry.name, entry.document});
            all.push_back({entry.name, first_sentence(machine.origin.source), static_cast<int>(machine.devices.size()),
                           entry.document});
        }
        return all;
    }();
    return machines;
}

NoSuchMachine::NoSuchMachine(const std::string& asked, std::vector<std::string> similar)
    : std::runtime_error(fmt::format("no file and no named machine \"{}\"{}{}", asked,
                                     similar.empty() ? "" : "; similar: ", fmt::join(similar, ", "))),
      asked_(asked),
      similar_(std::move(similar)) {}

std::vector<std::string> similar_words(std::string_view word, const std::vector<std::string>& known) {
    constexpr std::size_t most = 3;
    auto const bound = std::max<std::size_t>(1, word.size() / 3);
    std::vector<std::pair<std::size_t, std::string>> near;
    for (auto const& other : known) {
        auto const steps = word.size() > 256 ? word.size() : distance(word, other);
        bool const part = word.size() >= 3 && other.find(word) != std::string::npos;
        if (steps <= bound || part) {
            near.emplace_back(part ? 0 : steps, other);
        }
    }
    std::sort(near.begin(), near.end());
    std::vector<std::string> words;
    for (auto const& entry : near) {
        if (words.size() < most) {
            words.push_back(entry.second);
        }
    }
    return words;
}

SimulatedMachine load_machine(const std::string& name_or_path) {
    return load_machines({name_or_path});
}

SimulatedMachine load_machines(const std::vector<std::string>& names_or_paths, const std::string& fabric) {
    std::vector<Machine> machines;
    std::optional<Text> figures;
    for (auto const& name_or_path : names_or_paths) {
        auto part = read_part(name_or_path);
        machines.push_back(std::move(part.machine));
        if (!figures && tells_of_simulation(part.text)) {
            figures = std::move(part.text);
        }
    }
    auto machine = merge(std::move(machines));
    if (!fabric.empty()) {
        machine = with_fabric(std::move(machine), fabric);
    }
    return figures ? SimulatedMachine(std::move(machine), figures->text, figures->name)
                   : SimulatedMachine(std::move(machine));
}

}  // namespace peerlane
