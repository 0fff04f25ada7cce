/// Documents of ours as reports. Only what a comparison looks at is read: a record holds every step, and there may be a
/// thousand of them.

#include <algorithm>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <peerlane/compare.hpp>
#include <peerlane/error.hpp>
#include <peerlane/facts.hpp>

#include "compare/traits.hpp"
#include "machine/read/own_json.hpp"
#include "machine/read/record.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
    auto const first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The document in a line of a record that has this one key, empty for other lines.
std::string_view document_in(std::string_view line, std::string_view key) {
    line = trimmed(line);
    auto const opening = std::string("{\"") + std::string(key) + "\":";
    if (line.size() < opening.size() + 1 || line.substr(0, opening.size()) != opening || line.back() != '}') {
        return {};
    }
    return trimmed(line.substr(opening.size(), line.size() - opening.size() - 1));
}

NodeReport of_record(std::string_view text, const std::string& file) {
    Machine machine;
    Verdicts verdicts;
    std::string_view facts;
    bool ended = false;
    int number = 0;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find('\n', at), text.size());
        auto const line = text.substr(at, end - at);
        at = end + 1;
        ++number;
        try {
            if (auto const document = document_in(line, "machine"); !document.empty()) {
                machine = read::read_own_json({file, document});
            } else if (auto const told = document_in(line, "facts"); !told.empty()) {
                facts = told;  // the last ones, as they were at the end
            } else if (auto const judged = document_in(line, "verdicts"); !judged.empty()) {
                verdicts = read_verdicts(judged, file);
                ended = true;
            }
        } catch (const InputError& error) {
            throw InputError(file, number, error.reason());
        }
    }
    if (machine.devices.empty() && !ended) {
        throw InputError(file, 0, "the record holds no machine");
    }
    auto traits = facts.empty() ? std::map<std::string, std::string>{} : traits_of(read_facts(facts, file));
    traits["run"] = verdicts.simulated ? "simulated" : "on real devices";
    auto node = report_of(file, machine, verdicts, std::move(traits));
    if (!ended) {
        node.traits.erase("run");
        node.failed.emplace_back("the run did not come to its end");
    }
    return node;
}

/// What the doctor adds to the verdicts about the machine, at the end of the document.
void add_node(std::string_view text, NodeReport& node) {
    auto const at = text.rfind("\"node\":");
    if (at == std::string_view::npos) {
        return;
    }
    auto const begin = text.find('{', at);
    auto const end = begin == std::string_view::npos ? begin : text.find('}', begin);
    if (end == std::string_view::npos) {
        return;
    }
    auto const told = Json::parse(text.substr(begin, end - begin + 1), nullptr, false);
    if (!told.is_object()) {
        return;
    }
    for (auto const& [name, value] : told.items()) {
        if (name == "devices" && value.is_number_integer()) {
            node.devices = value.get<int>();
        } else if (value.is_string()) {
            node.traits[name] = value.get<std::string>();
        }
    }
}

NodeReport of_verdicts(std::string_view text, const std::string& file) {
    auto const verdicts = read_verdicts(text, file);
    auto node = report_of(file, {}, verdicts, {{"run", verdicts.simulated ? "simulated" : "on real devices"}});
    int last = -1;
    for (auto const& pair : verdicts.pairs) {
        last = std::max({last, pair.accessor, pair.owner});
    }
    if (last >= 0) {
        node.devices = last + 1;
    }
    add_node(text, node);
    return node;
}

/// The word after "schema" where the document opens with it.
std::string_view schema_of(std::string_view text) {
    auto const head = text.substr(0, 200);
    auto const key = head.find("\"schema\"");
    auto const from = key == std::string_view::npos ? key : head.find('"', head.find(':', key));
    auto const to = from == std::string_view::npos ? from : head.find('"', from + 1);
    return to == std::string_view::npos ? std::string_view() : head.substr(from + 1, to - from - 1);
}

}  // namespace

NodeReport read_report(std::string_view text, const std::string& file) {
    if (read::is_record(text)) {
        return of_record(text, file);
    }
    auto const schema = schema_of(text);
    if (schema == "peerlane.verdicts/1") {
        return of_verdicts(text, file);
    }
    if (schema == "peerlane.machine/1") {
        return report_of(file, read::read_own_json({file, text}), {}, {});
    }
    throw InputError(file, 1,
                     "is no record, verdicts or machine of peerlane (doctor --record, doctor --save, topo --save)");
}

}  // namespace peerlane
