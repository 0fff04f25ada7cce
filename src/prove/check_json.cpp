#include "prove/check_json.hpp"

#include <nlohmann/json.hpp>

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void put(Json& object, const char* key, const std::optional<T>& value) {
    if (value) {
        object[key] = *value;
    }
}

}  // namespace

Json check_json(const CheckResult& check) {
    Json out{{"result", to_string(check.result)}};
    if (check.kind) {
        out["kind"] = to_string(*check.kind);
    }
    put(out, "first_bad_offset", check.first_bad_offset);
    put(out, "bad_bytes", check.bad_bytes);
    put(out, "at_bytes", check.at_bytes);
    put(out, "code", check.code);
    if (check.result == Result::hang) {
        out["frozen"] = check.frozen;
    }
    if (!check.reason.empty()) {
        out["reason"] = check.reason;
    }
    if (!check.sizes.empty()) {
        out["sizes"] = check.sizes;
    }
    put(out, "gbs", check.gbs);
    put(out, "seconds", check.seconds);
    put(out, "small_seconds", check.small_seconds);
    for (auto const& way : check.ways) {
        auto& of = out["ways"][way.way] = {{"result", to_string(way.result)}};
        put(of, "code", way.code);
        if (!way.reason.empty()) {
            of["reason"] = way.reason;
        }
    }
    if (!check.rates.empty()) {
        out["rates"] = check.rates;
    }
    return out;
}

Json pairs_json(const std::vector<std::pair<int, int>>& pairs) {
    Json out = Json::array();
    for (auto const& pair : pairs) {
        out.push_back({{"accessor", pair.first}, {"owner", pair.second}});
    }
    return out;
}

std::vector<std::uint64_t> read_sizes(const JsonField& node) {
    std::vector<std::uint64_t> sizes;
    for (auto const& size : node.items()) {
        sizes.push_back(size.count());
    }
    return sizes;
}

CheckResult read_check(const JsonField& node) {
    CheckResult check;
    check.result = node["result"].word(all_results);
    if (node.has("kind")) {
        check.kind = node["kind"].word(
            {WrongKind::zero, WrongKind::stale, WrongKind::flip, WrongKind::mirror, WrongKind::offset});
    }
    auto const count = [&](const char* key, std::optional<std::uint64_t>& into) {
        if (node.has(key)) {
            into = node[key].count();
        }
    };
    auto const number = [&](const char* key, std::optional<double>& into) {
        if (node.has(key)) {
            into = node[key].number();
        }
    };
    if (node.has("ways")) {
        for (auto const& [name, way] : node["ways"].members()) {
            MappingWay out{name, way["result"].word(all_results)};
            if (way.has("code")) {
                out.code = way["code"].whole();
            }
            if (way.has("reason")) {
                out.reason = way["reason"].text();
            }
            check.ways.push_back(std::move(out));
        }
    }
    if (node.has("rates")) {
        for (auto const& rate : node["rates"].items()) {
            check.rates.push_back(rate.number());
        }
    }
    count("first_bad_offset", check.first_bad_offset);
    count("bad_bytes", check.bad_bytes);
    count("at_bytes", check.at_bytes);
    if (node.has("code")) {
        check.code = node["code"].whole();
    }
    check.frozen = node.has("frozen") && node["frozen"].boolean();
    if (node.has("reason")) {
        check.reason = node["reason"].text();
    }
    if (node.has("sizes")) {
        check.sizes = read_sizes(node["sizes"]);
    }
    number("gbs", check.gbs);
    number("seconds", check.seconds);
    number("small_seconds", check.small_seconds);
    return check;
}

std::vector<std::pair<int, int>> read_pairs(const JsonField& node) {
    std::vector<std::pair<int, int>> pairs;
    for (auto const& pair : node.items()) {
        pairs.emplace_back(pair["accessor"].device(), pair["owner"].device());
    }
    return pairs;
}

}  // namespace peerlane
