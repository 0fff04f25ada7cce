#include "machine/read/nvbandwidth_text.hpp"

#include <set>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "machine/read/matrix.hpp"
#include "machine/read/nvbandwidth.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

bool is_title(std::string_view text) {
    return (contains_word(text, "(row)") || contains_word(text, "(column)")) &&
           (contains_word(text, "bandwidth (gb/s)") || contains_word(text, "(ns)"));
}

/// "device_to_device_..._read1" -> without the part that was printed alone.
std::string_view without_part(std::string_view key) {
    for (std::string_view const part : {"_read1", "_read2", "_write1", "_write2", "_total"}) {
        if (key.size() > part.size() && key.substr(key.size() - part.size()) == part) {
            return key.substr(0, key.size() - part.size());
        }
    }
    return key;
}

struct Run {
    const Source& source;
    std::vector<Line> lines;
    Machine machine;
    std::vector<BenchmarkCase> cases;
    std::string running;  ///< name of the test whose tables follow
    int asked_at = 0;     ///< its line, until a table or a reason follows
    std::set<std::string> finished;
    std::string first_host;

    explicit Run(const Source& s) : source(s), lines(plain_lines(s)) {}

    void read();
    void note_unanswered();
    bool device_line(const Line& line);
    void add_device(const Line& line, int id, std::string_view rest);
    void table(std::size_t& at);
    void sum_line(const Line& line);
};

void Run::add_device(const Line& line, int id, std::string_view rest) {
    auto const known = static_cast<int>(machine.devices.size());
    auto device = listed_device(id, rest);
    if (id < known) {
        if (machine.devices[static_cast<std::size_t>(id)].bus != device.bus) {
            add_notice(machine, source, "two-tables", line.number, "a second list of devices; the first is used");
        }
        return;
    }
    if (id != known || id >= most_devices) {
        refuse(source, line.number, fmt::format("device {} stands where device {} should", id, known));
    }
    machine.devices.push_back(std::move(device));
}

/// "Device 0: NVIDIA H200 (00000000:00:06)", or of a run over several processes "Process 0 (host): device 0: NVIDIA
/// ...".
bool Run::device_line(const Line& line) {
    auto const text = trimmed(line.text);
    auto const colon = text.find(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    auto const head = words(text.substr(0, colon));
    if (head.size() == 2 && head[0] == "Device") {
        if (auto const id = small_number(head[1])) {
            add_device(line, *id, text.substr(colon + 1));
            return true;
        }
    }
    if (head.size() == 3 && head[0] == "Process" && small_number(head[1])) {
        auto const rest = trimmed(text.substr(colon + 1));
        auto const second = rest.find(':');
        if (second == std::string_view::npos || rest.substr(0, 7) != "device ") {
            return false;
        }
        if (first_host.empty()) {
            first_host = head[2];
        } else if (first_host != head[2]) {
            refuse(source, line.number, "a run over several hosts; a machine is one host");
        }
        add_device(line, *small_number(head[1]), rest.substr(second + 1));
        return true;
    }
    return false;
}

void Run::table(std::size_t& at) {
    auto const& title = lines[at];
    BenchmarkCase c;
    c.name = running;
    c.description = std::string(trimmed(title.text));
    c.line = title.number;
    auto header = at + 1;
    while (header < lines.size() && lines[header].blank()) {
        ++header;
    }
    auto const columns = header < lines.size() ? matrix_header(lines[header]) : 0;
    if (columns == 0) {
        add_notice(machine, source, "truncated", title.number, "no column numbers below this title");
        ++at;
        return;
    }
    // Only tests between single devices have a row a device; in the others all devices but the column's share one row.
    bool const square = running.empty()
                            ? contains_word(title.text, "gpu(row)") && header + 2 < lines.size() && columns > 1 &&
                                  !words(lines[header + 2].text).empty() && words(lines[header + 2].text)[0] == "1"
                            : running.rfind("device_to_device_", 0) == 0;
    at = header;
    auto matrix = read_matrix(source, lines, at, square ? 0 : 1);
    if (!matrix.broken.empty()) {
        add_notice(machine, source, "truncated", matrix.broken_line, "this table is cut: " + matrix.broken);
        return;
    }
    c.rows = std::move(matrix.rows);
    cases.push_back(std::move(c));
}

/// "SUM host_to_device_memcpy_ce 110.82": names the table above it where the start of the test was not pasted.
void Run::sum_line(const Line& line) {
    auto const parts = words(line.text);
    if (parts.size() < 3 || cases.empty() || cases.back().sum) {
        return;
    }
    auto& last = cases.back();
    auto const name = without_part(parts[1]);
    if (last.name.empty()) {
        last.name = std::string(name);
    } else if (last.name != name) {
        refuse(source, line.number, fmt::format("the sum of {} below a table of {}", name.substr(0, 60), last.name));
    }
    last.sum = parse_number(parts[2]);
    if (!last.sum) {
        refuse(source, line.number, fmt::format("\"{}\" is no number", parts[2].substr(0, 40)));
    }
}

/// A test that neither gave a table nor says why.
void Run::note_unanswered() {
    if (asked_at != 0) {
        add_notice(machine, source, "truncated", asked_at, running + " has no whole table here");
    }
    asked_at = 0;
}

void Run::read() {
    bool repeated = false;
    for (std::size_t at = 0; at < lines.size();) {
        auto const text = trimmed(lines[at].text);
        if (text.substr(0, 8) == "Running ") {
            note_unanswered();
            asked_at = lines[at].number;
            running = std::string(trimmed(text.substr(8)));
            while (!running.empty() && running.back() == '.') {
                running.pop_back();
            }
            repeated = !finished.insert(running).second;
            if (repeated) {
                add_notice(machine, source, "two-tables", lines[at].number,
                           running + " comes again; the first is used");
            }
        } else if (contains_word(text, "error")) {
            asked_at = 0;  // it says why
        } else if (text.substr(0, 6) == "Waived" && !running.empty()) {
            asked_at = 0;
            if (running.rfind("device_to_device_", 0) == 0 && !repeated) {
                cases.push_back({.name = running,
                                 .description = "",
                                 .rows = {},
                                 .sum = {},
                                 .line = lines[at].number,
                                 .waived = true});
            }
        } else if (is_title(text)) {
            auto const before = cases.size();
            asked_at = 0;
            table(at);
            if (repeated) {
                cases.resize(before);
            }
            continue;
        } else if (text.substr(0, 4) == "SUM " && !repeated) {
            sum_line(lines[at]);
        } else {
            device_line(lines[at]);
        }
        ++at;
    }
    note_unanswered();
    for (auto const& c : cases) {
        if (c.name.empty()) {
            add_notice(machine, source, "truncated", c.line,
                       "this table does not say which test it belongs to: left out");
        }
    }
    apply_cases(source, cases, machine);
    note_wrapping(lines, 0, lines.size(), source, machine);
}

}  // namespace

bool recognizes_nvbandwidth_text(std::string_view text) {
    if (text.find("nvbandwidth Version") != std::string_view::npos) {
        return true;
    }
    for (std::string_view const title : {"CPU(row)", "GPU(row)", "GPU(column)"}) {
        auto const at = text.find(title);
        if (at != std::string_view::npos) {
            auto const line = text.substr(at, text.find('\n', at) - at);
            if (line.size() < 200 && is_title(line) &&
                text.find("\"bandwidth_description\"") == std::string_view::npos) {
                return true;
            }
        }
    }
    return false;
}

Machine read_nvbandwidth_text(const Source& source) {
    Run run(source);
    run.read();
    return std::move(run.machine);
}

}  // namespace peerlane::read
