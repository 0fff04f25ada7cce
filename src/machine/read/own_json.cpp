#include "machine/read/own_json.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/units.hpp>

#include "machine/nominal.hpp"
#include "machine/paths.hpp"
#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_bytes = 16U << 20;
constexpr int most_depth = 64;
constexpr std::size_t most_nodes = 100'000;

/// A value and where it stands, "pairs[3].nominal_gbs", so that a refusal can say it: the parser keeps no lines.
struct At {
    const Source& source;
    const Json& value;
    std::string path;

    [[noreturn]] void refuse(const std::string& what) const {
        read::refuse(source, 0, fmt::format("{}: {}", path.empty() ? "document" : path, what));
    }
    [[nodiscard]] std::optional<At> find(const char* key) const {
        auto const found = value.find(key);
        if (found == value.end() || found->is_null()) {
            return std::nullopt;
        }
        return At{source, *found, path.empty() ? key : fmt::format("{}.{}", path, key)};
    }
    void expect_object() const {
        if (!value.is_object()) {
            refuse(fmt::format("is {}, not an object", value.type_name()));
        }
    }
    template <typename Each>
    void each(Each visit) const {
        if (!value.is_array()) {
            refuse(fmt::format("is {}, not an array", value.type_name()));
        }
        for (std::size_t i = 0; i < value.size(); ++i) {
            visit(At{source, value[i], fmt::format("{}[{}]", path, i)});
        }
    }

    [[nodiscard]] std::string text() const {
        if (!value.is_string()) {
            refuse(fmt::format("is {}, not a string", value.type_name()));
        }
        return value.get<std::string>();
    }
    [[nodiscard]] bool flag() const {
        if (!value.is_boolean()) {
            refuse(fmt::format("is {}, not true or false", value.type_name()));
        }
        return value.get<bool>();
    }
    [[nodiscard]] int integer(int least, int most) const {
        if (!value.is_number_integer()) {
            refuse(fmt::format("is {}, not a whole number", value.is_number() ? "a fraction" : value.type_name()));
        }
        bool const huge = value.is_number_unsigned() && value.get<std::uint64_t>() > 0x7fffffff;
        if (huge || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
            refuse(fmt::format("is {}, not within {} and {}", value.dump(), least, most));
        }
        return value.get<int>();
    }
    /// Finite and not negative.
    [[nodiscard]] double number() const {
        if (!value.is_number()) {
            refuse(fmt::format("is {}, not a number", value.type_name()));
        }
        auto const number = value.get<double>();
        if (!std::isfinite(number) || number < 0) {
            refuse(fmt::format("is {}, not a finite number from 0 on", value.dump()));
        }
        return number;
    }

    void into(const char* key, std::string& target) const {
        if (auto const found = find(key)) {
            target = found->text();
        }
    }
    void into(const char* key, std::optional<std::string>& target) const {
        if (auto const found = find(key)) {
            target = found->text();
        }
    }
    void into(const char* key, std::optional<bool>& target) const {
        if (auto const found = find(key)) {
            target = found->flag();
        }
    }
    void into(const char* key, std::optional<double>& target) const {
        if (auto const found = find(key)) {
            target = found->number();
        }
    }
    template <typename Int>
    void into(const char* key, Int& target, int least, int most) const {
        if (auto const found = find(key)) {
            target = found->integer(least, most);
        }
    }
    [[nodiscard]] At required(const char* key) const {
        auto found = find(key);
        if (!found) {
            refuse(fmt::format("\"{}\" is missing", key));
        }
        return *std::move(found);
    }
};

Origin read_origin(const At& at) {
    Origin origin;
    at.expect_object();
    at.into("kind", origin.kind);
    if (auto const files = at.find("files")) {
        files->each([&](const At& file) { origin.files.push_back(file.text()); });
    }
    at.into("virtualized", origin.virtualized);
    at.into("name", origin.name);
    at.into("source", origin.source);
    if (auto const hosts = at.find("hosts")) {
        hosts->each([&](const At& host) { origin.hosts.push_back(host.text()); });
    }
    return origin;
}

