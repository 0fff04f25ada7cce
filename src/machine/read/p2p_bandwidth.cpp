#include "machine/read/p2p_bandwidth.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "machine/read/matrix.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

enum class Quantity { connectivity, rate, both_ways, latency };

/// What a title line says about the matrix below it.
struct Title {
    Quantity quantity = Quantity::rate;
    bool enabled = true;
    bool reads = false;
    friend bool operator<(const Title& a, const Title& b) {
        return std::tuple(a.quantity, a.enabled, a.reads) < std::tuple(b.quantity, b.enabled, b.reads);
    }
};

std::optional<Title> title_of(std::string_view line) {
    if (!contains_word(line, "matrix")) {
        return std::nullopt;
    }
    if (contains_word(line, "connectivity")) {
        return Title{Quantity::connectivity};
    }
    bool const enabled = contains_word(line, "p2p=enabled");
    if (!enabled && !contains_word(line, "p2p=disabled")) {
        return std::nullopt;
    }
    auto const quantity = contains_word(line, "latency")         ? Quantity::latency
                          : contains_word(line, "bidirectional") ? Quantity::both_ways
                                                                 : Quantity::rate;
    return Title{quantity, enabled, contains_word(line, "p2p reads")};
}

/// The word after `key`, up to a comma or blank.
std::string_view field(std::string_view line, std::string_view key) {
    auto const at = line.find(key);
    if (at == std::string_view::npos) {
        return {};
    }
    auto const rest = trimmed(line.substr(at + key.size()));
    return rest.substr(0, rest.find_first_of(", \t"));
}

struct Test {
    const Source& source;
    std::vector<Line> lines;
    Machine machine;
    int matrix_size = 0;
    std::map<Title, NumberMatrix> matrices;
    std::map<std::pair<int, int>, std::pair<bool, int>> answers;  ///< accessor, owner: yes or no, line
    std::string first_fault;
    int first_fault_line = 0;

    explicit Test(const Source& s) : source(s), lines(plain_lines(s)) {}

    void read();
    void device_line(const Line& line);
    void answer_line(const Line& line);
    void matrix_below(Title title, std::size_t& at);
    void keep(Title title, NumberMatrix matrix);
    void check_sizes();
    void set_claims();
    void set_rates();
};

void Test::device_line(const Line& line) {
    auto const text = std::string_view(line.text);
    auto const id = small_number(field(text, "Device:"));
    auto const name_at = text.find(',');
    auto const name_end = text.find(", pciBusID");
    if (!id || name_at == std::string_view::npos || name_end == std::string_view::npos || name_end <= name_at) {
        refuse(source, line.number, "a device line without number, name or pciBusID");
    }
    auto const same =
        std::find_if(machine.devices.begin(), machine.devices.end(), [&](auto& d) { return d.id == *id; });
    auto const domain = field(text, "pciDomainID:");
    auto const bus = bus_address(fmt::format("{}:{}:{}.0", domain.empty() ? "0" : domain, field(text, "pciBusID:"),
                                             field(text, "pciDeviceID:")));
    if (!bus) {
        refuse(source, line.number, "the PCI address of this device is no hexadecimal number");
    }
    if (same != machine.devices.end()) {
        if (same->bus != bus) {
            add_notice(machine, source, "two-tables", line.number,
                       fmt::format("device {} is listed a second time with another address; the first is used", *id));
        }
        return;
    }
    if (*id != static_cast<int>(machine.devices.size()) || *id >= most_devices) {
        refuse(source, line.number,
               fmt::format("device {} stands where device {} should", *id, machine.devices.size()));
    }
    Device device;
    device.id = *id;
    device.model = std::string(trimmed(text.substr(name_at + 1, name_end - name_at - 1)));
    device.bus = bus;
    machine.devices.push_back(std::move(device));
}

void Test::answer_line(const Line& line) {
    auto const text = std::string_view(line.text);
    bool const cannot = text.find("CANNOT Access Peer") != std::string_view::npos;
    auto const accessor = small_number(field(text, "Device="));
    auto const owner = small_number(field(text, "Peer Device="));
    if (!accessor || !owner) {
        refuse(source, line.number, "an answer to peer access without two device numbers");
    }
    auto const known = answers.emplace(std::pair(*accessor, *owner), std::pair(!cannot, line.number));
    if (!known.second && known.first->second.first == cannot) {
        refuse(source, line.number,
               fmt::format("{} reaching {} is answered differently in line {}", *accessor, *owner,
                           known.first->second.second));
    }
}

void Test::keep(Title title, NumberMatrix matrix) {
    if (matrix.broken.empty() && matrices.count(title) != 0) {
        add_notice(machine, source, "two-tables", matrix.line, "this table comes a second time; the first is used");
        return;
    }
    if (!matrix.broken.empty()) {
        add_notice(machine, source, "truncated", matrix.broken_line, "this table is cut: " + matrix.broken);
        if (first_fault.empty()) {
            first_fault = matrix.broken;
            first_fault_line = matrix.broken_line;
        }
        return;
    }
    if (matrix_size != 0 && matrix.columns != matrix_size) {
        add_notice(machine, source, "two-tables", matrix.line,
                   fmt::format("a table of {} devices after one of {}: left out", matrix.columns, matrix_size));
        return;
    }
    matrix_size = matrix.columns;
    matrices.emplace(title, std::move(matrix));
}

