// Seeded mutations of topology tables. What keeps the meaning must give the same machine; what breaks it must be
// refused, or leave the pairs right and say so in a notice. Never another machine without a word.

#include <algorithm>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "support.hpp"

namespace peerlane::test {
namespace {

using Random = std::mt19937_64;

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> lines;
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines, const std::string& end = "\n") {
    std::string out;
    for (auto const& line : lines) {
        out += line + end;
    }
    return out;
}

std::string each_line(const std::string& text, const std::function<std::string(const std::string&)>& change) {
    auto lines = split(text);
    for (auto& line : lines) {
        line = change(line);
    }
    return joined(lines);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
        text.replace(at, what.size(), with);
    }
    return text;
}

std::size_t below(Random& random, std::size_t limit) {
    return static_cast<std::size_t>(random() % limit);
}

/// A table as the tool prints it: `gpus` devices in islands, some NICs, and its legend.
std::string random_table(Random& random) {
    auto const gpus = 1 + below(random, 10), nics = below(random, 5);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < gpus; ++i) {
        names.push_back("GPU" + std::to_string(i));
    }
    for (std::size_t i = 0; i < nics; ++i) {
        names.push_back("NIC" + std::to_string(i));
    }
    static const std::vector<std::string> near{"PIX", "PXB", "PHB", "NODE", "NV1", "NV2", "NV12", "NV18"};
    std::vector<std::vector<std::string>> cell(names.size(), std::vector<std::string>(names.size(), " X "));
    for (std::size_t a = 0; a < names.size(); ++a) {
        for (std::size_t b = a + 1; b < names.size(); ++b) {
            bool const nic = b >= gpus;
            auto const text = a % 2 != b % 2 ? std::string("SYS") : near[below(random, nic ? 4 : near.size())];
            cell[a][b] = cell[b][a] = text;
        }
    }
    std::string out;
    for (auto const& name : names) {
        out += "\t" + name;
    }
    out += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
    for (std::size_t a = 0; a < names.size(); ++a) {
        out += names[a];
        for (auto const& text : cell[a]) {
            out += "\t" + text;
        }
        out += a >= gpus ? "\t\t\t\t\n" : a % 2 == 0 ? "\t0-31,64-95\t0\t\tN/A\n" : "\t32-63,96-127\t1\t\tN/A\n";
    }
    out +=
        "\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing at most a single PCIe bridge\n"
        "  NV#  = Connection traversing a bonded set of # NVLinks\n";
    if (nics > 0) {
        out += "\nNIC Legend:\n\n";
        for (std::size_t i = 0; i < nics; ++i) {
            out += "  NIC" + std::to_string(i) + ": mlx5_" + std::to_string(i) + "\n";
        }
    }
    return out;
}

std::string expanded(const std::string& line) {
    std::string out;
    for (auto const c : line) {
        if (c == '\t') {
            out.append(8 - out.size() % 8, ' ');
        } else {
            out += c;
        }
    }
    return out;
}

bool of_table(const std::string& line) {
    return line.rfind("GPU", 0) == 0 || line.rfind("NIC", 0) == 0 || line.rfind("\tGPU", 0) == 0;
}

struct Mutation {
    const char* name;
    std::function<std::string(const std::string&, Random&)> apply;
};

