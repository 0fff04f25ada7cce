// The document peerlane.profile/1. One file: the library that reads and writes it is heavy to compile.

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>
#include <peerlane/profile.hpp>

#include "measure/json_lines.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;
using measuring::JsonStep;

constexpr const char* schema = "peerlane.profile/1";
constexpr std::size_t most_bytes = 64U << 20;

/// The members of HostCosts and their keys.
struct HostCost {
    const char* key;
    std::optional<double> HostCosts::*member;
};
constexpr HostCost host_costs[] = {{"copy_call_s", &HostCosts::copy_call_s},
                                   {"launch_call_s", &HostCosts::launch_call_s},
                                   {"graph_launch_call_s", &HostCosts::graph_launch_call_s},
                                   {"synchronize_idle_s", &HostCosts::synchronize_idle_s},
                                   {"query_s", &HostCosts::query_s},
                                   {"provenance_s", &HostCosts::provenance_s},
                                   {"event_s", &HostCosts::event_s}};

struct AccessCost {
    const char* key;
    std::optional<double> AccessCosts::*member;
};
constexpr AccessCost access_costs[] = {{"load_s", &AccessCosts::load_s},
                                       {"line_s", &AccessCosts::line_s},
                                       {"contended_line_s", &AccessCosts::contended_line_s},
                                       {"fetch_add_s", &AccessCosts::fetch_add_s},
                                       {"dependent_fetch_add_s", &AccessCosts::dependent_fetch_add_s}};

Json or_null(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json of(const std::vector<CurvePoint>& points) {
    auto list = Json::array();
    for (auto const& point : points) {
        list.push_back({{"bytes", point.bytes},
                        {"seconds", point.seconds},
                        {"spread", point.spread < 0 ? Json(nullptr) : Json(point.spread)}});
    }
    return list;
}

Json of(const Leg& leg) {
    return {{"from", to_string(leg.from)},
            {"to", to_string(leg.to)},
            {"engine", to_string(leg.engine)},
            {"issuer", to_string(leg.issuer)}};
}

Json of(const AccessCosts& costs) {
    auto reads = Json::array();
    for (auto const& rate : costs.reads) {
        reads.push_back({{"width", rate.width}, {"stride", rate.stride}, {"useful_gbs", rate.useful_gbs}});
    }
    Json out{{"accessor", to_string(gpu(costs.accessor))}, {"place", to_string(costs.place)}};
    for (auto const& [key, member] : access_costs) {
        out[key] = or_null(costs.*member);
    }
    out["reads"] = std::move(reads);
    out["touches"] = of(costs.touches);
    return out;
}

/// A value and the way to it, so that a refusal can say where it stands.
class At {
  public:
    At(std::string_view text, const std::string& file, const Json& value, std::vector<JsonStep> path = {})
        : text_(text), file_(file), value_(value), path_(std::move(path)) {}

    [[noreturn]] void refuse(const std::string& what) const {
        std::string name;
        for (auto const& step : path_) {
            if (auto const* const key = std::get_if<std::string>(&step)) {
                name += (name.empty() ? "" : ".") + *key;
            } else {
                name += fmt::format("[{}]", std::get<std::size_t>(step));
            }
        }
        throw InputError(file_, measuring::line_of(text_, path_),
                         fmt::format("{}: {}", name.empty() ? "document" : name, what));
    }
    [[nodiscard]] bool has(const char* key) const {
        if (!value_.is_object()) {
            refuse(fmt::format("is {}, not an object", value_.type_name()));
        }
        auto const found = value_.find(key);
        return found != value_.end() && !found->is_null();
    }
    [[nodiscard]] At operator[](const char* key) const {
        if (!has(key)) {
            refuse(fmt::format("\"{}\" is missing", key));
        }
        return inner(*value_.find(key), key);
    }
    template <class Each>
    void each(Each visit) const {
        if (!value_.is_array()) {
            refuse(fmt::format("is {}, not an array", value_.type_name()));
        }
        for (std::size_t i = 0; i < value_.size(); ++i) {
            visit(inner(value_[i], i));
        }
    }
    [[nodiscard]] std::string text() const {
        if (!value_.is_string()) {
            refuse(fmt::format("is {}, not a string", value_.type_name()));
        }
        return value_.get<std::string>();
    }
    [[nodiscard]] bool flag() const {
        if (!value_.is_boolean()) {
            refuse(fmt::format("is {}, not true or false", value_.type_name()));
        }
        return value_.get<bool>();
    }
    [[nodiscard]] double number() const {
        if (!value_.is_number()) {
            refuse(fmt::format("is {}, not a number", value_.type_name()));
        }
        auto const number = value_.get<double>();
        if (!std::isfinite(number)) {
            refuse("is not finite");
        }
        return number;
    }
    /// A time or a rate.
    [[nodiscard]] double positive() const {
        auto const value = number();
        if (value <= 0) {
            refuse(fmt::format("is {}, not above 0", value_.dump()));
        }
        return value;
    }
    [[nodiscard]] std::uint64_t count(std::uint64_t most) const {
        if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() == 0 || value_.get<std::uint64_t>() > most) {
            refuse(fmt::format("is {}, not a whole number from 1 to {}",
                               value_.is_number() ? value_.dump() : value_.type_name(), most));
        }
        return value_.get<std::uint64_t>();
    }
    [[nodiscard]] Place place() const {
        auto const word = text();
        auto const place = parse_place(word);
        if (!place) {
            refuse(fmt::format("\"{}\" is no place; places are gpu0, host, host:1", word));
        }
        return *place;
    }
    [[nodiscard]] Place device() const {
        auto const where = place();
        if (!where.is_device()) {
            refuse(fmt::format("\"{}\" is no device", text()));
        }
        return where;
    }

  private:
    [[nodiscard]] At inner(const Json& value, JsonStep step) const {
        auto path = path_;
        path.push_back(std::move(step));
        return {text_, file_, value, std::move(path)};
    }
    std::string_view text_;
    const std::string& file_;
    const Json& value_;
    std::vector<JsonStep> path_;
};

