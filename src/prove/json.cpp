#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/verdicts.hpp>

#include "prove/check_json.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "peerlane.verdicts/1";

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json verdicts_json(const Verdicts& verdicts) {
    Json out{{"schema", schema},
             {"simulated", verdicts.simulated},
             {"status", to_string(verdicts.status)},
             {"seed", verdicts.seed}};
    auto& pairs = out["pairs"] = Json::array();
    for (auto const& pair : verdicts.pairs) {
        Json checks = Json::object();
        for (auto const check : all_checks) {
            checks[to_string(check)] = check_json(pair[check]);
        }
        pairs.push_back({{"accessor", pair.accessor}, {"owner", pair.owner}, {"checks", std::move(checks)}});
    }
    auto& control = out["control"] = Json::array();
    for (auto const& arm : verdicts.control) {
        control.push_back({{"src", arm.source}, {"dst", arm.destination}, {"staged", check_json(arm.staged)}});
    }
    auto& self_tests = out["self_tests"] = Json::array();
    for (auto const& test : verdicts.self_tests) {
        self_tests.push_back({{"device", test.device}, {"found", check_json(test.found)}});
    }
    auto& routes = out["routes"] = Json::array();
    for (auto const& route : verdicts.routes) {
        auto const direct = route.use == RouteVerdict::Use::direct;
        routes.push_back({{"src", route.source},
                          {"dst", route.destination},
                          {"use", to_string(route.use)},
                          {"engine", direct ? Json(route.engine == Engine::copy ? "copy" : "kernel") : Json(nullptr)},
                          {"issuer", direct ? Json(route.issuer) : Json(nullptr)},
                          {"direct_gbs", or_null(route.direct_gbs)},
                          {"staged_gbs", or_null(route.staged_gbs)}});
    }
    auto& groups = out["groups"] = Json::array();
    for (auto const& group : verdicts.groups) {
        groups.push_back(
            {{"pairs", pairs_json(group.pairs)}, {"result", to_string(group.result)}, {"gbs", or_null(group.gbs)}});
        if (!group.name.empty()) {
            groups.back()["name"] = group.name;
            groups.back()["pull"] = group.pull;
        }
        if (!group.rates.empty()) {
            groups.back()["rates"] = group.rates;
        }
        if (!group.reason.empty()) {
            groups.back()["reason"] = group.reason;
        }
    }
    auto& findings = out["findings"] = Json::array();
    for (auto const& finding : verdicts.findings) {
        findings.push_back({{"code", finding.code},
                            {"severity", to_string(finding.severity)},
                            {"pairs", pairs_json(finding.pairs)},
                            {"evidence", finding.evidence},
                            {"cure", finding.cure}});
    }
    return out;
}

PairVerdict read_pair(const JsonField& node) {
    PairVerdict pair;
    pair.accessor = node["accessor"].device();
    pair.owner = node["owner"].device();
    auto const checks = node["checks"];
    for (auto const check : all_checks) {
        pair[check] = read_check(checks[to_string(check)]);
    }
    return pair;
}

RouteVerdict read_route(const JsonField& node) {
    RouteVerdict route;
    route.source = node["src"].device();
    route.destination = node["dst"].device();
    route.use = node["use"].word({RouteVerdict::Use::direct, RouteVerdict::Use::staged, RouteVerdict::Use::none});
    if (route.use == RouteVerdict::Use::direct) {
        auto const engine = node["engine"].text();
        if (engine != "copy" && engine != "kernel") {
            node["engine"].refuse("must be copy or kernel");
        }
        route.engine = engine == "copy" ? Engine::copy : Engine::kernel;
        route.issuer = node["issuer"].device();
    }
    if (node.has("direct_gbs")) {
        route.direct_gbs = node["direct_gbs"].number();
    }
    if (node.has("staged_gbs")) {
        route.staged_gbs = node["staged_gbs"].number();
    }
    return route;
}

Finding read_finding(const JsonField& node) {
    Finding finding;
    finding.code = node["code"].text();
    finding.severity =
        node["severity"].word({Finding::Severity::info, Finding::Severity::warn, Finding::Severity::error});
    finding.pairs = read_pairs(node["pairs"]);
    for (auto const& line : node["evidence"].items()) {
        finding.evidence.push_back(line.text());
    }
    finding.cure = node["cure"].text();
    return finding;
}

template <class Items, class Key>
void sort_by(Items& items, Key key) {
    std::stable_sort(items.begin(), items.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
}

}  // namespace

std::string write_verdicts(const Verdicts& verdicts, int indent) {
    return verdicts_json(verdicts).dump(indent, ' ', false, Json::error_handler_t::replace);
}

Verdicts read_verdicts(std::string_view text, const std::string& file) {
    auto const json = parse_json(text, file);
    JsonField const top{json, file, ""};
    if (top["schema"].text() != schema) {
        top["schema"].refuse(fmt::format("must be {}", schema));
    }
    Verdicts verdicts;
    verdicts.simulated = top["simulated"].boolean();
    verdicts.status = top["status"].word({Status::healthy, Status::degraded, Status::broken, Status::inconclusive});
    verdicts.seed = top.has("seed") ? top["seed"].count() : 0;
    for (auto const& pair : top["pairs"].items()) {
        verdicts.pairs.push_back(read_pair(pair));
    }
    if (top.has("control")) {
        for (auto const& arm : top["control"].items()) {
            verdicts.control.push_back({arm["src"].device(), arm["dst"].device(), read_check(arm["staged"])});
        }
    }
    if (top.has("self_tests")) {
        for (auto const& test : top["self_tests"].items()) {
            verdicts.self_tests.push_back({test["device"].device(), read_check(test["found"])});
        }
    }
    for (auto const& route : top["routes"].items()) {
        verdicts.routes.push_back(read_route(route));
    }
    if (top.has("groups")) {
        for (auto const& group : top["groups"].items()) {
            GroupVerdict out{read_pairs(group["pairs"]), group["result"].word(all_results)};
            if (group.has("gbs")) {
                out.gbs = group["gbs"].number();
            }
            out.name = group.has("name") ? group["name"].text() : std::string();
            out.pull = group.has("pull") && group["pull"].boolean();
            if (group.has("rates")) {
                for (auto const& rate : group["rates"].items()) {
                    out.rates.push_back(rate.number());
                }
            }
            out.reason = group.has("reason") ? group["reason"].text() : std::string();
            verdicts.groups.push_back(std::move(out));
        }
    }
    if (top.has("findings")) {
        for (auto const& finding : top["findings"].items()) {
            verdicts.findings.push_back(read_finding(finding));
        }
    }
    // Lookups search: a document that somebody sorted otherwise must still answer.
    sort_by(verdicts.pairs, [](const PairVerdict& pair) { return std::pair{pair.accessor, pair.owner}; });
    sort_by(verdicts.control, [](const ControlVerdict& arm) { return std::pair{arm.source, arm.destination}; });
    sort_by(verdicts.routes, [](const RouteVerdict& route) { return std::pair{route.source, route.destination}; });
    return verdicts;
}

}  // namespace peerlane
