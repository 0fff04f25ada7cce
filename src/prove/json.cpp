#include <algorithm>
#include <initializer_list>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>
#include <peerlane/verdicts.hpp>

#include "prove/wire.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "peerlane.verdicts/1";

template <class T>
void put(Json& object, const char* key, const std::optional<T>& value) {
    if (value) {
        object[key] = *value;
    }
}

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

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

/// A place in a document that is being read: knows its name, so that a refusal can say where.
class Field {
  public:
    Field(const Json& json, std::string file, std::string path)
        : json_(&json), file_(std::move(file)), path_(std::move(path)) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(file_, 0, fmt::format("{}: {}", path_.empty() ? "document" : path_, what));
    }
    [[nodiscard]] bool has(const char* key) const {
        auto const at = object().find(key);
        return at != json_->end() && !at->is_null();
    }
    [[nodiscard]] Field operator[](const char* key) const {
        auto const at = object().find(key);
        if (at == json_->end()) {
            refuse(fmt::format("misses \"{}\"", key));
        }
        return {*at, file_, path_.empty() ? key : path_ + "." + key};
    }
    template <class F>
    void each(F&& f) const {
        if (!json_->is_array()) {
            refuse("must be an array");
        }
        std::size_t i = 0;
        for (auto const& item : *json_) {
            f(Field{item, file_, fmt::format("{}[{}]", path_, i++)});
        }
    }
    [[nodiscard]] bool boolean() const {
        if (!json_->is_boolean()) {
            refuse("must be true or false");
        }
        return json_->get<bool>();
    }
    [[nodiscard]] std::string text() const {
        if (!json_->is_string()) {
            refuse("must be a text");
        }
        return json_->get<std::string>();
    }
    [[nodiscard]] std::uint64_t count() const {
        if (!json_->is_number_unsigned()) {
            refuse("must be a whole number of at least 0");
        }
        return json_->get<std::uint64_t>();
    }
    [[nodiscard]] int whole() const {
        if (!json_->is_number_integer() || *json_ > std::numeric_limits<int>::max() ||
            *json_ < std::numeric_limits<int>::min()) {
            refuse("must be a whole number");
        }
        return json_->get<int>();
    }
    [[nodiscard]] int device() const {
        auto const id = whole();
        if (id < 0) {
            refuse("must be a device");
        }
        return id;
    }
    /// Names and values of an object.
    template <class F>
    void each_member(F&& f) const {
        for (auto const& [name, value] : object().items()) {
            f(name, Field{value, file_, path_ + "." + name});
        }
    }
    [[nodiscard]] double number() const {
        if (!json_->is_number()) {
            refuse("must be a number");
        }
        return json_->get<double>();
    }
    /// One of the values whose word this is.
    template <class E>
    [[nodiscard]] E word(std::initializer_list<E> values) const {
        auto const said = text();
        std::string known;
        for (auto const value : values) {
            if (said == to_string(value)) {
                return value;
            }
            known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(value));
        }
        refuse(fmt::format("\"{}\" is none of {}", said, known));
    }

  private:
    [[nodiscard]] const Json& object() const {
        if (!json_->is_object()) {
            refuse("must be an object");
        }
        return *json_;
    }
    const Json* json_;
    std::string file_, path_;
};

Json parse(std::string_view text, const std::string& file) {
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        auto const end = std::min(error.byte, text.size());
        auto const line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
        throw InputError(file, static_cast<int>(line), "no JSON");
    }
}

std::vector<std::uint64_t> read_sizes(const Field& node) {
    std::vector<std::uint64_t> sizes;
    node.each([&](const Field& size) { sizes.push_back(size.count()); });
    return sizes;
}

constexpr auto results = {Result::ok, Result::no, Result::wrong, Result::hang, Result::error, Result::skipped};

CheckResult read_check(const Field& node) {
    CheckResult check;
    check.result = node["result"].word(results);
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
        node["ways"].each_member([&](const std::string& name, const Field& way) {
            MappingWay out{name, way["result"].word(results)};
            if (way.has("code")) {
                out.code = way["code"].whole();
            }
            if (way.has("reason")) {
                out.reason = way["reason"].text();
            }
            check.ways.push_back(std::move(out));
        });
    }
    if (node.has("rates")) {
        node["rates"].each([&](const Field& rate) { check.rates.push_back(rate.number()); });
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
    return check;
}

