#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/units.hpp>

#include "machine/write/writers.hpp"

namespace peerlane::write {
namespace {

constexpr const char* unknown = "-";

struct Cell {
    std::string text;
    const char* color = nullptr;
};

struct Style {
    bool color = false;
    bool markdown = false;
};

/// Names come from strangers' files: nothing in them may steer a terminal.
std::string printable(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return text;
}

/// Rows of cells, each column as wide as its widest cell.
class Grid {
  public:
    void row(std::vector<Cell> cells) {
        for (auto& cell : cells) {
            cell.text = printable(std::move(cell.text));
        }
        rows_.push_back(std::move(cells));
    }
    /// The first row is the head. In Markdown an empty line stands before the table.
    [[nodiscard]] std::string text(Style style) const { return style.markdown ? markdown() : aligned(style.color); }

  private:
    [[nodiscard]] std::string markdown() const {
        std::string out = "\n";
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (auto const& cell : rows_[i]) {
                out += "| " + cell.text + " ";
            }
            out += "|\n";
            for (std::size_t column = 0; i == 0 && column < rows_[0].size(); ++column) {
                out += "|---";
            }
            out += i == 0 ? "|\n" : "";
        }
        return out;
    }
    [[nodiscard]] std::string aligned(bool color) const {
        std::vector<std::size_t> widths;
        for (auto const& row : rows_) {
            widths.resize(std::max(widths.size(), row.size()));
            for (std::size_t i = 0; i < row.size(); ++i) {
                widths[i] = std::max(widths[i], row[i].text.size());
            }
        }
        std::string out;
        for (auto const& row : rows_) {
            std::string line;
            std::size_t blanks = 0;
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (!row[i].text.empty()) {
                    line.append(blanks, ' ');
                    blanks = 0;
                    bool const painted = color && row[i].color != nullptr;
                    line += painted ? fmt::format("\x1b[{}m{}\x1b[0m", row[i].color, row[i].text) : row[i].text;
                }
                blanks += widths[i] - row[i].text.size() + 2;
            }
            out += line + "\n";
        }
        return out;
    }

    std::vector<std::vector<Cell>> rows_;
};

const char* color_of(PathClass path) {
    switch (path) {
        case PathClass::nv:
        case PathClass::xgmi:
            return "32";
        case PathClass::pix:
        case PathClass::pxb:
            return "36";
        case PathClass::phb:
        case PathClass::node:
            return "33";
        case PathClass::sys:
            return "31";
        default:
            return nullptr;
    }
}

/// A rate that somebody measured for this direction, the copy engine's write first.
std::optional<double> measured_gbs(const Measured& measured) {
    for (auto const& rate : {measured.write_gbs, measured.read_gbs, measured.write_sm_gbs, measured.read_sm_gbs}) {
        if (rate) {
            return rate;
        }
    }
    return std::nullopt;
}

std::string path_text(const Pair& pair) {
    bool const fabric = pair.path == PathClass::nv || pair.path == PathClass::xgmi;
    return fabric && pair.nvlinks ? fmt::format("{}{}", to_string(pair.path), *pair.nvlinks) : to_string(pair.path);
}

std::string pair_text(const Pair& pair) {
    auto text = path_text(pair);
    if (auto const gbs = measured_gbs(pair.measured)) {
        text += " " + gbs_text(*gbs);
    }
    if (pair.nominal_gbs) {
        text += fmt::format(" ({})", gbs_text(*pair.nominal_gbs));
    }
    return text;
}

/// "yes", "no", with the driver's words where they are known: "no CNS".
std::string claim_text(const Pair& pair) {
    std::string text = pair.claim ? (*pair.claim ? "yes" : "no") : unknown;
    struct Word {
        const char* what;
        const std::optional<std::string>& word;
    };
    std::vector<std::string> parts;
    for (auto const& part : {Word{"r", pair.claims.read}, Word{"w", pair.claims.write}, Word{"n", pair.claims.nvlink},
                             Word{"a", pair.claims.atomics}, Word{"p", pair.claims.pcie}}) {
        if (part.word) {
            parts.push_back(fmt::format("{}:{}", part.what, *part.word));
        }
    }
    return parts.empty() ? text : fmt::format("{} {}", text, fmt::join(parts, " "));
}

template <typename T>
std::string or_unknown(const std::optional<T>& value) {
    return value ? fmt::format("{}", *value) : unknown;
}

std::string gpu(int id) {
    return fmt::format("gpu{}", id);
}

template <typename Text>
std::string pair_matrix(const Machine& machine, Style style, Text text) {
    Grid grid;
    std::vector<Cell> head{{""}};
    for (auto const& device : machine.devices) {
        head.push_back({gpu(device.id)});
    }
    grid.row(std::move(head));
    for (auto const& from : machine.devices) {
        std::vector<Cell> row{{gpu(from.id)}};
        for (auto const& to : machine.devices) {
            auto const* const pair = machine.pair(from.id, to.id);
            row.push_back(pair == nullptr ? Cell{"X"} : Cell{text(*pair), color_of(pair->path)});
        }
        grid.row(std::move(row));
    }
    return grid.text(style);
}

/// Strided CPU lists of big hosts are longer than a line; the document has them whole.
std::string short_text(const std::string& text) {
    constexpr std::size_t longest = 32;
    return text.size() <= longest ? text : text.substr(0, longest - 3) + "...";
}

