#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "table.hpp"

namespace peerlane::validation {
namespace {

std::string span(const Cell& cell) {
    return cell.low == cell.high ? fmt::format("{:.4g}", cell.low)
                                 : fmt::format("{:.4g} to {:.4g}", cell.low, cell.high);
}

std::string percent(double part) {
    return fmt::format("{:.1f} %", 100 * part);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Ours and theirs in the middle of the table's cells.
std::string middles(const Table& table) {
    std::vector<double> ours, theirs;
    for (auto const& cell : table.cells) {
        ours.push_back(cell.ours);
        theirs.push_back((cell.low + cell.high) / 2);
    }
    return fmt::format("{:.4g} | {:.4g}", median(ours), median(theirs));
}

std::string verdict(const Table& table) {
    auto const result = errors(table);
    if (result.counted == 0) {
        return "fitted, not judged";
    }
    if (table.worst_bound == 0) {
        return "shown only";
    }
    return keeps(table) ? "within bounds" : "**outside its bounds**";
}

void summary(std::string& text, const Table& table) {
    if (!table.not_compared.empty()) {
        text += fmt::format("| {} | - | | | | | | not compared: {} |\n", table.title, table.not_compared);
        return;
    }
    auto const result = errors(table);
    auto const none = result.counted == 0;
    text += fmt::format("| {} | {} of {} | {} | {} | {} | {} | {} |\n", table.title, result.counted, table.cells.size(),
                        middles(table), none ? "" : percent(result.median), none ? "" : percent(result.worst),
                        none ? ""
                             : fmt::format("{}: {:.4g} for {}", result.worst_cell->name, result.worst_cell->ours,
                                           span(*result.worst_cell)),
                        verdict(table));
}

void details(std::string& text, const Table& table) {
    if (table.cells.empty() || table.cells.size() > 40 || table.title.find("flows") == std::string::npos) {
        return;
    }
    text += fmt::format("\n{}:\n\n| transfers | theirs | ours | error | |\n|---|---|---|---|---|\n", table.title);
    for (auto const& cell : table.cells) {
        auto const unknown = !cell.not_counted.empty() && cell.ours == 0;
        text += fmt::format("| {} | {} | {} | {} | {} |\n", cell.name, span(cell),
                            unknown ? "" : fmt::format("{:.4g}", cell.ours),
                            unknown ? "" : fmt::format("{:+.1f} %", 100 * cell.error()),
                            cell.fitted                 ? "fitted"
                            : !cell.not_counted.empty() ? "not counted: " + cell.not_counted
                                                        : "");
    }
}

void left_out(std::string& text, const Table& table) {
    std::map<std::string, std::vector<const Cell*>> reasons;
    std::size_t fitted = 0;
    for (auto const& cell : table.cells) {
        fitted += cell.fitted ? 1U : 0U;
        if (!cell.not_counted.empty() && cell.ours != 0) {
            reasons[cell.not_counted].push_back(&cell);
        }
    }
    for (auto const& [reason, cells] : reasons) {
        auto worst = 0.0;
        for (auto const* const cell : cells) {
            worst = std::abs(cell->error()) > std::abs(worst) ? cell->error() : worst;
        }
        text += fmt::format("- {}: {} of {} cells not counted (error up to {:+.1f} %): {}.\n", table.title,
                            cells.size(), table.cells.size(), 100 * worst, reason);
    }
    if (fitted != 0) {
        auto worst = 0.0;
        for (auto const& cell : table.cells) {
            worst = cell.fitted && std::abs(cell.error()) > std::abs(worst) ? cell.error() : worst;
        }
        text += fmt::format("- {}: {} of {} cells fitted, so not judged (they differ by up to {:+.1f} %).\n",
                            table.title, fitted, table.cells.size(), 100 * worst);
    }
}

}  // namespace

std::string defaults_section(const std::vector<Table>& tables) {
    std::string text =
        "\n## Without the machines' own figures\n\n"
        "The same tables with the key `simulation` left out, so by the defaults alone: as a machine is simulated that "
        "is only\n"
        "described. All cells that are not left out count. The defaults were taken from some of these machines.\n\n"
        "| machine | table | median error | worst |\n|---|---|---|---|\n";
    for (auto table : tables) {
        for (auto& cell : table.cells) {
            cell.fitted = false;
        }
        auto const result = errors(table);
        if (result.counted != 0 && table.worst_bound != 0) {
            text += fmt::format("| {} | {} | {} | {} |\n", table.machine, table.title, percent(result.median),
                                percent(result.worst));
        }
    }
    return text;
}

std::string page(const std::vector<Table>& tables) {
    std::string text =
        "# Validation of the simulator\n\n"
        "Made by `make validation`: every published table beside the same transfers, made through the simulated driver "
        "on\n"
        "the named machine. No formula is asked. Rates in GB/s. Errors are relative; where the source gives a span, to "
        "its\n"
        "nearest end. Counted are the cells on which no constant of the machine was fitted; its document in "
        "`machines/`\n"
        "names the source of each constant, and `fitted_on` the tables. Bounds: pair matrices median 3 %, worst 10 %;\n"
        "staggered runs 2 %; totals of flows 8 %; tables of h200-pair median 5 %, worst 15 %. Tables without bounds "
        "are\n"
        "shown only. \"ours\" and \"theirs\" are the middle of all cells.\n\n"
        "## What was chosen with sight of what\n\n"
        "Not judged is not the same as not seen. Besides the cells marked fitted:\n\n"
        "- h200-pair: besides large copies and pushing by size, which alone were meant to be used, constants were read "
        "off single\n"
        "  rows that show what no other does: the fixed cost of a pull and of a leg to the host (4 KiB pulled; the "
        "pipeline by\n"
        "  256 KiB), of a launch, and how sectors and the cache act on reads that lie apart. The length of a pull's "
        "slow start was\n"
        "  chosen on the pulled rows of 256 KiB to 4 MiB, host costs of page copies on all rows of their table: with "
        "the cost\n"
        "  measured for a peer copy call (2.7 us) the loops would be 11, 7 and 1 % too slow, so that table proves "
        "nothing.\n"
        "  Reads 4 and 8 bytes apart are those of the kernel that was measured: our own touch kernel reaches 2594 and "
        "2053 on one\n"
        "  H200 where the table has 1682 and 1587, and agrees from 32 bytes on "
        "(bench/results/2026-11-30-h200-touch.txt).\n"
        "- h200-pair, copies at once: that what goes from one device to another comes one after the other, whoever "
        "issues "
        "it, was\n"
        "  chosen with sight of the rows \"two each way\" and \"four one way\"; that an engine keeps the link while it "
        "has more, that a device\n"
        "  pushes and pulls at once, and that it runs one copy more than its attribute says, with sight of the last "
        "three sets. They\n"
        "  prove only that the rules reproduce them. No\n"
        "  number was. What ports and the host's memory carry both ways was fitted on three rows of nvbandwidth; that "
        "copies into\n"
        "  the host get twice as much as copies out of it is taken from A100 machines (NVIDIA/nvbandwidth#53, #11).\n"
        "- h200-pair, blocks by one kernel: two figures fitted on the two rates of 512 bytes. The engine's time for a "
        "copy "
        "of a batch\n"
        "  call is assumed.\n"
        "- h800-8: two figures of host copies both ways fitted on two rows, the rows of all devices at once follow "
        "from "
        "them.\n"
        "- The shape of three rules came from tables that are judged, their numbers did not: a direction of a PCIe "
        "cable loses as\n"
        "  soon as the other is used (staggered runs at distance 2), a root port limits writes together but reads one "
        "by one\n"
        "  (pex890xx), requests of reads take an eighth of the way back over NVLink (h800, packets of 16 bytes for "
        "128: assumed).\n"
        "- rtx4090-8-dual-epyc: the staging limit is fitted on the one-way matrix and judged by the duplex span. "
        "Fitted on the span\n"
        "  instead, the one-way matrix would be 6 to 7 % off in the middle.\n"
        "- pex890xx-8: rows of the interference table are published totals put into rules. They show that the rules "
        "reproduce\n"
        "  them, not that they predict others. Without the rules this machine has two fitted constants.\n"
        "- dgx-2: leaving out cell 9>1 is our own decision.\n"
        "- Defaults by generation (machine-files.md) come from these same machines, and from public pages of others. "
        "What "
        "they are\n"
        "  worth for a machine that is not among them no table here can tell. The default rules of interference are "
        "those "
        "of\n"
        "  pex890xx-8 in proportion, so its row in the last section shows nothing.\n";
    std::string last;
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (tables[i].machine == last) {
            continue;
        }
        last = tables[i].machine;
        text += fmt::format(
            "\n## {}\n\n| table | counted | ours | theirs | median error | worst | where | |\n"
            "|---|---|---|---|---|---|---|---|\n",
            last);
        std::string more;
        std::string notes;
        for (auto const& table : tables) {
            if (table.machine == last) {
                summary(text, table);
                details(more, table);
                left_out(notes, table);
            }
        }
        text += more + (notes.empty() ? "" : "\n" + notes) + "\nSource: " + tables[i].source + ".\n";
    }
    return text;
}

}  // namespace peerlane::validation