PairVerdict read_pair(const Field& node) {
    PairVerdict pair;
    pair.accessor = node["accessor"].device();
    pair.owner = node["owner"].device();
    auto const checks = node["checks"];
    for (auto const check : all_checks) {
        pair[check] = read_check(checks[to_string(check)]);
    }
    return pair;
}

RouteVerdict read_route(const Field& node) {
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

std::vector<std::pair<int, int>> read_pairs(const Field& node) {
    std::vector<std::pair<int, int>> pairs;
    node.each([&](const Field& pair) { pairs.emplace_back(pair["accessor"].device(), pair["owner"].device()); });
    return pairs;
}

Finding read_finding(const Field& node) {
    Finding finding;
    finding.code = node["code"].text();
    finding.severity =
        node["severity"].word({Finding::Severity::info, Finding::Severity::warn, Finding::Severity::error});
    finding.pairs = read_pairs(node["pairs"]);
    node["evidence"].each([&](const Field& line) { finding.evidence.push_back(line.text()); });
    finding.cure = node["cure"].text();
    return finding;
}

template <class Items, class Key>
void sort_by(Items& items, Key key) {
    std::stable_sort(items.begin(), items.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
}

Json step_json(const prove::ProbeStep& step) {
    auto const* const what = step.kind == prove::ProbeStep::Kind::control     ? "control"
                             : step.kind == prove::ProbeStep::Kind::self_test ? "self-test"
                             : step.kind == prove::ProbeStep::Kind::ways      ? "ways"
                             : step.kind == prove::ProbeStep::Kind::idle      ? "idle"
                                                                              : to_string(step.check);
    Json out{{"check", what},
             {"accessor", step.accessor},
             {"owner", step.owner},
             {"sizes", step.sizes},
             {"seed", step.seed}};
    if (step.kind == prove::ProbeStep::Kind::group) {
        out["group"] = step.name;
        out["pairs"] = pairs_json(step.pairs);
    }
    return out;
}

}  // namespace

std::string write_verdicts(const Verdicts& verdicts, int indent) {
    return verdicts_json(verdicts).dump(indent, ' ', false, Json::error_handler_t::replace);
}

Verdicts read_verdicts(std::string_view text, const std::string& file) {
    auto const json = parse(text, file);
    Field const top{json, file, ""};
    if (top["schema"].text() != schema) {
        top["schema"].refuse(fmt::format("must be {}", schema));
    }
    Verdicts verdicts;
    verdicts.simulated = top["simulated"].boolean();
    verdicts.status = top["status"].word({Status::healthy, Status::degraded, Status::broken, Status::inconclusive});
    verdicts.seed = top.has("seed") ? top["seed"].count() : 0;
    top["pairs"].each([&](const Field& pair) { verdicts.pairs.push_back(read_pair(pair)); });
    if (top.has("control")) {
        top["control"].each([&](const Field& arm) {
            verdicts.control.push_back({arm["src"].device(), arm["dst"].device(), read_check(arm["staged"])});
        });
    }
    if (top.has("self_tests")) {
        top["self_tests"].each([&](const Field& test) {
            verdicts.self_tests.push_back({test["device"].device(), read_check(test["found"])});
        });
    }
    top["routes"].each([&](const Field& route) { verdicts.routes.push_back(read_route(route)); });
    if (top.has("groups")) {
        top["groups"].each([&](const Field& group) {
            GroupVerdict out{read_pairs(group["pairs"]), group["result"].word(results)};
            if (group.has("gbs")) {
                out.gbs = group["gbs"].number();
            }
            out.name = group.has("name") ? group["name"].text() : std::string();
            out.pull = group.has("pull") && group["pull"].boolean();
            if (group.has("rates")) {
                group["rates"].each([&](const Field& rate) { out.rates.push_back(rate.number()); });
            }
            out.reason = group.has("reason") ? group["reason"].text() : std::string();
            verdicts.groups.push_back(std::move(out));
        });
    }
    if (top.has("findings")) {
        top["findings"].each([&](const Field& finding) { verdicts.findings.push_back(read_finding(finding)); });
    }
    // Lookups search: a document that somebody sorted otherwise must still answer.
    sort_by(verdicts.pairs, [](const PairVerdict& pair) { return std::pair{pair.accessor, pair.owner}; });
    sort_by(verdicts.control, [](const ControlVerdict& arm) { return std::pair{arm.source, arm.destination}; });
    sort_by(verdicts.routes, [](const RouteVerdict& route) { return std::pair{route.source, route.destination}; });
    return verdicts;
}

namespace prove::wire {

std::string write(const Request& request) {
    auto json = step_json(request.step);
    json["seconds_per_size"] = request.limits.seconds_per_size;
    json["decoy"] = request.limits.decoy;
    json["kernels"] = request.limits.kernels;
    return json.dump();
}

namespace {

ProbeStep step_of(const Field& node) {
    ProbeStep step;
    auto const check = node["check"].text();
    if (check == "control") {
        step.kind = ProbeStep::Kind::control;
    } else if (check == "self-test") {
        step.kind = ProbeStep::Kind::self_test;
    } else if (check == "ways") {
        step.kind = ProbeStep::Kind::ways;
        step.check = Check::map;
    } else if (check == "idle") {
        step.kind = ProbeStep::Kind::idle;
    } else if (auto const known = parse_check(check)) {
        step.check = *known;
    } else {
        node["check"].refuse("is no check");
    }
    step.accessor = node["accessor"].device();
    step.owner = node["owner"].device();
    step.sizes = read_sizes(node["sizes"]);
    step.seed = node["seed"].count();
    if (node.has("group")) {
        step.kind = ProbeStep::Kind::group;
        step.name = node["group"].text();
        step.pairs = read_pairs(node["pairs"]);
    }
    return step;
}

}  // namespace

std::string write(const ProbeStep& step) {
    return step_json(step).dump();
}

std::string write(const ProbeOutcome& outcome) {
    auto json = step_json(outcome.step);
    json["outcome"] = check_json(outcome.result);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ProbeStep read_step(std::string_view text, const std::string& file) {
    auto const json = parse(text, file);
    return step_of({json, file, ""});
}

ProbeOutcome read_outcome(std::string_view text, const std::string& file) {
    auto const json = parse(text, file);
    Field const node{json, file, ""};
    return {step_of(node), read_check(node["outcome"])};
}

Request read_request(std::string_view line) {
    auto const json = parse(line, "step");
    Field const node{json, "step", ""};
    Request request;
    request.step = step_of(node);
    request.limits = {node["seconds_per_size"].number(), node["decoy"].boolean(),
                      !node.has("kernels") || node["kernels"].boolean()};
    return request;
}

std::string write(const Reply& reply) {
    Json json = Json::object();
    switch (reply.kind) {
        case Reply::Kind::ready:
            json["ready"] = reply.text;
            break;
        case Reply::Kind::begun:
            json["begun"] = true;
            break;
        case Reply::Kind::done:
            json["done"] = check_json(reply.result);
            json["usable"] = reply.usable;
            break;
        case Reply::Kind::refused:
            json["refused"] = reply.text;
            json["code"] = reply.code;
            break;
        case Reply::Kind::other:
            json["other"] = reply.text;
            break;
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Reply read_reply(std::string_view line) {
    Reply reply;
    try {
        auto const json = parse(line, "reply");
        Field const node{json, "reply", ""};
        if (node.has("ready")) {
            reply.text = node["ready"].text();
            reply.kind = Reply::Kind::ready;
        } else if (node.has("begun")) {
            reply.kind = Reply::Kind::begun;
        } else if (node.has("done")) {
            reply.result = read_check(node["done"]);
            reply.usable = node["usable"].boolean();
            reply.kind = Reply::Kind::done;
        } else if (node.has("refused")) {
            reply.text = node["refused"].text();
            reply.code = node["code"].whole();
            reply.kind = Reply::Kind::refused;
        } else {
            reply.text = line;
        }
    } catch (const InputError&) {
        reply = {};
        reply.text = line;
    }
    return reply;
}

}  // namespace prove::wire
}  // namespace peerlane