const std::vector<Mutation>& keeping() {
    static const std::vector<Mutation> all{
        {"crlf", [](const std::string& t, Random&) { return joined(split(t), "\r\n"); }},
        {"ansi header",
         [](const std::string& t, Random&) {
             return replaced(replaced(t, "\tGPU0\t", "\t\x1b[4mGPU0\t"), "GPU NUMA ID", "GPU NUMA ID\x1b[0m");
         }},
        {"ansi everywhere",
         [](const std::string& t, Random&) {
             return each_line(t, [](auto& l) { return "\x1b[32m" + l + "\x1b[0m\x1b[K"; });
         }},
        {"comment", [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return "# " + l; }); }},
        {"comment without blank",
         [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return "#" + l; }); }},
        {"quote", [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return "> " + l; }); }},
        {"deep quote", [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return ">> " + l; }); }},
        {"expanded tabs",
         [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return expanded(l); }); }},
        {"one blank for a tab", [](const std::string& t, Random&) { return replaced(t, "\t", " "); }},
        {"four blanks for a tab", [](const std::string& t, Random&) { return replaced(t, "\t", "    "); }},
        {"bare X", [](const std::string& t, Random&) { return replaced(t, "\t X \t", "\tX\t"); }},
        {"wide X", [](const std::string& t, Random&) { return replaced(t, "\t X \t", "\t   X   \t"); }},
        {"no trailing blanks",
         [](const std::string& t, Random&) {
             return each_line(t, [](auto& l) {
                 auto const end = l.find_last_not_of(" \t");
                 return end == std::string::npos ? std::string() : l.substr(0, end + 1);
             });
         }},
        {"trailing blanks",
         [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return l + " \t "; }); }},
        {"banner",
         [](const std::string& t, Random&) {
             return "GPU Topology\n====\nuser@host:~$ nvidia-smi topo -m\n" + t + "user@host:~$ \n";
         }},
        {"no legend of classes",
         [](const std::string& t, Random&) {
             auto const at = t.find("\nLegend:"), nic = t.find("\nNIC Legend:");
             return t.substr(0, at) + "\n(legend trimmed)\n" + (nic == std::string::npos ? "" : t.substr(nic));
         }},
        {"lost header tab", [](const std::string& t, Random&) { return t.substr(1); }},
        {"blank lines between",
         [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return l + "\n"; }); }},
        {"utf-8 mark", [](const std::string& t, Random&) { return "\xef\xbb\xbf" + t; }},
        {"no line end at the end", [](const std::string& t, Random&) { return t.substr(0, t.size() - 1); }},
        {"indented", [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return "    " + l; }); }},
        {"code fence", [](const std::string& t, Random&) { return "```\n" + t + "```\n"; }},
        {"random padding",
         [](const std::string& t, Random& random) {
             return each_line(t, [&](auto& l) {
                 std::string out;
                 for (auto const c : l) {
                     out += c;
                     if (c == '\t' && of_table(l)) {
                         out.append(below(random, 4), ' ');
                     }
                 }
                 return out;
             });
         }},
        {"markdown",
         [](const std::string& t, Random&) {
             return each_line(t, [](auto& l) {
                 if (!of_table(l)) {
                     return l;
                 }
                 // The tool's double tab is padding, not a cell.
                 auto const row = replaced(replaced(l, "\t0\t\t", "\t0\t"), "\t1\t\t", "\t1\t");
                 return "| " + replaced(row, "\t", " | ") + " |" + (l.rfind("\tGPU", 0) == 0 ? "\n|---|---|" : "");
             });
         }},
        {"rows in another order",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const end = std::find_if(lines.begin() + 1, lines.end(), [](auto& l) { return !of_table(l); });
             std::shuffle(lines.begin() + 1, end, random);
             return joined(lines);
         }},
        {"lower case",
         [](const std::string& t, Random&) { return replaced(replaced(t, "\tPIX", "\tpix"), "\tNV", "\tnv"); }},
        {"times", [](const std::string& t,
                     Random&) { return each_line(t, [](auto& l) { return "2024-05-05T10:00:00.1234567Z " + l; }); }},
        {"two slashes", [](const std::string& t, Random&) { return each_line(t, [](auto& l) { return "// " + l; }); }},
        {"old line ends", [](const std::string& t, Random&) { return replaced(t, "\n", "\r"); }},
        {"page", [](const std::string& t, Random&) { return "<details>\n<pre>\n" + t + "</pre>\n</details>\n"; }},
        {"NIC columns in another order",
         [](const std::string& t, Random&) {
             // The last two columns of the matrix change places, and so do their rows' cells.
             auto lines = split(t);
             auto const header = lines[0];
             std::vector<std::size_t> nics;
             std::size_t column = 0;
             for (std::size_t at = header.find('\t'); at != std::string::npos;
                  at = header.find('\t', at + 1), ++column) {
                 if (header.compare(at + 1, 3, "NIC") == 0) {
                     nics.push_back(column);
                 }
             }
             if (nics.size() < 2 || t[0] != '\t' || t.find('\r') != std::string::npos) {
                 return t;
             }
             for (auto& line : lines) {
                 if (!of_table(line) || line.find('\t') == std::string::npos) {
                     continue;
                 }
                 std::vector<std::string> cell;
                 std::stringstream in(line);
                 for (std::string text; std::getline(in, text, '\t');) {
                     cell.push_back(text);
                 }
                 std::swap(cell.at(nics[nics.size() - 2] + 1), cell.at(nics.back() + 1));
                 std::string out;
                 for (auto const& text : cell) {
                     out += (out.empty() && &text == cell.data() ? "" : "\t") + text;
                 }
                 line = out + (line.back() == '\t' ? "\t" : "");
             }
             return joined(lines);
         }},
        {"SOC for SYS", [](const std::string& t, Random&) { return replaced(t, "\tSYS", "\tSOC"); }},
    };
    return all;
}

