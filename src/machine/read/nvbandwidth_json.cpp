#include "machine/read/nvbandwidth_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/units.hpp>

#include "machine/read/nvbandwidth.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

using Json = nlohmann::json;

constexpr std::size_t largest_text = std::size_t{32} << 20;  // 100 devices make about 5 MB
constexpr int deepest = 32;

Json parse(const Source& source) {
    if (source.text.size() > largest_text) {
        refuse(source, 0, "more than 32 MiB of JSON: no run of this benchmark is that long");
    }
    auto const guard = [&](int depth, Json::parse_event_t, Json&) {
        if (depth > deepest) {
            refuse(source, 0, fmt::format("JSON nested more than {} levels", deepest));
        }
        return true;
    };
    try {
        return Json::parse(source.text.begin(), source.text.end(), guard);
    } catch (const Json::parse_error& error) {
        refuse(source, line_at(source.text, error.byte), "this is no JSON: the text is cut or damaged here");
    }
}

/// Lines of names that come one after another; each byte of the text is searched once.
class NameFinder {
  public:
    explicit NameFinder(std::string_view text) : text_(text) {}
    /// 0 when the text writes the name in an unusual way.
    int line_of(const std::string& name) {
        auto const at = text_.find('"' + name + '"', at_);
        if (at == std::string_view::npos) {
            at_ = text_.size();
            return 0;
        }
        line_ += line_at(text_.substr(at_), at - at_) - 1;
        at_ = at;
        return line_;
    }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
};

std::optional<double> cell_of(const Source& source, int line, const Json& cell) {
    std::optional<double> value;
    if (cell.is_number()) {
        value = cell.get<double>();
    } else if (cell.is_string()) {
        auto const& text = cell.get_ref<const std::string&>();
        value = parse_number(text);
        if (!value && !same_word(text, "n/a") && !same_word(text, "nan") && !same_word(text, "-nan") && !text.empty()) {
            refuse(source, line, fmt::format("the cell \"{}\" is no number", text.substr(0, 40)));
        }
    } else if (!cell.is_null()) {
        refuse(source, line, "a cell is neither a number nor a string");
    }
    if (value && *value < 0) {
        refuse(source, line, "a measured value below zero");
    }
    return value;
}

std::string string_or_empty(const Json& object, const char* key) {
    auto const found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A duplex test between devices prints its three tables (each direction, then the sum) one below the other in one
/// matrix.
void split_duplex(BenchmarkCase& c, std::size_t devices) {
    if (devices > 0 && c.rows.size() == 3 * devices) {
        c.rows.erase(c.rows.begin(), c.rows.begin() + static_cast<std::ptrdiff_t>(2 * devices));
    }
}

BenchmarkCase read_case(const Source& source, NameFinder& names, const Json& test) {
    if (!test.is_object()) {
        refuse(source, 0, "a test case is no object");
    }
    BenchmarkCase c;
    c.name = string_or_empty(test, "name");
    c.description = string_or_empty(test, "bandwidth_description");
    c.line = c.name.empty() ? 0 : names.line_of(c.name);
    auto const status = string_or_empty(test, "status");
    c.waived = same_word(status, "waived");
    auto const matrix = test.find("bandwidth_matrix");
    if (c.waived || matrix == test.end()) {
        return c;
    }
    if (!matrix->is_array()) {
        refuse(source, c.line, "bandwidth_matrix is no array");
    }
    for (auto const& row : *matrix) {
        if (!row.is_array() || row.size() > most_devices || matrix->size() > 3 * most_devices) {
            refuse(source, c.line, "a row of bandwidth_matrix is no array, or too long");
        }
        std::vector<std::optional<double>> cells;
        for (auto const& cell : row) {
            cells.push_back(cell_of(source, c.line, cell));
        }
        if (!c.rows.empty() && cells.size() != c.rows[0].size()) {
            refuse(source, c.line,
                   fmt::format("rows of {} and of {} cells in one matrix", c.rows[0].size(), cells.size()));
        }
        c.rows.push_back(std::move(cells));
    }
    auto const sum = test.find("sum");
    if (sum != test.end() && sum->is_number()) {
        c.sum = sum->get<double>();
    }
    split_duplex(c, c.rows.empty() ? 0 : c.rows[0].size());
    return c;
}

void read_devices(const Source& source, const Json& root, Machine& machine) {
    for (auto const* key : {"GPU Device list", "GPU Device info"}) {
        auto const list = root.find(key);
        if (list == root.end() || !list->is_array()) {
            continue;
        }
        for (auto const& entry : *list) {
            auto const text = entry.is_string() ? entry.get<std::string>() : std::string();
            auto const colon = text.find(':');
            auto const id = colon == std::string::npos ? std::nullopt
                                                       : small_number(trimmed(std::string_view(text).substr(0, colon)));
            if (id != static_cast<int>(machine.devices.size()) || machine.devices.size() >= most_devices) {
                refuse(source, NameFinder(source.text).line_of(key),
                       fmt::format("entry {} of the device list is not numbered so", machine.devices.size()));
            }
            // "0: NVIDIA H200 (00000000:00:06): (host)": the host's name is behind the last colon and blank.
            auto rest = std::string_view(text).substr(colon + 1);
            if (auto const host = rest.rfind("): ("); host != std::string_view::npos) {
                rest = rest.substr(0, host + 1);
            }
            machine.devices.push_back(listed_device(*id, rest));
        }
        return;
    }
}

}  // namespace

bool recognizes_nvbandwidth_json(std::string_view text) {
    auto const start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    return start != std::string_view::npos && text[start] == '{' &&
           (text.find("\"nvbandwidth\"") != std::string_view::npos ||
            text.find("\"bandwidth_matrix\"") != std::string_view::npos);
}

Machine read_nvbandwidth_json(const Source& source) {
    auto const document = parse(source);
    auto const inner = document.find("nvbandwidth");
    auto const& root = inner != document.end() ? *inner : document;
    if (!root.is_object()) {
        refuse(source, 0, "nvbandwidth is no object");
    }
    Machine machine;
    read_devices(source, root, machine);
    auto const error = string_or_empty(root, "error");
    auto const tests = root.find("testcases");
    if (tests == root.end() || !tests->is_array()) {
        refuse(source, 0,
               error.empty() ? "no testcases in this run" : "the run ended with an error: " + error.substr(0, 200));
    }
    std::vector<BenchmarkCase> cases;
    NameFinder names(source.text);
    for (auto const& test : *tests) {
        cases.push_back(read_case(source, names, test));
    }
    apply_cases(source, cases, machine);
    return machine;
}

}  // namespace peerlane::read
