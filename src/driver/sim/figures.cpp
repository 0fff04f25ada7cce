#include "driver/sim/figures.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <peerlane/error.hpp>

namespace peerlane::sim {
namespace {

using nlohmann::json;

class Reader {
  public:
    Reader(const json& object, const std::string& file) : object_(object), file_(file) {}

    void operator()(const char* key, double& into) {
        if (auto const* value = find(key)) {
            into = number(*value, key);
        }
    }
    void operator()(const char* key, std::optional<double>& into) {
        if (auto const* value = find(key)) {
            into = number(*value, key);
        }
    }
    void operator()(const char* key, int& into) {
        if (auto const* value = find(key)) {
            into = static_cast<int>(number(*value, key));
        }
    }
    void operator()(const char* key, bool& into) {
        if (auto const* value = find(key)) {
            auto const& plain = value->is_object() ? value->value("value", json{}) : *value;
            if (!plain.is_boolean()) {
                refuse(key, "is not true or false");
            }
            into = plain.get<bool>();
        }
    }
    void operator()(const char* key, std::vector<CapacityFigure>& into) {
        auto const* value = find(key);
        if (value == nullptr) {
            return;
        }
        if (!value->is_array()) {
            refuse(key, "is not a list");
        }
        for (auto const& entry : *value) {
            if (!entry.is_object() || !entry.contains("gbs") ||
                (!entry.contains("kind") && !(entry.contains("from") && entry.contains("to")))) {
                refuse(key, "has an entry without gbs, or without kind or from and to");
            }
            auto const word = [&](const char* name) {
                auto const found = entry.find(name);
                if (found != entry.end() && !found->is_string()) {
                    refuse(key, fmt::format("has an entry whose {} is no text", name));
                }
                return found == entry.end() ? std::string() : found->get<std::string>();
            };
            into.push_back({word("from"), word("to"), word("kind"), number(entry["gbs"], key)});
        }
    }
    void operator()(const char* key, std::optional<std::vector<InterferenceFigure>>& into) {
        auto const* value = find(key);
        if (value == nullptr) {
            return;
        }
        into.emplace();
        if (!value->is_array()) {
            refuse(key, "is not a list");
        }
        for (auto const& entry : *value) {
            auto const kind = entry.is_object() ? entry.find("kind") : entry.end();
            if (!entry.is_object() || kind == entry.end() || (*kind != "write" && *kind != "read") ||
                !entry.contains("port_gbs")) {
                refuse(key, "has an entry without port_gbs, or whose kind is neither write nor read");
            }
            InterferenceFigure rule;
            rule.write = *kind == "write";
            rule.port_gbs = number(entry["port_gbs"], key);
            auto const count = [&](const char* name, int& number_of) {
                if (entry.contains(name)) {
                    number_of = static_cast<int>(std::min(1e6, number(entry[name], key)));
                }
            };
            count("flows", rule.flows);
            count("devices", rule.devices);
            count("ports", rule.ports);
            count("busy_ports", rule.busy_ports);
            if (entry.contains("both_ways")) {
                if (!entry["both_ways"].is_boolean()) {
                    refuse(key, "has an entry whose both_ways is not true or false");
                }
                rule.both_ways = entry["both_ways"].get<bool>();
            }
            if (rule.port_gbs <= 0) {
                refuse(key, "has a rate of 0");
            }
            into->push_back(rule);
        }
    }
    void finish() {
        for (auto const& [key, value] : object_.items()) {
            if (!known_.count(key)) {
                throw InputError(file_, 0, fmt::format("simulation.{}: no such figure", key));
            }
        }
    }

  private:
    const json* find(const char* key) {
        known_[key] = true;
        auto const found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }
    double number(const json& value, const char* key) {
        auto const* plain = &value;
        if (value.is_object()) {
            auto const found = value.find("value");
            if (found == value.end()) {
                refuse(key, "has no \"value\"");
            }
            plain = &*found;
        }
        if (!plain->is_number() || plain->get<double>() < 0 || plain->get<double>() > 1e18) {
            refuse(key, "is not a number of at least 0");
        }
        return plain->get<double>();
    }
    [[noreturn]] void refuse(const char* key, const std::string& why) {
        throw InputError(file_, 0, fmt::format("simulation.{} {}", key, why));
    }

