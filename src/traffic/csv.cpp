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

enum Column : std::size_t { src, dst, bytes, start, page, strategy, result };
constexpr std::size_t columns = result;  ///< what a result is belongs to nothing
struct Name {
    std::string_view word;
    Column column;
};
/// The last ones are what `--format csv` prints: its tables are tables of flows too.
constexpr std::array names{Name{"src", src},     Name{"dst", dst},           Name{"bytes", bytes},
                           Name{"start", start}, Name{"start_s", start},     Name{"end_s", result},
                           Name{"gbs", result},  Name{"strategy", strategy}, Name{"page", page}};
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
            check_width(cells);
            if (of_first_strategy(cells)) {
                flows_.push_back(flow_of(cells));
            }
        }
        if (flows_.empty()) {
            throw InputError(file_, 0, "there is no flow in it; a line is src,dst,bytes,start as 0,1,64MiB,0");
        }
        return std::move(flows_);
    }

  private:
    [[noreturn]] void fail(const std::string& why) const { throw InputError(file_, line_, why); }

    /// A cell in quotes may hold commas; what stands there in two quotes is no part of any place, size or time.
    Words cells_of(std::string_view line) const {
        Words cells;
        for (;;) {
            auto const begin = line.find_first_not_of(" \t");
            auto end = line.find(',');
            if (begin != std::string_view::npos && line[begin] == '"') {
                auto const close = line.find('"', begin + 1);
                if (close == std::string_view::npos) {
                    fail(fmt::format("a quote is not closed: {}", line.substr(begin)));
                }
                end = line.find(',', close);
                if (auto const more = trimmed(line.substr(close + 1, end - close - 1)); !more.empty()) {
                    fail(fmt::format("{} stands behind the quotes of a cell", more));
                }
                cells.push_back(trimmed(line.substr(begin + 1, close - begin - 1)));
            } else {
                cells.push_back(trimmed(line.substr(0, end)));
            }
            if (end == std::string_view::npos) {
                return cells;
            }
            line.remove_prefix(end + 1);
        }
    }

    static const Name* name_of(std::string_view cell) {
        auto const* const found =
            std::find_if(names.begin(), names.end(), [&](const Name& name) { return name.word == cell; });
        return found == names.end() ? nullptr : found;
    }

    static bool is_head(const Words& cells) {
        return std::any_of(cells.begin(), cells.end(), [](auto cell) { return name_of(cell) != nullptr; });
    }

    void read_head(const Words& cells) {
        columns_.fill(std::nullopt);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            auto const* const name = name_of(cells[i]);
            if (name == nullptr) {
                fail(fmt::format("there is no column \"{}\"; the columns are src, dst, bytes, start, page", cells[i]));
            }
            if (std::count(cells.begin(), cells.end(), cells[i]) > 1 ||
                (name->column != result && columns_[name->column])) {
                fail(fmt::format("the column \"{}\" stands here twice", cells[i]));
            }
            if (name->column != result) {
                columns_[name->column] = i;
            }
        }
        for (auto const needed : {src, dst, bytes}) {
            if (!columns_[needed]) {
                fail(fmt::format("the column \"{}\" is missing", names[needed].word));
            }
        }
        width_ = cells.size();
    }

    void check_width(const Words& cells) const {
        if (width_ != 0 ? cells.size() != width_ : cells.size() < 3 || cells.size() > 4) {
            fail(
                fmt::format("{} where src,dst,bytes,start belong{}",
                            cells.size() == 1 ? "one cell" : fmt::format("{} cells", cells.size()),
                            width_ != 0 ? fmt::format(" ({} by the first line)", width_) : " (start may be left out)"));
        }
    }

    /// Results of several strategies are the same flows again and again.
    bool of_first_strategy(const Words& cells) {
        auto const word = cell(cells, strategy);
        if (strategy_.empty()) {
            strategy_ = word;
        }
        return word == strategy_;
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
        if (auto const word = cell(cells, page); !word.empty()) {
            auto const of_page = parse_size(word);
            if (!of_page) {
                fail(fmt::format("page \"{}\" is no size; sizes are 4096, 64KiB; empty or 0: in one piece", word));
            }
            if (*of_page != 0 && flow.bytes % *of_page != 0) {
                fail(fmt::format("bytes \"{}\" is no whole number of pages of {}", cell(cells, bytes), word));
            }
            flow.page = *of_page;
        }
        return flow;
    }

    const std::string& file_;
    const Machine& machine_;
    const std::vector<int>& devices_;
    int line_ = 0;
    bool first_ = true;
    std::array<std::optional<std::size_t>, columns> columns_{0, 1, 2, 3};
    std::size_t width_ = 0;        ///< by the first line; 0: it has no names
    std::string_view strategy_{};  ///< of the first row
    std::vector<Flow> flows_{};
};

}  // namespace

std::vector<Flow> read_flows_csv(std::string_view text, const std::string& file, const Machine& machine,
                                 const std::vector<int>& devices) {
    return Reader(file, machine, devices).read(text);
}

}  // namespace peerlane
