#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <peerlane/error.hpp>
#include <peerlane/named.hpp>

#include "play.hpp"
#include "table.hpp"

namespace peerlane::validation {
namespace {

using nlohmann::json;

/// The named machine of a published one, and which of its devices the source numbered (empty: the same numbers).
struct Twin {
    const char* published;
    const char* machine;
    std::vector<int> devices{};
};
const std::vector<Twin> twins{
    {"a100-pcie-pairs-vm", "a100-pcie-pairs-4"},
    {"a6000-x6-dual-socket", "a6000-6"},
    {"dgx-1v", "dgx-1v"},
    {"dgx-2-staged", "dgx-2", {1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},  // joined by bus address
    {"gb200-nvl4", "gb200-4"},
    {"h800", "h800-8"},
    {"hgx-h100", "h100-8"},
    {"lumi-g-mi250x", "mi250x-8"},
    {"mi300x-x8", "mi300x-8"},
    {"pex890xx", "pex890xx-8"},
    {"rtx3090-x8-no-p2p", "rtx3090-no-p2p-8"},
    {"rtx4090-dual-epyc", "rtx4090-8-dual-epyc"},
    {"six-gpu-p2p-hurts", "rtx4090-6-p2p-hurts"},
    {"switchtec-flat", "switchtec-flat-8"},
    {"switchtec-root-leaf", "switchtec-root-leaf-8"},
    {"v100-partial-mesh", "v100-partial-mesh"},
};

/// Cells that their own source shows as odd.
std::string odd_cell(const std::string& machine, const std::string& key, int a, int b) {
    if (machine == "v100-partial-mesh" && ((key == "uni on write" && a == 2 && b == 3) ||
                                           (key == "bi on" && std::min(a, b) == 2 && std::max(a, b) == 3))) {
        return "the source reads 38.3 one way and 48.3 the other over the same links";
    }
    if (machine == "dgx-2" && key == "uni off" && a == 9 && b == 1) {
        return "our own exclusion (counted, it would be 14.3 % off): a single run; every other source, its neighbour "
               "on the switch too, reaches 10.6 to 11.1 into that "
               "device";
    }
    if (machine == "pex890xx-8" && key == "bi on" && a / 4 != b / 4) {
        return "across chips the source's duplex rate is more than twice its one-way rate of 36 to 40: other tools";
    }
    return {};
}

class Reader {
  public:
    Reader(const json& document, Twin twin) : document_(document), twin_(std::move(twin)) {
        machine_ = load_machine(twin_.machine).machine();
        for (auto const& named : named_machines()) {
            if (named.name == twin_.machine) {
                collect_fitted(json::parse(named.document).value("simulation", json::object()));
            }
        }
        groups("switches");
        groups("sockets");
    }

    std::vector<Table> read() {
        for (auto const& table : document_.at("tables")) {
            read_table(table);
        }
        read_flows();
        return std::move(tables_);
    }

  private:
    void collect_fitted(const json& value) {
        if (value.is_object() && value.contains("fitted_on")) {
            for (auto const& on : value["fitted_on"]) {
                fitted_.insert(on.get<std::string>());
            }
        }
        if (value.is_structured()) {
            for (auto const& part : value) {
                collect_fitted(part);
            }
        }
    }

    void groups(const char* name) {
        auto const& topology = document_.at("machine").at("topology");
        if (!topology.contains(name) || !topology[name].is_array()) {
            return;
        }
        int number = 0;
        for (auto const& group : topology[name]) {
            for (auto const& device : group.is_object() ? group["devices"] : group) {
                group_[name][device.get<int>()] = number;
            }
            ++number;
        }
    }

    [[nodiscard]] bool together(const char* name, int a, int b) const {
        auto const found = group_.find(name);
        return found != group_.end() && found->second.count(a) != 0 && found->second.count(b) != 0 &&
               found->second.at(a) == found->second.at(b);
    }

    /// Whether a pair lies where the source's words say. Empty when the words are not known.
    [[nodiscard]] std::optional<bool> lies(const std::string& where, int a, int b) const {
        auto const has = [&](const char* words) { return where.find(words) != std::string::npos; };
        auto const one_switch = together("switches", a, b);
        auto const one_socket = together("sockets", a, b);
        if (has("redirect on")) {
            return std::nullopt;
        }
        if (has("other virtual switch")) {
            return one_socket && !one_switch;
        }
        if (has("same switch") || has("same virtual switch")) {
            return one_switch;
        }
        if (has("across switches")) {
            return !one_switch;
        }
        if (has("inside a group")) {
            return one_socket;
        }
        if (has("across groups") || has("across chips")) {
            return !one_socket;
        }
        return std::nullopt;
    }

    [[nodiscard]] int device(int published) const {
        return twin_.devices.empty() ? published : twin_.devices[static_cast<std::size_t>(published)];
    }
    [[nodiscard]] int devices() const { return document_.at("machine").at("devices").get<int>(); }

    [[nodiscard]] std::string pair_class(int a, int b, bool access) const {
        auto const* const pair = machine_.pair(device(a), device(b));
        if (!access || !pair->claim.value_or(true)) {
            return "staged";
        }
        return pair->path == PathClass::nv || pair->path == PathClass::xgmi ? "fabric" : "pcie";
    }

    [[nodiscard]] bool fitted(const std::string& key, const std::string& part) const {
        return fitted_.count(key) != 0 || fitted_.count(key + ": " + part) != 0;
    }

    void read_table(const json& source) {
        auto const what = source.at("what").get<std::string>();
        auto const p2p = source.at("p2p").get<std::string>();
        auto const engine = source.at("engine").get<std::string>();
        auto const direction = source.at("direction").get<std::string>();
        key_ = what + " " + p2p + (direction == "unknown" ? "" : " " + direction);
        Table table;
        table.machine = twin_.machine;
        table.source = source.value("source", document_.at("source").get<std::string>());
        table.access = p2p == "on";
        table.title = fmt::format("{}{}{}{}", key_, engine == "unknown" ? "" : ", " + engine,
                                  source.contains("tool") ? ", " + source["tool"].get<std::string>() : "",
                                  source.contains("row") ? ", " + source["row"].get<std::string>() : "");
        if (what == "latency_us" || what == "links" || source.contains("curve")) {
            table.not_compared = what == "links" ? "a table of links, which the machine's document holds"
                                 : what == "latency_us"
                                     ? "round trips of tools that are not transfers; the simulator has no such figure"
                                     : "sizes through MPI, whose protocol is not simulated";
            tables_.push_back(std::move(table));
            return;
        }
        kernel_ = engine == "sm";
        pulled_ = direction == "read";
        if (what == "uni" || what == "bi") {
            table.median_bound = 0.03;
            table.worst_bound = 0.10;
            read_pairs(source, what == "bi", table);
        } else {
            read_devices(source, what, table);
        }
        tables_.push_back(std::move(table));
    }

    [[nodiscard]] Transfer one(int a, int b) const {
        return pulled_ ? pull(device(a), device(b), kernel_) : push(device(a), device(b), kernel_);
    }

    void add_pair(Table& table, bool both, int a, int b, double low, double high, const std::string& part) {
        Cell cell;
        cell.name = fmt::format("{}>{}", a, b);
        cell.low = low;
        cell.high = high;
        cell.not_counted = odd_cell(table.machine, key_, a, b);
        cell.fitted = fitted(key_, part);
        std::vector<Transfer> transfers{one(a, b)};
        if (both) {
            transfers.push_back(one(b, a));
        }
        cell.play = [transfers](Driver& driver) { return sum_of_rates(driver, transfers); };
        table.cells.push_back(std::move(cell));
    }

    void read_pairs(const json& source, bool both, Table& table) {
        auto const every = [&](auto&& visit) {
            for (int a = 0; a < devices(); ++a) {
                for (int b = 0; b < devices(); ++b) {
                    if (a != b) {
                        visit(a, b);
                    }
                }
            }
        };
        auto const span = [&](const json& range, auto&& part) {
            every([&](int a, int b) {
                if (auto const name = part(a, b)) {
                    add_pair(table, both, a, b, range[0].get<double>(), range[1].get<double>(), *name);
                }
            });
        };
        if (source.at("matrix").is_array()) {
            every([&](int a, int b) {
                auto const& cell = source["matrix"][static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
                if (cell.is_number()) {
                    add_pair(table, both, a, b, cell.get<double>(), cell.get<double>(), pair_class(a, b, table.access));
                }
            });
        } else if (source.contains("per_column")) {
            every([&](int a, int b) {
                auto const& cell = source["per_column"][static_cast<std::size_t>(b)];
                if (cell.is_number()) {
                    add_pair(table, both, a, b, cell.get<double>(), cell.get<double>(), pair_class(a, b, table.access));
                }
            });
        } else if (source.contains("tiers")) {
            for (auto const& tier : source["tiers"]) {
                auto const links = tier.at("links").get<int>();
                span(tier.at("range"), [&](int a, int b) -> std::optional<std::string> {
                    auto const* const pair = machine_.pair(device(a), device(b));
                    return pair->nvlinks.value_or(0) == links ? std::optional(fmt::format("links {}", links))
                                                              : std::nullopt;
                });
            }
        } else if (source.contains("ranges")) {
            for (auto const& range : source["ranges"]) {
                auto const where = range.at("where").get<std::string>();
                span(range.at("range"), [&](int a, int b) -> std::optional<std::string> {
                    return lies(where, a, b).value_or(false) ? std::optional(where) : std::nullopt;
                });
            }
        } else if (table.title.find("4-link") != std::string::npos) {
            span(source.at("range"), [&](int a, int b) -> std::optional<std::string> {
                return machine_.pair(device(a), device(b))->nvlinks.value_or(0) == 4 ? std::optional(std::string())
                                                                                     : std::nullopt;
            });
        } else {
            span(source.at("range"), [&](int a, int b) { return std::optional(pair_class(a, b, table.access)); });
        }
        if (table.cells.empty()) {
            table.not_compared = "no pair lies where the source says";
        }
    }

    /// Rows with one value a device: copies from and to host memory, one to all, all to one.
    void read_devices(const json& source, const std::string& what, Table& table) {
        auto const row = source.value("row", std::string());
        auto const in = what == "host_to_device";
        auto const leg = [&](int d, bool into) {
            auto const memory = host(machine_.device(device(d))->numa.value_or(0));
            return into ? Transfer{memory, gpu(device(d)), device(d)} : Transfer{gpu(device(d)), memory, device(d)};
        };
        for (int d = 0; d < devices(); ++d) {
            std::vector<Transfer> transfers;
            auto total = false;
            if (what == "fan_in" || what == "fan_out") {
                total = true;
                for (int other = 0; other < devices(); ++other) {
                    if (other != d) {
                        transfers.push_back(what == "fan_in" ? one(other, d) : one(d, other));
                    }
                }
            } else {
                transfers.push_back(leg(d, in));
                auto const duplex = row.find("duplex") != std::string::npos || row.find("under") != std::string::npos;
                auto const all = row.find("all") != std::string::npos;
                for (int other = 0; other < devices(); ++other) {
                    if (all && other != d) {
                        transfers.push_back(leg(other, in));
                    }
                    if (duplex && (all || other == d)) {
                        transfers.push_back(leg(other, !in));
                        transfers.back().bytes *= 2;  // runs all the while that this direction is timed
                    }
                }
            }
            auto const theirs = source.at("per_device")[static_cast<std::size_t>(d)].get<double>();
            Cell cell{std::to_string(d), theirs, theirs, {}, {}, fitted(key_, row)};
            cell.play = [transfers, total](Driver& driver) {
                return total ? bytes_over_makespan(driver, transfers) : first_rate(driver, transfers);
            };
            table.cells.push_back(std::move(cell));
        }
    }

    void read_flows() {
        Table staggered, totals;
        for (auto* table : {&staggered, &totals}) {
            table->machine = twin_.machine;
            table->source = document_.at("source").get<std::string>();
        }
        staggered.title = "flows all at once, mean of the flows' rates";
        staggered.median_bound = staggered.worst_bound = 0.02;
        totals.title = "flows all at once, bytes over makespan";
        totals.median_bound = totals.worst_bound = twin_.machine == std::string("mi300x-8") ? 0 : 0.08;
        for (auto const& flow : document_.at("flows")) {
            auto const mean = flow.at("accounting").get<std::string>().rfind("mean", 0) == 0;
            Cell cell;
            auto const read = flow.at("kind") == "read";
            cell.name = flow.at("pattern").get<std::string>() + (read ? ", read" : "");
            if (flow.contains("rig")) {
                cell.name += ", " + (flow["rig"].is_number() ? "rig " + std::to_string(flow["rig"].get<int>())
                                                             : flow["rig"].get<std::string>());
            }
            cell.fitted = fitted_.count("flows: " + cell.name) != 0;
            auto const& value = mean ? flow.at("per_flow_gbs") : flow.at("total_gbs");
            if (value.is_number()) {
                cell.low = cell.high = value.get<double>();
            } else {
                cell.low = flow.at("total_range_gbs")[0].get<double>();
                cell.high = flow.at("total_range_gbs")[1].get<double>();
            }
            std::vector<Transfer> transfers;
            if (!flow.at("flows").is_array()) {
                cell.not_counted = "the source does not say which devices";
                cell.play = [](Driver&) { return 0.0; };
            } else {
                for (auto const& pair : flow["flows"]) {
                    auto const accessor = pair[0].get<int>();
                    auto const other = pair[1].get<int>();
                    auto const kernel = twin_.machine == std::string("mi300x-8");
                    transfers.push_back(read ? pull(device(other), device(accessor), kernel)
                                             : push(device(accessor), device(other), kernel));
                }
                cell.play = [transfers, mean](Driver& driver) {
                    return mean ? mean_rate(driver, transfers) : bytes_over_makespan(driver, transfers);
                };
            }
            (mean ? staggered : totals).cells.push_back(std::move(cell));
        }
        for (auto* table : {&staggered, &totals}) {
            if (!table->cells.empty()) {
                tables_.push_back(std::move(*table));
            }
        }
    }

    const json& document_;
    Twin twin_;
    Machine machine_;
    std::set<std::string> fitted_;
    std::map<std::string, std::map<int, int>> group_;
    std::vector<Table> tables_;
    std::string key_;
    bool kernel_ = false, pulled_ = false;
};

}  // namespace

std::vector<Table> read_published(const std::string& path) {
    try {
        auto const document = json::parse(read_input(path));
        auto const name = document.at("name").get<std::string>();
        for (auto const& twin : twins) {
            if (name == twin.published) {
                return Reader(document, twin).read();
            }
        }
        Table unknown;
        unknown.machine = name;
        unknown.title = "all tables";
        unknown.source = document.at("source").get<std::string>();
        unknown.not_compared = "no named machine stands for it";
        return {unknown};
    } catch (const json::exception& error) {
        throw InputError(path, 0, error.what());
    }
}

}  // namespace peerlane::validation