std::string devices_text(const Machine& machine, Style style) {
    Grid grid;
    grid.row({{"device"}, {"bus"}, {"model"}, {"numa"}, {"cpus"}, {"pcie"}, {"nvlinks"}});
    for (auto const& device : machine.devices) {
        auto const pcie =
            device.pcie_generation || device.pcie_width
                ? fmt::format("{} x{}", device.pcie_generation ? fmt::format("gen{}", *device.pcie_generation) : "gen?",
                              device.pcie_width ? fmt::format("{}", *device.pcie_width) : "?")
                : unknown;
        auto const numa = device.numa ? fmt::format("{}", *device.numa) : or_unknown(device.numa_text);
        auto const mig = device.mig.value_or(false) ? fmt::format("  MIG, {} instances", device.mig_instances) : "";
        grid.row({{gpu(device.id)},
                  {or_unknown(device.bus)},
                  {or_unknown(device.model)},
                  {numa},
                  {short_text(or_unknown(device.cpu_affinity))},
                  {pcie},
                  {or_unknown(device.nvlinks) + mig}});
    }
    return grid.text(style);
}

std::string nics_text(const Machine& machine, Style style) {
    Grid grid;
    std::vector<Cell> head{{""}};
    for (auto const& device : machine.devices) {
        head.push_back({gpu(device.id)});
    }
    head.push_back({"bus"});
    grid.row(std::move(head));
    std::vector<std::string> elsewhere;
    for (auto const& nic : machine.nics) {
        bool const placed = nic.bus || std::any_of(nic.paths.begin(), nic.paths.end(),
                                                   [](PathClass p) { return p != PathClass::unknown; });
        if (!placed) {
            elsewhere.push_back(printable(nic.name));
            continue;
        }
        std::vector<Cell> row{{nic.name}};
        for (auto const path : nic.paths) {
            row.push_back({to_string(path), color_of(path)});
        }
        row.push_back({nic.bus.value_or(unknown)});
        grid.row(std::move(row));
    }
    auto out = elsewhere.size() < machine.nics.size() ? grid.text(style) : std::string();
    if (!elsewhere.empty()) {
        out += fmt::format("{}not on PCI as far as told: {}\n", style.markdown ? "\n" : "", fmt::join(elsewhere, ", "));
    }
    return out;
}

std::string host_text(const Machine& machine, Style style) {
    Grid grid;
    grid.row({{""}, {"host to device"}, {"device to host"}, {"the same, other way busy"}});
    for (auto const& host : machine.host) {
        auto const rate = [](const std::optional<double>& gbs) { return gbs ? gbs_text(*gbs) : std::string(unknown); };
        grid.row({{gpu(host.device)},
                  {rate(host.to_device_gbs)},
                  {rate(host.from_device_gbs)},
                  {rate(host.to_device_loaded_gbs) + " and " + rate(host.from_device_loaded_gbs)}});
    }
    return grid.text(style);
}

}  // namespace

std::string table(const Machine& machine, const TableOptions& options) {
    auto const& origin = machine.origin;
    Style const style{options.color && !options.markdown, options.markdown};
    Style const plain{false, options.markdown};
    std::string out = fmt::format("{} device{}", machine.devices.size(), machine.devices.size() == 1 ? "" : "s");
    if (!origin.name.empty()) {
        out += ", machine " + origin.name;
    }
    if (!origin.files.empty()) {
        out += fmt::format(", from {}", fmt::join(origin.files, ", "));
    }
    if (origin.virtualized.value_or(false)) {
        out += ", a guest's view";
    }
    out += "\n";
    if (!machine.devices.empty()) {
        out += "\n" + devices_text(machine, plain);
    }
    auto const& pairs = machine.pairs;
    if (!pairs.empty()) {
        auto const any = [&](auto test) { return std::any_of(pairs.begin(), pairs.end(), test); };
        bool const measured = any([](const Pair& p) { return measured_gbs(p.measured).has_value(); });
        bool const nominal = any([](const Pair& p) { return p.nominal_gbs.has_value(); });
        out += fmt::format("\nPaths, row to column{}{}{}\n", measured || nominal ? "; GB/s" : "",
                           measured ? " measured" : "", nominal ? " (nominal)" : "");
        out += pair_matrix(machine, style, pair_text);
        if (any([](const Pair& p) { return p.measured.staged_gbs.has_value(); })) {
            out += "\nWith peer access off, row to column; GB/s measured\n";
            out += pair_matrix(machine, plain, [](const Pair& p) {
                return p.measured.staged_gbs ? gbs_text(*p.measured.staged_gbs) : std::string(unknown);
            });
        }
        if (any([](const Pair& p) { return p.measured.bidirectional_gbs.has_value(); })) {
            out += "\nBoth ways at once, sum; GB/s measured\n";
            out += pair_matrix(machine, plain, [](const Pair& p) {
                return p.measured.bidirectional_gbs ? gbs_text(*p.measured.bidirectional_gbs) : std::string(unknown);
            });
        }
        if (any([](const Pair& p) { return p.claim || p.claims != Claims{}; })) {
            out += "\nPeer access as the driver claims it, row reaches into column\n";
            out += pair_matrix(machine, plain, claim_text);
        }
    }
    if (!machine.host.empty()) {
        out += "\nHost; GB/s measured\n" + host_text(machine, plain);
    }
    if (!machine.nics.empty()) {
        out += "\nNetwork adapters\n" + nics_text(machine, style);
    }
    if (options.notices && !machine.notices.empty()) {
        out += "\n";
        for (auto const& notice : machine.notices) {
            auto const where = notice.line > 0 ? fmt::format("{}:{}", notice.file, notice.line) : notice.file;
            out += fmt::format("notice {}: {}{}{}\n", notice.code, where, where.empty() ? "" : ": ",
                               printable(notice.text));
        }
    }
    return out;
}

}  // namespace peerlane::write