/// Without what only tells how the text was wrapped, and in which order the adapters stand.
Machine essence(Machine machine) {
    machine.notices.clear();
    std::sort(machine.nics.begin(), machine.nics.end(), [](const Nic& a, const Nic& b) { return a.name < b.name; });
    return machine;
}

class TopoMutations : public testing::TestWithParam<int> {};

TEST_P(TopoMutations, KeepingMeaningKeepsTheMachine) {
    Random random(static_cast<std::uint64_t>(GetParam()));
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    auto const table = random_table(random);
    auto const machine = essence(read(table));
    for (auto const& mutation : keeping()) {
        auto const text = mutation.apply(table, random);
        EXPECT_EQ(refusal(text), "") << mutation.name << "\n" << text;
        if (refusal(text).empty()) {
            EXPECT_TRUE(essence(read(text)) == machine) << mutation.name << "\n" << text;
        }
    }
    // Two at once.
    auto const& one = keeping()[below(random, keeping().size())];
    auto const& two = keeping()[below(random, keeping().size())];
    auto const text = two.apply(one.apply(table, random), random);
    auto const alone = [](const Mutation& mutation) {  // they need the text as the tool prints it, or leave no lines
        std::string const name = mutation.name;
        return name == "markdown" || name == "old line ends" || name == "lost header tab";
    };
    if (!alone(one) && !alone(two)) {
        EXPECT_TRUE(refusal(text).empty() && essence(read(text)) == machine)
            << one.name << ", then " << two.name << "\n"
            << text;
    }
}

/// Cells of the matrix: line and character range of each.
struct Place {
    std::size_t line = 0, begin = 0, end = 0;
    bool diagonal = false, nic = false;
};

std::vector<Place> places(const std::vector<std::string>& lines) {
    std::vector<Place> result;
    std::size_t columns = 0;
    for (std::size_t i = 0; i < lines.size() && (i == 0 || of_table(lines[i])); ++i) {
        if (i == 0) {
            columns = static_cast<std::size_t>(std::count(lines[i].begin(), lines[i].end(), '\t')) - 3;
            continue;
        }
        std::size_t at = lines[i].find('\t');
        for (std::size_t column = 0; column < columns; ++column) {
            auto const next = lines[i].find('\t', at + 1);
            auto const text = lines[i].substr(at + 1, next - at - 1);
            result.push_back({i, at + 1, next, text == " X ", lines[i].rfind("NIC", 0) == 0});
            at = next;
        }
    }
    return result;
}