std::vector<CurvePoint> read_points(const At& at) {
    std::vector<CurvePoint> points;
    at.each([&](const At& item) {
        CurvePoint point;
        point.bytes = item["bytes"].count(std::numeric_limits<std::uint64_t>::max());
        point.seconds = item["seconds"].positive();
        if (item.has("spread")) {
            point.spread = item["spread"].number();
            if (point.spread < 0) {
                item["spread"].refuse("is below 0; a spread that is not known is null");
            }
        }
        if (!points.empty() && point.bytes <= points.back().bytes) {
            item["bytes"].refuse(fmt::format("is {} behind {}: sizes ascend", point.bytes, points.back().bytes));
        }
        points.push_back(point);
    });
    return points;
}

Leg read_leg(const At& at) {
    Leg leg;
    leg.from = at["from"].place();
    leg.to = at["to"].place();
    leg.issuer = at["issuer"].device();
    if (leg.from == leg.to) {
        at.refuse(fmt::format("leads from {} to itself", to_string(leg.from)));
    }
    if (leg.from.is_host() && leg.to.is_host()) {
        at.refuse("joins two places of the host: no device takes part");
    }
    auto const engine = at["engine"].text();
    if (engine != "copy" && engine != "kernel") {
        at["engine"].refuse(fmt::format("\"{}\" is none of copy, kernel", engine));
    }
    leg.engine = engine == "copy" ? Engine::copy : Engine::kernel;
    return leg;
}

Basis read_basis(const At& at) {
    auto const word = at.text();
    for (auto const basis : {Basis::measured, Basis::nominal, Basis::assumed}) {
        if (word == to_string(basis)) {
            return basis;
        }
    }
    at.refuse(fmt::format("\"{}\" is none of measured, nominal, assumed", word));
}

LoadedGroup read_group(const At& at) {
    LoadedGroup group;
    group.name = at["name"].text();
    group.bytes = at["bytes"].count(std::numeric_limits<std::uint64_t>::max());
    at["legs"].each([&](const At& item) {
        group.legs.push_back({read_leg(item), item["alone_gbs"].positive(), item["gbs"].positive()});
    });
    return group;
}

LoadedRoute read_route(const At& at) {
    LoadedRoute route;
    route.bytes = at["bytes"].count(std::numeric_limits<std::uint64_t>::max());
    route.gbs = at["gbs"].positive();
    if (at.has("small_bytes")) {
        route.small_bytes = at["small_bytes"].count(route.bytes - 1);
        route.small_gbs = at["small_gbs"].positive();
    }
    at["legs"].each([&](const At& item) {
        route.legs.push_back(read_leg(item));
        if (route.legs.size() > 1 && route.legs.end()[-2].to != route.legs.back().from) {
            item.refuse("does not begin where the leg before it ends");
        }
    });
    if (route.legs.empty()) {
        at["legs"].refuse("has no legs");
    }
    return route;
}

AccessCosts read_access(const At& at) {
    AccessCosts costs;
    costs.accessor = at["accessor"].device().index;
    costs.place = at["place"].place();
    for (auto const& [key, member] : access_costs) {
        if (at.has(key)) {
            costs.*member = at[key].positive();
        }
    }
    at["reads"].each([&](const At& item) {
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        AccessRate const rate{static_cast<std::uint32_t>(item["width"].count(most)),
                              static_cast<std::uint32_t>(item["stride"].count(most)), item["useful_gbs"].positive()};
        if (rate.stride < rate.width) {
            item["stride"].refuse(fmt::format("is {}, below the width of {}", rate.stride, rate.width));
        }
        auto const order = [](const AccessRate& r) { return std::pair(r.width, r.stride); };
        if (!costs.reads.empty() && order(costs.reads.back()) >= order(rate)) {
            item.refuse("reads ascend by width, then stride");
        }
        costs.reads.push_back(rate);
    });
    costs.touches = read_points(at["touches"]);
    return costs;
}

