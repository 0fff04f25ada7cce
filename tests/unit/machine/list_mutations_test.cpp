// Seeded changes of texts: those that keep the meaning give the same machine, those that break it are refused or told.

#include <functional>
#include <random>
#include <vector>

#include "unit/machine/support.hpp"

namespace peerlane {
namespace {

using Lines = std::vector<std::string>;
using Random = std::mt19937;

Lines split(const std::string& text) {
    Lines lines;
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}
std::string joined(const Lines& lines, const std::string& end = "\n") {
    std::string text;
    for (auto const& line : lines) {
        text += line + end;
    }
    return text;
}

// ---- inputs: one of each text format
// -------------------------------------------------------------------------------------------

std::string p2p_bandwidth() {
    std::string text;
    for (int i = 0; i < 3; ++i) {
        text += "Device: " + std::to_string(i) + ", Acme, pciBusID: " + std::to_string(i + 1) +
                "a, pciDeviceID: 0, pciDomainID:0\n";
    }
    text +=
        "P2P Connectivity Matrix\n     D\\D     0     1     2\n     0       1     1     0\n     1       1     1     "
        "1\n     2       0     1     1\n";
    double rate = 10;
    for (auto const* title : {"Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)",
                              "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"}) {
        text += std::string(title) + "\n   D\\D     0      1      2\n";
        for (int row = 0; row < 3; ++row) {
            text += "     " + std::to_string(row);
            for (int column = 0; column < 3; ++column) {
                text += "  " + std::to_string(row == column ? 900.5 : rate += 0.25).substr(0, row == column ? 6 : 5);
            }
            text += "\n";
        }
    }
    return text;
}

std::string nvbandwidth() {
    return "nvbandwidth Version: v0.8\n\nDevice 0: Acme (00000000:1b:00)\nDevice 1: Acme (00000000:2b:00)\n\nRunning "
           "host_to_device_memcpy_ce.\n"
           "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     55.10     55.20\n\nSUM "
           "host_to_device_memcpy_ce 110.30\n\n"
           "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0 "
           "        1\n 0       N/A     90.10\n 1     80.20       N/A\n\n"
           "SUM device_to_device_memcpy_read_ce 170.30\n";
}

std::string topo_p2p() {
    return " \tGPU0\tGPU1\tGPU2\t\n GPU0\tX\tOK\tCNS\t\n GPU1\tOK\tX\tTNS\t\n GPU2\tCNS\tDR\tX\t\n";
}

std::string nvlink_status() {
    return "GPU 0: Acme (UUID: GPU-a)\n\t Link 0: 25.781 GB/s\n\t Link 1: <inactive>\nGPU 1: Acme (UUID: GPU-b)\n\t "
           "Link 0: 25.781 GB/s\n\t Link 1: 25.781 GB/s\n";
}

std::string nvlink_remote() {
    return "GPU 0: Acme (UUID: GPU-a)\n\t Link 0: Remote Device 00000000:07:00.0: Link 46\n\t Link 1: Remote Device "
           "00000000:08:00.0: Link 47\n"
           "GPU 1: Acme (UUID: GPU-b)\n\t Link 0: Remote Device 00000000:07:00.0: Link 40\n\t Link 1: Remote Device "
           "00000000:08:00.0: Link 41\n";
}

std::string smi_list() {
    return "GPU 0: Acme (UUID: GPU-a)\n  MIG 1g.10gb     Device  0: (UUID: MIG-0)\nGPU 1: Acme (UUID: GPU-b)\n";
}

struct Input {
    const char* name;
    std::string text;
    bool lines_can_break;  ///< a missing line of numbers can be seen (lists of devices have no such frame)
};
std::vector<Input> inputs() {
    std::vector<Input> all{{"p2p_bandwidth", p2p_bandwidth(), true},
                           {"nvbandwidth", nvbandwidth(), true},
                           {"topo_p2p", topo_p2p(), true},
                           {"nvlink_status", nvlink_status(), false},
                           {"nvlink_remote", nvlink_remote(), false},
                           {"smi_list", smi_list(), false}};
    for (auto const* name :
         {"p2pbw-2x6000ada-wrx90.txt", "p2pbw-6x4090-enabled-slower-than-disabled.txt",
          "nvbandwidth-v0.2-8xh800-full.txt", "nvbandwidth-h200-pair.txt", "topo-p2p-r-8xh100-ok.txt",
          "nvlink-s-v100-inactive-links.txt", "nvlink-R-h100-uneven-switch-spread.txt", "nvidia-smi-L-h100-mig.txt"}) {
        if (auto const text = test::shared_text(name)) {
            all.push_back(
                {name, *text, std::string(name).substr(0, 4) != "nvli" && std::string(name).substr(0, 4) != "nvid"});
        }
    }
    return all;
}

// ---- changes that keep the meaning
// ---------------------------------------------------------------------------------------------

struct Change {
    const char* name;
    std::function<std::string(const std::string&, Random&)> apply;
};

std::vector<Change> keeping() {
    auto const each = [](auto change) {
        return [change](const std::string& text, Random& random) {
            auto lines = split(text);
            for (auto& line : lines) {
                change(line, random);
            }
            return joined(lines);
        };
    };
    return {
        {"crlf", [](const std::string& text, Random&) { return joined(split(text), "\r\n"); }},
        {"commented", each([](std::string& line, Random&) { line = "# " + line; })},
        {"quoted", each([](std::string& line, Random&) { line = "> " + line; })},
        {"trailing blanks", each([](std::string& line, Random& random) { line += std::string(random() % 4, ' '); })},
        {"escape codes", each([](std::string& line, Random& random) {
             line = random() % 3 == 0 ? "\x1b[1m" + line + "\x1b[0m" : line;
         })},
        {"prompt and banner before",
         [](const std::string& text, Random&) { return "Welcome to host\n\n$ ./run --all\n" + text; }},
        {"words after", [](const std::string& text, Random&) { return text + "\n\n$ exit\nlogout\n"; }},
        {"code fence", [](const std::string& text, Random&) { return "```\n" + joined(split(text)) + "```\n"; }},
        {"blank lines around", [](const std::string& text, Random&) { return "\n\n" + text + "\n\n"; }},
        {"no last line end",
         [](const std::string& text, Random&) { return text.substr(0, text.find_last_not_of('\n') + 1); }},
        {"times", each([](std::string& line, Random&) { line = "2024-05-05T10:00:00.1234567Z " + line; })},
        {"times of a service",
         each([](std::string& line, Random&) { line = "2024-05-05 10:00:00,123+02:00 " + line; })},
        {"two slashes", each([](std::string& line, Random&) { line = "// " + line; })},
        {"blank lines between", each([](std::string& line, Random&) { line += "\n"; })},
        {"page", [](const std::string& text,
                    Random&) { return "<details>\n<pre>\n" + joined(split(text)) + "</pre>\n</details>\n"; }},
        {"byte order mark", [](const std::string& text, Random&) { return "\xef\xbb\xbf" + text; }},
    };
}

void expect_same(const Machine& machine, const Machine& plain) {
    EXPECT_EQ(machine.devices, plain.devices);
    EXPECT_EQ(machine.pairs, plain.pairs);
    EXPECT_EQ(machine.host, plain.host);
    EXPECT_EQ(machine.graph, plain.graph);
}

TEST(ListMutations, MeaningKept) {
    unsigned const seed = 17;
    Random random(seed);
    for (auto const& input : inputs()) {
        auto const plain = test::read(input.text);
        for (auto const& change : keeping()) {
            SCOPED_TRACE(testing::Message() << input.name << ", " << change.name << ", seed " << seed);
            auto const refused = test::refusal(change.apply(input.text, random));
            ASSERT_EQ(refused, "");
            expect_same(test::read(change.apply(input.text, random)), plain);
        }
    }
}

TEST(ListMutations, SeveralKeepingChangesAtOnce) {
    unsigned const seed = 18;
    Random random(seed);
    auto const changes = keeping();
    for (auto const& input : inputs()) {
        auto const plain = test::read(input.text);
        for (int i = 0; i < 20; ++i) {
            auto text = input.text;
            std::string names;
            for (int n = 0; n < 3; ++n) {
                auto const& change =
                    changes[random() % (changes.size() - 1)];  // a byte order mark is only one at the very start
                text = change.apply(text, random);
                names += std::string(change.name) + ", ";
            }
            SCOPED_TRACE(testing::Message() << input.name << ", " << names << "seed " << seed);
            ASSERT_EQ(test::refusal(text), "");
            expect_same(test::read(text), plain);
        }
    }
}

// ---- changes that break it
// -----------------------------------------------------------------------------------------------------

/// A row of a matrix: a label, then at least two numbers or status words.
bool is_row(const std::string& line) {
    std::stringstream in(line);
    std::string label, cell;
    in >> label;
    bool const number = !label.empty() && label.find_first_not_of("0123456789") == std::string::npos;
    bool const device = label.substr(0, 3) == "GPU" && label.size() > 3;
    int cells = 0;
    bool decimal = false;
    while (in >> cell) {
        ++cells;
        decimal = decimal || cell.find('.') != std::string::npos || cell == "N/A" || cell == "X";
    }
    return (number || device) && cells >= 2 && decimal;
}

std::string without_cell(const std::string& line, Random& random) {
    std::vector<std::string> cells;
    std::stringstream in(line);
    for (std::string cell; in >> cell;) {
        cells.push_back(cell);
    }
    cells.erase(cells.begin() + 1 + static_cast<std::ptrdiff_t>(random() % (cells.size() - 1)));
    std::string out;
    for (auto const& cell : cells) {
        out += (out.empty() ? " " : "  ") + cell;
    }
    return out;
}

/// The text with one row changed; empty when it has none.
std::string with_row(const std::string& text, Random& random, const std::function<void(Lines&, std::size_t)>& change) {
    auto lines = split(text);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (is_row(lines[i])) {
            rows.push_back(i);
        }
    }
    if (rows.empty()) {
        return {};
    }
    change(lines, rows[random() % rows.size()]);
    return joined(lines);
}

std::vector<Change> breaking() {
    return {
        {"a cell removed",
         [](const std::string& text, Random& random) {
             return with_row(text, random,
                             [&](Lines& lines, std::size_t i) { lines[i] = without_cell(lines[i], random); });
         }},
        {"a cell added",
         [](const std::string& text, Random& random) {
             return with_row(text, random, [&](Lines& lines, std::size_t i) {
                 lines[i] += lines[i].find("GPU") == std::string::npos ? "  1.00" : "\tOK";
             });
         }},
        {"a cell of letters",
         [](const std::string& text, Random& random) {
             return with_row(text, random, [&](Lines& lines, std::size_t i) {
                 lines[i] = without_cell(lines[i], random) + "  lost";
             });
         }},
        {"a row removed",
         [](const std::string& text, Random& random) {
             return with_row(text, random, [&](Lines& lines, std::size_t i) {
                 lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
             });
         }},
        {"a row doubled",
         [](const std::string& text, Random& random) {
             return with_row(text, random, [&](Lines& lines, std::size_t i) {
                 lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
             });
         }},
        {"cut in a row",
         [](const std::string& text, Random& random) {
             return with_row(text, random, [&](Lines& lines, std::size_t i) {
                 lines[i] = without_cell(lines[i], random);
                 lines.resize(i + 1);
             });
         }},
    };
}

/// Notices that tell of something missing or odd.
int warnings(const Machine& machine) {
    return static_cast<int>(std::count_if(machine.notices.begin(), machine.notices.end(),
                                          [](const Notice& n) { return n.code != "printed-arrow"; }));
}

TEST(ListMutations, BrokenTablesAreRefusedOrTold) {
    unsigned const seed = 19;
    Random random(seed);
    int tried = 0;
    for (auto const& input : inputs()) {
        if (!input.lines_can_break) {
            continue;
        }
        auto const plain = test::read(input.text);
        for (auto const& change : breaking()) {
            for (int i = 0; i < 25; ++i) {
                auto const text = change.apply(input.text, random);
                SCOPED_TRACE(testing::Message()
                             << input.name << ", " << change.name << ", round " << i << ", seed " << seed << "\n"
                             << text.substr(0, 3000));
                if (text.empty() || !test::refusal(text).empty()) {
                    ++tried;
                    continue;
                }
                auto const machine = test::read(text);
                EXPECT_GT(warnings(machine), warnings(plain)) << "accepted without a word";
                ++tried;
                if (testing::Test::HasFailure()) {
                    return;
                }
            }
        }
    }
    EXPECT_GT(tried, 400);
}

// Whatever single character is lost or changed: a machine or a reason, never anything else.
TEST(ListMutations, AnySingleCharacter) {
    unsigned const seed = 20;
    Random random(seed);
    for (auto const& input : inputs()) {
        for (int i = 0; i < 300; ++i) {
            auto text = input.text;
            auto const at = random() % text.size();
            if (i % 2 == 0) {
                text.erase(at, 1);
            } else {
                text[at] = static_cast<char>(random());
            }
            (void)test::refusal(text, input.name);
        }
    }
}

}  // namespace
}  // namespace peerlane