Device read_device(const At& at) {
    Device device;
    at.expect_object();
    device.id = at.required("id").integer(0, most_devices - 1);
    at.into("model", device.model);
    if (auto const bus = at.find("bus")) {
        device.bus = bus_address(bus->text());
        if (!device.bus) {
            bus->refuse(fmt::format("\"{}\" is no PCI address", bus->text()));
        }
    }
    at.into("uuid", device.uuid);
    at.into("numa", device.numa, 0, 1'000'000);
    at.into("numa_text", device.numa_text);
    at.into("cpu_affinity", device.cpu_affinity);
    at.into("memory_numa", device.memory_numa, 0, 1'000'000);
    at.into("compute_capability", device.compute_capability, 0, 10'000);
    at.into("architecture", device.architecture);
    if (auto const bytes = at.find("memory_bytes")) {
        if (!bytes->value.is_number_unsigned()) {
            bytes->refuse("is not a whole number of bytes from 0 on");
        }
        device.memory_bytes = bytes->value.get<std::uint64_t>();
    }
    at.into("pcie_generation", device.pcie_generation, 1, 20);
    at.into("pcie_width", device.pcie_width, 1, 1024);
    at.into("nvlinks", device.nvlinks, 0, 100'000);
    if (auto const links = at.find("inactive_nvlinks")) {
        links->each([&](const At& link) { device.inactive_nvlinks.push_back(link.integer(0, 100'000)); });
    }
    at.into("nvlink_gbs", device.nvlink_gbs);
    at.into("nvlink_state", device.nvlink_state);
    at.into("mig", device.mig);
    at.into("mig_instances", device.mig_instances, 0, 1000);
    return device;
}

Measured read_measured(const At& at) {
    Measured measured;
    if (at.value.is_number()) {
        measured.write_gbs = at.number();
        return measured;
    }
    at.expect_object();
    at.into("gbs", measured.write_gbs);
    at.into("write_gbs", measured.write_gbs);
    at.into("read_gbs", measured.read_gbs);
    at.into("write_sm_gbs", measured.write_sm_gbs);
    at.into("read_sm_gbs", measured.read_sm_gbs);
    at.into("staged_gbs", measured.staged_gbs);
    at.into("bidirectional_gbs", measured.bidirectional_gbs);
    at.into("bidirectional_staged_gbs", measured.bidirectional_staged_gbs);
    at.into("latency_s", measured.latency_s);
    at.into("staged_latency_s", measured.staged_latency_s);
    return measured;
}

PathClass read_path(const At& at) {
    auto const word = at.text();
    auto const path = parse_path_class(word);
    if (!path) {
        at.refuse(fmt::format("\"{}\" is no path class", word.substr(0, 40)));
    }
    return *path;
}

Pair read_pair(const At& at, int devices) {
    Pair pair;
    at.expect_object();
    pair.accessor = at.required("accessor").integer(0, devices - 1);
    pair.owner = at.required("owner").integer(0, devices - 1);
    if (pair.accessor == pair.owner) {
        at.refuse("accessor and owner are the same device");
    }
    if (auto const path = at.find("path")) {
        pair.path = read_path(*path);
    }
    at.into("nvlinks", pair.nvlinks, 0, 100'000);
    at.into("nominal_gbs", pair.nominal_gbs);
    at.into("claim", pair.claim);
    if (auto const claims = at.find("claims")) {
        claims->expect_object();
        claims->into("read", pair.claims.read);
        claims->into("write", pair.claims.write);
        claims->into("nvlink", pair.claims.nvlink);
        claims->into("atomics", pair.claims.atomics);
        claims->into("pcie", pair.claims.pcie);
    }
    if (auto const measured = at.find("measured")) {
        pair.measured = read_measured(*measured);
    }
    return pair;
}

Graph read_graph(const At& at, int devices) {
    Graph graph;
    at.expect_object();
    std::set<std::string> names;
    std::set<int> seen;
    if (auto const nodes = at.find("nodes")) {
        nodes->each([&](const At& item) {
            Node node;
            item.expect_object();
            auto const kind = item.required("kind");
            auto const parsed = parse_node_kind(kind.text());
            if (!parsed) {
                kind.refuse(fmt::format("\"{}\" is no kind of node", kind.text().substr(0, 40)));
            }
            node.kind = *parsed;
            item.into("index", node.index, -1, 1'000'000);
            node.name = item.required("name").text();
            item.into("bus", node.bus);
            item.into("socket", node.socket, -1, 1'000'000);
            if (!names.insert(node.name).second) {
                item.refuse(fmt::format("a second node is called \"{}\"", node.name.substr(0, 80)));
            }
            if (node.kind == NodeKind::device &&
                (node.index < 0 || node.index >= devices || !seen.insert(node.index).second)) {
                item.refuse(fmt::format("device {} is not in the machine, or has two nodes", node.index));
            }
            if (graph.nodes.size() >= most_nodes) {
                item.refuse(fmt::format("more than {} nodes", most_nodes));
            }
            graph.nodes.push_back(std::move(node));
        });
    }
    // An end of a link is the index of its node, or its name: easier to write by hand.
    auto const end_of = [&](const At& end) {
        if (!end.value.is_string()) {
            return end.integer(0, static_cast<int>(graph.nodes.size()) - 1);
        }
        auto const index = graph.find(end.text());
        if (index < 0) {
            end.refuse(fmt::format("no node is called \"{}\"", end.text().substr(0, 80)));
        }
        return index;
    };
    if (auto const links = at.find("links")) {
        links->each([&](const At& item) {
            Link link;
            item.expect_object();
            link.from = end_of(item.required("from"));
            link.to = end_of(item.required("to"));
            auto const kind = item.required("kind");
            auto const parsed = parse_link_kind(kind.text());
            if (!parsed) {
                kind.refuse(fmt::format("\"{}\" is no kind of link", kind.text().substr(0, 40)));
            }
            link.kind = *parsed;
            item.into("generation", link.generation, 1, 20);
            item.into("width", link.width, 0, 100'000);
            item.into("capacity_gbs", link.capacity_gbs);
            item.into("latency_s", link.latency_s);
            graph.links.push_back(link);
        });
    }
    return graph;
}

/// Refuses nesting that no document of ours has before the parser sees it.
void check_depth(const Source& source) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < source.text.size(); ++i) {
        auto const c = source.text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > most_depth) {
                refuse(source, line_at(source.text, i), fmt::format("nested deeper than {}", most_depth));
            }
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
}

Json parse(const Source& source) {
    if (source.text.size() > most_bytes) {
        refuse(source, 0,
               fmt::format("{} MiB, a machine document is smaller than {} MiB", source.text.size() >> 20,
                           most_bytes >> 20));
    }
    check_depth(source);
    try {
        return Json::parse(source.text);
    } catch (const Json::parse_error& error) {
        auto const offset = error.byte > 0 ? error.byte - 1 : 0;
        std::string_view what = error.what();
        if (auto const colon = what.rfind("; "); colon != std::string_view::npos) {
            what.remove_prefix(colon + 2);
        }
        refuse(source, line_at(source.text, offset), fmt::format("not valid JSON: {}", what));
    } catch (const Json::exception& error) {
        refuse(source, 0, fmt::format("not valid JSON: {}", error.what()));
    }
}

}  // namespace

bool is_own_json(std::string_view text) {
    auto const start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (start == std::string_view::npos || text[start] != '{') {
        return false;
    }
    return text.find("\"peerlane.") != std::string_view::npos ||
           (text.find("\"devices\"") != std::string_view::npos && text.find("nvbandwidth") == std::string_view::npos);
}

Machine read_own_json(const Source& source) {
    auto const json = parse(source);
    At const document{source, json, ""};
    document.expect_object();
    if (auto const schema = document.find("schema"); schema && schema->text() != "peerlane.machine/1") {
        schema->refuse(fmt::format("is \"{}\", not \"peerlane.machine/1\"", schema->text().substr(0, 80)));
    }
    Machine machine;
    if (auto const origin = document.find("origin")) {
        machine.origin = read_origin(*origin);
    }
    document.required("devices").each([&](const At& item) {
        if (machine.devices.size() >= most_devices) {
            item.refuse(fmt::format("more than {} devices", most_devices));
        }
        machine.devices.push_back(read_device(item));
    });
    auto const n = static_cast<int>(machine.devices.size());
    std::set<int> ids;
    for (auto const& device : machine.devices) {
        if (device.id >= n || !ids.insert(device.id).second) {
            refuse(source, 0, fmt::format("devices: id {} stands twice or ids are not 0 to {}", device.id, n - 1));
        }
    }
    bool pairs_given = false;
    if (auto const pairs = document.find("pairs")) {
        std::set<std::pair<int, int>> seen;
        pairs->each([&](const At& item) {
            machine.pairs.push_back(read_pair(item, n));
            pairs_given = true;
            if (!seen.insert({machine.pairs.back().accessor, machine.pairs.back().owner}).second) {
                item.refuse(
                    fmt::format("pair {}:{} stands twice", machine.pairs.back().accessor, machine.pairs.back().owner));
            }
        });
    }
    if (auto const host = document.find("host")) {
        host->each([&](const At& item) {
            HostRates rates;
            item.expect_object();
            rates.device = item.required("device").integer(0, n - 1);
            item.into("to_device_gbs", rates.to_device_gbs);
            item.into("from_device_gbs", rates.from_device_gbs);
            item.into("to_device_loaded_gbs", rates.to_device_loaded_gbs);
            item.into("from_device_loaded_gbs", rates.from_device_loaded_gbs);
            machine.host.push_back(rates);
        });
    }
    if (auto const nics = document.find("nics")) {
        nics->each([&](const At& item) {
            Nic nic;
            item.expect_object();
            nic.name = item.required("name").text();
            item.into("bus", nic.bus);
            if (auto const paths = item.find("paths")) {
                paths->each([&](const At& path) { nic.paths.push_back(read_path(path)); });
                if (static_cast<int>(nic.paths.size()) > n) {
                    paths->refuse("more paths than devices");
                }
            }
            machine.nics.push_back(std::move(nic));
        });
    }
    if (auto const graph = document.find("graph")) {
        machine.graph = read_graph(*graph, n);
    }
    if (auto const notices = document.find("notices")) {
        notices->each([&](const At& item) {
            Notice notice;
            item.expect_object();
            item.into("code", notice.code);
            item.into("file", notice.file);
            item.into("line", notice.line, 0, 0x7fffffff);
            item.into("text", notice.text);
            machine.notices.push_back(std::move(notice));
        });
    }
    complete_pairs(machine);
    if (!pairs_given && !machine.graph.empty()) {
        auto nics = std::move(machine.nics);
        classify_from_graph(machine);
        if (!nics.empty()) {
            machine.nics = std::move(nics);
        }
    }
    for (auto const& pair : machine.pairs) {
        auto const best = std::max(pair.measured.write_gbs.value_or(0), pair.measured.read_gbs.value_or(0));
        bool const said = std::any_of(machine.notices.begin(), machine.notices.end(),
                                      [](const Notice& notice) { return notice.code == "reading-below-measured"; });
        if (pair.nominal_gbs && best > *pair.nominal_gbs * 1.05 && !said) {
            add_notice(machine, source, "reading-below-measured", 0,
                       fmt::format("{} reaches {} with {} GB/s measured and {} nominal: the measured rate is used",
                                   pair.accessor, pair.owner, gbs_text(best), gbs_text(*pair.nominal_gbs)));
        }
    }
    return machine;
}

}  // namespace peerlane::read
