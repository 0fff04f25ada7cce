// Flows from a table of commas.

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/traffic.hpp>
#include <peerlane/units.hpp>

#include "traffic/places.hpp"

namespace peerlane {
namespace {

using traffic::trimmed;
using traffic::Words;

constexpr std::array<std::string_view, 4> names{"src", "dst", "bytes", "start"};
enum Column : std::size_t { src, dst, bytes, start };
constexpr std::size_t most_flows = 10'000'000;

class Reader {
  public:
    Reader(const std::string& file, const Machine& machine, const std::vector<int>& devices)
        : file_(file), machine_(machine), devices_(devices) {}

    std::vector<Flow> read(std::string_view text) {
        if (text.substr(0, 3) == "\xef\xbb\xbf") {  // a mark of the encoding that spreadsheets write
            text.remove_prefix(3);
        }
        for (auto const line : traffic::split(text, '\n')) {
            ++line_;
            auto const kept = trimmed(line);
            if (kept.empty() || kept.front() == '#') {
                continue;
            }
            auto const cells = cells_of(kept);
            if (first_) {
                first_ = false;
                if (is_head(cells)) {
                    read_head(cells);
                    continue;
                }
            }
            if (flows_.size() == most_flows) {
                fail(fmt::format("more than {} flows", most_flows));
            }
            flows_.push_back(flow_of(cells));
        }
        if (flows_.empty()) {
            throw InputError(file_, 0, "there is no flow in it; a line is src,dst,bytes,start as 0,1,64MiB,0");
        }
        return std::move(flows_);
    }

  private:
    [[noreturn]] void fail(const std::string& why) const { throw InputError(file_, line_, why); }

    Words cells_of(std::string_view line) const {
        auto cells = traffic::split(line, ',');
        for (auto& cell : cells) {
            cell = trimmed(cell);
            auto const quoted = !cell.empty() && cell.front() == '"';
            if (quoted && (cell.size() < 2 || cell.back() != '"')) {
                fail(fmt::format("a quote is not closed: {}", cell));
            }
            cell = quoted ? trimmed(cell.substr(1, cell.size() - 2)) : cell;
        }
        return cells;
    }

    static bool is_head(const Words& cells) {
        return std::any_of(cells.begin(), cells.end(),
                           [](auto cell) { return std::find(names.begin(), names.end(), cell) != names.end(); });
    }

    void read_head(const Words& cells) {
        columns_.fill(std::nullopt);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            auto const* const name = std::find(names.begin(), names.end(), cells[i]);
            if (name == names.end()) {
                fail(fmt::format("there is no column \"{}\"; the columns are src, dst, bytes, start", cells[i]));
            }
            auto& column = columns_[static_cast<std::size_t>(name - names.begin())];
            if (column) {
                fail(fmt::format("the column \"{}\" stands here twice", cells[i]));
            }
            column = i;
        }
        for (auto const needed : {src, dst, bytes}) {
            if (!columns_[needed]) {
                fail(fmt::format("the column \"{}\" is missing", names[needed]));
            }
        }
        width_ = cells.size();
    }

    std::string_view cell(const Words& cells, Column column) const {
        auto const index = columns_[column];
        return index && *index < cells.size() ? cells[*index] : std::string_view();
    }

    Place place(std::string_view word, const char* column) const {
        try {
            return traffic::place_of(word, machine_, devices_);
        } catch (const std::invalid_argument& error) {
            fail(fmt::format("{}: {}", column, error.what()));
        }
    }

    Flow flow_of(const Words& cells) const {
        if (width_ != 0 ? cells.size() != width_ : cells.size() < 3 || cells.size() > 4) {
            fail(
                fmt::format("{} where src,dst,bytes,start belong{}",
                            cells.size() == 1 ? "one cell" : fmt::format("{} cells", cells.size()),
                            width_ != 0 ? fmt::format(" ({} by the first line)", width_) : " (start may be left out)"));
        }
        Flow flow;
        flow.src = place(cell(cells, src), "src");
        flow.dst = place(cell(cells, dst), "dst");
        if (flow.src == flow.dst) {
            fail(fmt::format("src and dst are both {}: nothing to move", to_string(flow.src)));
        }
        if (flow.src.is_host() && flow.dst.is_host()) {
            fail("src and dst are both the host's: no device takes part");
        }
        auto const size = parse_size(cell(cells, bytes));
        if (!size || *size == 0) {
            fail(fmt::format("bytes \"{}\" is no size above 0; sizes are 4096, 64MiB, 1GB", cell(cells, bytes)));
        }
        flow.bytes = *size;
        if (auto const word = cell(cells, start); !word.empty()) {
            auto const number = parse_number(word);
            auto const time = number ? number : parse_seconds(word);
            if (!time || *time < 0) {
                fail(fmt::format("start \"{}\" is no time; times are seconds (0.001) or 1ms, 20us", word));
            }
            flow.start_s = *time;
        }
        return flow;
    }

    const std::string& file_;
    const Machine& machine_;
    const std::vector<int>& devices_;
    int line_ = 0;
    bool first_ = true;
    std::array<std::optional<std::size_t>, 4> columns_{0, 1, 2, 3};
    std::size_t width_ = 0;  ///< by the first line; 0: it has no names
    std::vector<Flow> flows_{};
};

}  // namespace

std::vector<Flow> read_flows_csv(std::string_view text, const std::string& file, const Machine& machine,
                                 const std::vector<int>& devices) {
    return Reader(file, machine, devices).read(text);
}

}  // namespace peerlane