    const json& object_;
    const std::string& file_;
    std::map<std::string, bool> known_;
};

template <class Visit>
void visit(Figures& f, Visit&& on) {
#define PEERLANE_FIGURE(name) on(#name, f.name)
    PEERLANE_FIGURE(pcie_efficiency);
    PEERLANE_FIGURE(nvlink_efficiency);
    PEERLANE_FIGURE(xgmi_efficiency);
    PEERLANE_FIGURE(interconnect_efficiency);
    PEERLANE_FIGURE(pcie_duplex);
    PEERLANE_FIGURE(nvlink_duplex);
    PEERLANE_FIGURE(xgmi_duplex);
    PEERLANE_FIGURE(host_port_duplex);
    PEERLANE_FIGURE(crossing_gbs);
    PEERLANE_FIGURE(root_crossing_gbs);
    PEERLANE_FIGURE(crossing_duplex);
    PEERLANE_FIGURE(busy_port_efficiency);
    PEERLANE_FIGURE(xgmi_routed_efficiency);
    PEERLANE_FIGURE(interference);
    PEERLANE_FIGURE(capacities);
    PEERLANE_FIGURE(copy_engines);
    PEERLANE_FIGURE(multiprocessors);
    PEERLANE_FIGURE(local_gbs);
    PEERLANE_FIGURE(host_memory_gbs);
    PEERLANE_FIGURE(peer_copy_gbs);
    PEERLANE_FIGURE(peer_pull_gbs);
    PEERLANE_FIGURE(kernel_store_efficiency);
    PEERLANE_FIGURE(kernel_load_efficiency);
    PEERLANE_FIGURE(kernel_store_gbs_per_cta);
    PEERLANE_FIGURE(kernel_load_gbs_per_cta);
    PEERLANE_FIGURE(to_device_gbs);
    PEERLANE_FIGURE(from_device_gbs);
    PEERLANE_FIGURE(host_duplex_gbs);
    PEERLANE_FIGURE(staged_by_driver_gbs);
    PEERLANE_FIGURE(staged_by_driver_fraction);
    PEERLANE_FIGURE(staged_total_gbs);
    PEERLANE_FIGURE(staged_shared_uplink);
    PEERLANE_FIGURE(staged_duplex);
    PEERLANE_FIGURE(to_host_share);
    PEERLANE_FIGURE(pageable_gbs);
    PEERLANE_FIGURE(push_fixed_s);
    PEERLANE_FIGURE(pull_fixed_s);
    PEERLANE_FIGURE(host_leg_fixed_s);
    PEERLANE_FIGURE(local_fixed_s);
    PEERLANE_FIGURE(staged_fixed_s);
    PEERLANE_FIGURE(batch_fixed_s);
    PEERLANE_FIGURE(kernel_fixed_s);
    PEERLANE_FIGURE(piece_overhead_bytes);
    PEERLANE_FIGURE(piece_s);
    PEERLANE_FIGURE(kernel_start_s);
    PEERLANE_FIGURE(loaded_load_s);
    PEERLANE_FIGURE(cache_bytes);
    PEERLANE_FIGURE(pull_ramp_gbs);
    PEERLANE_FIGURE(start_latency_s);
    PEERLANE_FIGURE(event_latency_s);
    PEERLANE_FIGURE(remote_load_s);
    PEERLANE_FIGURE(local_load_s);
    PEERLANE_FIGURE(fetch_add_s);
    PEERLANE_FIGURE(flag_s);
    PEERLANE_FIGURE(host_store_s);
    PEERLANE_FIGURE(copy_call_s);
    PEERLANE_FIGURE(plain_copy_call_s);
    PEERLANE_FIGURE(batch_copy_s);
    PEERLANE_FIGURE(batch_growth_s);
    PEERLANE_FIGURE(launch_call_s);
    PEERLANE_FIGURE(graph_launch_call_s);
    PEERLANE_FIGURE(small_call_s);
    PEERLANE_FIGURE(sync_idle_s);
    PEERLANE_FIGURE(sync_wake_s);
    PEERLANE_FIGURE(query_s);
    PEERLANE_FIGURE(poll_s);
    PEERLANE_FIGURE(provenance_s);
    PEERLANE_FIGURE(can_access_s);
    PEERLANE_FIGURE(enable_s);
    PEERLANE_FIGURE(disable_s);
    PEERLANE_FIGURE(grant_s);
    PEERLANE_FIGURE(allocate_s);
    PEERLANE_FIGURE(pinned_s_per_byte);
    PEERLANE_FIGURE(host_memory_bytes);
    PEERLANE_FIGURE(device_memory_bytes);
    PEERLANE_FIGURE(gpu_direct);
    PEERLANE_FIGURE(native_atomics);
#undef PEERLANE_FIGURE
}

}  // namespace

Figures read_figures(std::string_view machine_json, const std::string& file) {
    Figures figures;
    json document;
    try {
        document = json::parse(machine_json);
    } catch (const json::exception& error) {
        throw InputError(file, 0, error.what());
    }
    auto const found = document.is_object() ? document.find("simulation") : document.end();
    if (!document.is_object() || found == document.end()) {
        return figures;
    }
    if (!found->is_object()) {
        throw InputError(file, 0, "simulation is not an object");
    }
    Reader reader(*found, file);
    visit(figures, reader);
    reader.finish();
    auto const above_zero = [&](std::initializer_list<std::optional<double>> rates) {
        for (auto const& rate : rates) {
            if (rate && *rate <= 0) {
                throw InputError(file, 0, "simulation: a rate or an efficiency is 0");
            }
        }
    };
    above_zero({figures.pcie_efficiency,
                figures.loaded_load_s,
                figures.pull_ramp_gbs,
                figures.nvlink_efficiency,
                figures.xgmi_efficiency,
                figures.interconnect_efficiency,
                figures.pcie_duplex,
                figures.nvlink_duplex,
                figures.xgmi_duplex,
                figures.host_port_duplex,
                figures.crossing_gbs,
                figures.root_crossing_gbs,
                figures.crossing_duplex,
                figures.busy_port_efficiency,
                figures.xgmi_routed_efficiency,
                figures.local_gbs,
                figures.host_memory_gbs,
                figures.peer_copy_gbs,
                figures.peer_pull_gbs,
                figures.to_device_gbs,
                figures.from_device_gbs,
                figures.host_duplex_gbs,
                figures.kernel_store_efficiency,
                figures.kernel_load_efficiency,
                figures.pageable_gbs,
                figures.staged_by_driver_gbs,
                figures.staged_by_driver_fraction,
                figures.staged_total_gbs,
                figures.staged_shared_uplink,
                figures.kernel_store_gbs_per_cta,
                figures.staged_duplex,
                figures.to_host_share,
                figures.kernel_load_gbs_per_cta});
    for (auto const& capacity : figures.capacities) {
        if (capacity.gbs <= 0) {
            throw InputError(file, 0, "simulation.capacities: a rate is 0");
        }
    }
    if (figures.copy_engines < 1 || figures.multiprocessors < 1) {
        throw InputError(file, 0, "simulation: a device needs at least one copy engine and one multiprocessor");
    }
    return figures;
}

}  // namespace peerlane::sim
