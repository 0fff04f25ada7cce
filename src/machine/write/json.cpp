#include <optional>

#include <nlohmann/json.hpp>

#include "machine/write/writers.hpp"

namespace peerlane::write {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

template <typename T>
void if_known(Json& object, const char* key, const std::optional<T>& value) {
    if (value) {
        object[key] = *value;
    }
}

Json origin_json(const Origin& origin) {
    Json json{{"kind", origin.kind}, {"files", origin.files}, {"virtualized", or_null(origin.virtualized)}};
    if (!origin.name.empty()) {
        json["name"] = origin.name;
    }
    if (!origin.source.empty()) {
        json["source"] = origin.source;
    }
    if (!origin.hosts.empty()) {
        json["hosts"] = origin.hosts;
    }
    return json;
}

Json device_json(const Device& device) {
    Json json{{"id", device.id},
              {"model", or_null(device.model)},
              {"bus", or_null(device.bus)},
              {"uuid", or_null(device.uuid)},
              {"numa", or_null(device.numa)}};
    if_known(json, "numa_text", device.numa_text);
    if_known(json, "cpu_affinity", device.cpu_affinity);
    if_known(json, "memory_numa", device.memory_numa);
    if_known(json, "compute_capability", device.compute_capability);
    if_known(json, "architecture", device.architecture);
    if_known(json, "memory_bytes", device.memory_bytes);
    if_known(json, "pcie_generation", device.pcie_generation);
    if_known(json, "pcie_width", device.pcie_width);
    if_known(json, "nvlinks", device.nvlinks);
    if (!device.inactive_nvlinks.empty()) {
        json["inactive_nvlinks"] = device.inactive_nvlinks;
    }
    if_known(json, "nvlink_gbs", device.nvlink_gbs);
    if_known(json, "nvlink_state", device.nvlink_state);
    if_known(json, "mig", device.mig);
    if (device.mig_instances != 0) {
        json["mig_instances"] = device.mig_instances;
    }
    return json;
}

Json measured_json(const Measured& measured) {
    Json json = Json::object();
    if_known(json, "write_gbs", measured.write_gbs);
    if_known(json, "read_gbs", measured.read_gbs);
    if_known(json, "write_sm_gbs", measured.write_sm_gbs);
    if_known(json, "read_sm_gbs", measured.read_sm_gbs);
    if_known(json, "staged_gbs", measured.staged_gbs);
    if_known(json, "bidirectional_gbs", measured.bidirectional_gbs);
    if_known(json, "bidirectional_staged_gbs", measured.bidirectional_staged_gbs);
    if_known(json, "latency_s", measured.latency_s);
    if_known(json, "staged_latency_s", measured.staged_latency_s);
    return json;
}

Json pair_json(const Pair& pair) {
    Json json{{"accessor", pair.accessor},
              {"owner", pair.owner},
              {"path", to_string(pair.path)},
              {"nvlinks", or_null(pair.nvlinks)},
              {"nominal_gbs", or_null(pair.nominal_gbs)},
              {"claim", or_null(pair.claim)}};
    if (pair.claims != Claims{}) {
        Json claims = Json::object();
        if_known(claims, "read", pair.claims.read);
        if_known(claims, "write", pair.claims.write);
        if_known(claims, "nvlink", pair.claims.nvlink);
        if_known(claims, "atomics", pair.claims.atomics);
        if_known(claims, "pcie", pair.claims.pcie);
        json["claims"] = std::move(claims);
    }
    json["measured"] = measured_json(pair.measured);
    return json;
}

Json host_json(const HostRates& host) {
    Json json{{"device", host.device}};
    if_known(json, "to_device_gbs", host.to_device_gbs);
    if_known(json, "from_device_gbs", host.from_device_gbs);
    if_known(json, "to_device_loaded_gbs", host.to_device_loaded_gbs);
    if_known(json, "from_device_loaded_gbs", host.from_device_loaded_gbs);
    return json;
}

Json nic_json(const Nic& nic) {
    Json paths = Json::array();
    for (auto const path : nic.paths) {
        paths.push_back(to_string(path));
    }
    return {{"name", nic.name}, {"bus", or_null(nic.bus)}, {"paths", std::move(paths)}};
}

Json node_json(const Node& node) {
    Json json{{"kind", to_string(node.kind)}, {"index", node.index}, {"name", node.name}};
    if (!node.bus.empty()) {
        json["bus"] = node.bus;
    }
    if (node.socket >= 0) {
        json["socket"] = node.socket;
    }
    return json;
}

Json link_json(const Link& link) {
    Json json{{"from", link.from}, {"to", link.to}, {"kind", to_string(link.kind)}};
    if_known(json, "generation", link.generation);
    if_known(json, "width", link.width);
    json["capacity_gbs"] = or_null(link.capacity_gbs);
    if_known(json, "latency_s", link.latency_s);
    return json;
}

template <typename T, typename Write>
std::string lines(const std::vector<T>& items, const char* indent, Write write) {
    std::string text = "[";
    for (auto const& item : items) {
        text += text.size() > 1 ? ",\n" : "\n";
        text += indent;
        text += "  ";
        text += write(item).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    if (!items.empty()) {
        text += "\n";
        text += indent;
    }
    return text + "]";
}

}  // namespace

std::string json(const Machine& machine) {
    std::string text = "{\n  \"schema\": \"peerlane.machine/1\",\n  \"origin\": ";
    text += origin_json(machine.origin).dump(-1, ' ', false, Json::error_handler_t::replace);
    text += ",\n  \"devices\": " + lines(machine.devices, "  ", device_json);
    text += ",\n  \"pairs\": " + lines(machine.pairs, "  ", pair_json);
    text += ",\n  \"host\": " + lines(machine.host, "  ", host_json);
    text += ",\n  \"nics\": " + lines(machine.nics, "  ", nic_json);
    text += ",\n  \"graph\": {\n    \"nodes\": " + lines(machine.graph.nodes, "    ", node_json);
    text += ",\n    \"links\": " + lines(machine.graph.links, "    ", link_json) + "\n  }";
    text += ",\n  \"notices\": " + lines(machine.notices, "  ", [](const Notice& notice) {
                return Json{{"code", notice.code}, {"file", notice.file}, {"line", notice.line}, {"text", notice.text}};
            });
    return text + "\n}\n";
}

}  // namespace peerlane::write