const std::vector<Mutation>& breaking() {
    static const std::vector<Mutation> all{
        {"cut row",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             auto const& place = cell[below(random, cell.size())];
             lines[place.line] = lines[place.line].substr(0, place.begin > 0 ? place.begin - 1 : 0);
             return joined(lines);
         }},
        {"cut text",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             auto const& place = cell[below(random, cell.size())];
             lines[place.line] = lines[place.line].substr(0, place.begin);
             lines.resize(place.line + 1);
             return joined(lines);
         }},
        {"missing row",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(cell[below(random, cell.size())].line));
             return joined(lines);
         }},
        {"unknown class",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             auto const& place = cell[below(random, cell.size())];
             lines[place.line].replace(place.begin, place.end - place.begin, "QPI");
             return joined(lines);
         }},
        {"another class",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             auto const& place = cell[below(random, cell.size())];
             auto const old = lines[place.line].substr(place.begin, place.end - place.begin);
             lines[place.line].replace(place.begin, place.end - place.begin, old == "PHB" ? "NV4" : "PHB");
             return joined(lines);
         }},
        {"extra cell",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             lines[cell[below(random, cell.size())].line].insert(cell[0].begin, "SYS\t");
             return joined(lines);
         }},
        {"lost cell",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             auto const& place = cell[below(random, cell.size())];
             lines[place.line].erase(place.begin, place.end - place.begin + 1);
             return joined(lines);
         }},
        {"row twice",
         [](const std::string& t, Random& random) {
             auto lines = split(t);
             auto const cell = places(lines);
             auto const line = cell[below(random, cell.size())].line;
             lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line), std::string(lines[line]));
             return joined(lines);
         }},
        {"column twice",
         [](const std::string& t, Random&) { return replaced(t, "\tCPU Affinity", "\tGPU0\tCPU Affinity"); }},
        {"lost column name", [](const std::string& t, Random&) { return t.substr(5); }},
        {"an odd cell after the matrix",
         [](const std::string& t, Random&) { return replaced(t, "0-31,64-95", "0-31,64-"); }},
        {"two X", [](const std::string& t, Random&) { return replaced(t, "\tSYS\t", "\t X \t"); }},
        {"lost header", [](const std::string& t, Random&) { return t.substr(t.find('\n') + 1); }},
    };
    return all;
}

/// The pairs of a broken table, where it was read, may only be those of the whole one.
TEST_P(TopoMutations, BreakingIsRefusedOrNoticed) {
    Random random(static_cast<std::uint64_t>(GetParam()) + 1000);
    SCOPED_TRACE("seed " + std::to_string(GetParam() + 1000));
    auto const table = random_table(random);
    auto const machine = read(table);
    for (auto const& mutation : breaking()) {
        auto const text = mutation.apply(table, random);
        if (text == table || !refusal(text).empty()) {
            continue;
        }
        auto const got = read(text);
        EXPECT_TRUE(got.pairs == machine.pairs && got.devices.size() == machine.devices.size()) << mutation.name << "\n"
                                                                                                << text;
        EXPECT_TRUE(got == machine || !got.notices.empty()) << mutation.name << "\n" << text;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TopoMutations, testing::Range(1, 41));

// The same on the real tables, where they lie beside the project.
TEST(TopoMutationsShared, RealTablesKeepTheirMachine) {
    Random random(7);
    int tables = 0;
    std::error_code none;
    for (auto const& entry : std::filesystem::directory_iterator(shared_machines(), none)) {
        auto const name = entry.path().filename().string();
        if (name.rfind("topo-m", 0) != 0) {
            continue;
        }
        auto const text = *shared_text(name);
        auto const machine = essence(read(text));
        for (auto const& mutation : keeping()) {
            static const std::vector<std::string> for_any{
                "crlf",     "comment",    "quote",      "trailing blanks", "banner",
                "indented", "code fence", "utf-8 mark", "ansi everywhere", "blank lines between"};
            if (std::find(for_any.begin(), for_any.end(), mutation.name) == for_any.end()) {
                continue;
            }
            auto const changed = mutation.apply(text, random);
            EXPECT_EQ(refusal(changed), "") << name << ", " << mutation.name;
            EXPECT_TRUE(essence(read(changed)) == machine) << name << ", " << mutation.name;
        }
        ++tables;
    }
    if (tables == 0) {
        GTEST_SKIP() << "the inputs do not lie beside the project";
    }
}

}  // namespace
}  // namespace peerlane::test