void Test::matrix_below(Title title, std::size_t& at) {
    auto const title_line = lines[at].number;
    for (++at; at < lines.size() && lines[at].blank(); ++at) {
    }
    if (at >= lines.size() || matrix_header(lines[at]) == 0) {
        NumberMatrix none;
        none.broken = "no column numbers below the title";
        none.broken_line = title_line;
        keep(title, std::move(none));
        return;
    }
    keep(title, read_matrix(source, lines, at, 0));
    if (title.quantity != Quantity::latency) {
        return;
    }
    // The same time seen by the host's clock follows; it is checked and not kept.
    auto next = at;
    while (next < lines.size() && lines[next].blank()) {
        ++next;
    }
    if (next < lines.size() && same_word(words(lines[next].text)[0], "cpu") && matrix_header(lines[next]) > 0) {
        at = next;
        auto const host = read_matrix(source, lines, at, 0);
        if (!host.broken.empty()) {
            add_notice(machine, source, "truncated", host.broken_line, "this table is cut: " + host.broken);
        }
    }
}

void Test::read() {
    for (std::size_t at = 0; at < lines.size();) {
        auto const& line = lines[at];
        if (line.text.find("pciBusID") != std::string::npos) {
            device_line(line);
        } else if (line.text.rfind("Device: ", 0) == 0 && small_number(field(line.text, "Device:"))) {
            add_notice(machine, source, "truncated", line.number, "this device has no address: the line is cut");
        } else if (line.text.find("Access Peer Device") != std::string::npos) {
            answer_line(line);
        } else if (auto const title = title_of(line.text)) {
            matrix_below(*title, at);
            continue;
        }
        ++at;
    }
    check_sizes();
    set_claims();
    set_rates();
    note_wrapping(lines, 0, lines.size(), source, machine);
    complete_pairs(machine);
}

void Test::check_sizes() {
    if (matrices.empty() && answers.empty() && machine.devices.empty()) {
        refuse(source, first_fault_line,
               first_fault.empty() ? "no table of this benchmark is whole" : "no table is whole: " + first_fault);
    }
    int count = std::max(matrix_size, static_cast<int>(machine.devices.size()));
    for (auto const& [pair, answer] : answers) {
        auto const most = std::max(pair.first, pair.second);
        if ((matrix_size != 0 && most >= matrix_size) || most >= most_devices) {
            refuse(source, answer.second, fmt::format("device {} is not in the tables", most));
        }
        count = std::max(count, most + 1);
    }
    if (!machine.devices.empty() && static_cast<int>(machine.devices.size()) != count) {
        refuse(source, matrices.empty() ? 0 : matrices.begin()->second.line,
               fmt::format("{} devices are listed, the tables have {}", machine.devices.size(), count));
    }
    for (auto id = static_cast<int>(machine.devices.size()); id < count; ++id) {
        machine.devices.push_back({.id = id});
    }
    complete_pairs(machine);
}

void Test::set_claims() {
    for (auto const& [pair, answer] : answers) {
        if (auto* known = machine.pair(pair.first, pair.second)) {
            known->claim = answer.first;
        }
    }
    auto const found = matrices.find(Title{Quantity::connectivity});
    if (found == matrices.end()) {
        return;
    }
    auto const& table = found->second;
    for (int row = 0; row < table.columns; ++row) {
        for (int column = 0; column < table.columns; ++column) {
            auto const cell = table.at(row, column);
            auto const line = table.row_lines[static_cast<std::size_t>(row)];
            if (!cell || (*cell != 0 && *cell != 1) || (row == column && *cell != 1)) {
                refuse(source, line, "a cell of the connectivity matrix is neither 0 nor 1, or its diagonal is not 1");
            }
            if (row == column) {
                continue;
            }
            auto* pair = machine.pair(row, column);
            if (pair->claim && *pair->claim != (*cell == 1)) {
                refuse(source, line, fmt::format("{} reaching {} is answered differently above", row, column));
            }
            pair->claim = *cell == 1;
        }
    }
}

void Test::set_rates() {
    for (auto const& [title, table] : matrices) {
        if (title.quantity == Quantity::connectivity) {
            continue;
        }
        for (auto& pair : machine.pairs) {
            auto const cell = table.at(pair.accessor, pair.owner);
            if (!cell || *cell == 0) {
                continue;  // nothing was timed
            }
            bool const direct = title.enabled && pair.claim != false;
            auto& m = pair.measured;
            auto& place = title.quantity == Quantity::both_ways
                              ? (direct ? m.bidirectional_gbs : m.bidirectional_staged_gbs)
                          : title.quantity == Quantity::latency ? (direct ? m.latency_s : m.staged_latency_s)
                          : !direct                             ? m.staged_gbs
                          : title.reads                         ? m.read_gbs
                                                                : m.write_gbs;
            if (!place) {  // disabled comes before enabled, writes before reads
                place = title.quantity == Quantity::latency ? *cell * 1e-6 : *cell;
            }
        }
    }
}

}  // namespace

bool recognizes_p2p_bandwidth(std::string_view text) {
    return text.find("P2P Connectivity Matrix") != std::string_view::npos ||
           text.find("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]") != std::string_view::npos ||
           text.find("CAN Access Peer Device=") != std::string_view::npos ||
           text.find("CANNOT Access Peer Device=") != std::string_view::npos ||
           ((text.find("P2P=Enabled") != std::string_view::npos ||
             text.find("P2P=Disabled") != std::string_view::npos) &&
            text.find("Matrix") != std::string_view::npos);
}

Machine read_p2p_bandwidth(const Source& source) {
    Test test(source);
    test.read();
    return std::move(test.machine);
}

}  // namespace peerlane::read