Profile understood(const At& at) {
    if (at["schema"].text() != schema) {
        at["schema"].refuse(fmt::format("\"{}\" is not {}", at["schema"].text(), schema));
    }
    Profile profile;
    profile.key = at.has("key") ? at["key"].text() : "";
    profile.taken_at = at.has("taken_at") ? at["taken_at"].text() : "";
    profile.simulated = at["simulated"].flag();
    profile.complete = at["complete"].flag();
    profile.quick = at["quick"].flag();
    at["legs"].each([&](const At& item) {
        LegCurve curve{
            read_leg(item), read_basis(item["basis"]), {read_points(item["curve"])}, {read_points(item["queued"])}};
        if (profile.leg(curve.leg) != nullptr) {
            item.refuse(fmt::format("{}: a leg that was there before", describe(curve.leg)));
        }
        if (curve.curve.points.empty()) {
            item["curve"].refuse("has no points");
        }
        profile.legs.push_back(std::move(curve));
    });
    at["loaded"].each([&](const At& item) { profile.loaded.push_back(read_group(item)); });
    if (at.has("plans")) {
        at["plans"].each([&](const At& item) {
            profile.plans.emplace_back();
            item["routes"].each([&](const At& route) { profile.plans.back().routes.push_back(read_route(route)); });
        });
    }
    at["access"].each([&](const At& item) {
        auto costs = read_access(item);
        if (profile.access_of(costs.accessor, costs.place) != nullptr) {
            item.refuse("an accessor and a place that were there before");
        }
        profile.access.push_back(std::move(costs));
    });
    auto const calls = at["host_costs"];
    for (auto const& [key, member] : host_costs) {
        if (calls.has(key)) {
            profile.host_costs.*member = calls[key].positive();
        }
    }
    if (at.has("notices")) {
        at["notices"].each([&](const At& item) { profile.notices.push_back(item.text()); });
    }
    return profile;
}

}  // namespace

std::string profile_json(const Profile& profile) {
    auto legs = Json::array();
    for (auto const& curve : profile.legs) {
        auto leg = of(curve.leg);
        leg["basis"] = to_string(curve.basis);
        leg["curve"] = of(curve.curve.points);
        leg["queued"] = of(curve.queued.points);
        legs.push_back(std::move(leg));
    }
    auto loaded = Json::array();
    for (auto const& group : profile.loaded) {
        auto members = Json::array();
        for (auto const& one : group.legs) {
            auto leg = of(one.leg);
            leg["alone_gbs"] = one.alone_gbs;
            leg["gbs"] = one.gbs;
            members.push_back(std::move(leg));
        }
        loaded.push_back({{"name", group.name}, {"bytes", group.bytes}, {"legs", std::move(members)}});
    }
    auto plans = Json::array();
    for (auto const& plan : profile.plans) {
        auto routes = Json::array();
        for (auto const& one : plan.routes) {
            auto route = Json{{"bytes", one.bytes}, {"gbs", one.gbs}, {"legs", Json::array()}};
            for (auto const& leg : one.legs) {
                route["legs"].push_back(of(leg));
            }
            if (one.small_bytes > 0) {
                route["small_bytes"] = one.small_bytes;
                route["small_gbs"] = one.small_gbs;
            }
            routes.push_back(std::move(route));
        }
        plans.push_back({{"routes", std::move(routes)}});
    }
    auto access = Json::array();
    for (auto const& costs : profile.access) {
        access.push_back(of(costs));
    }
    auto calls = Json::object();
    for (auto const& [key, member] : host_costs) {
        calls[key] = or_null(profile.host_costs.*member);
    }
    return Json{{"schema", schema},
                {"key", profile.key},
                {"taken_at", profile.taken_at},
                {"simulated", profile.simulated},
                {"complete", profile.complete},
                {"quick", profile.quick},
                {"legs", std::move(legs)},
                {"loaded", std::move(loaded)},
                {"plans", std::move(plans)},
                {"access", std::move(access)},
                {"host_costs", std::move(calls)},
                {"notices", profile.notices}}
               .dump(1, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

Profile read_profile_json(std::string_view text, const std::string& file) {
    if (text.size() > most_bytes) {
        throw InputError(file, 0, fmt::format("is larger than {} MiB: no profile is", most_bytes >> 20));
    }
    Json json;
    try {
        json = Json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        throw InputError(file, measuring::line_at(text, error.byte > 0 ? error.byte - 1 : 0), "is not JSON");
    } catch (const nlohmann::json::exception&) {  // a number that no type holds
        throw InputError(file, 0, "is not JSON that can be held");
    }
    return understood({text, file, json});
}

}  // namespace peerlane
