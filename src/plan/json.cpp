// JSON of plans and of what became of them. One file: the library that writes it is heavy to compile.

#include <string>

#include <nlohmann/json.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/transfer.hpp>

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

Json of(const Route& route) {
    auto legs = Json::array();
    for (auto const& leg : route.legs) {
        legs.push_back({{"from", to_string(leg.from)},
                        {"to", to_string(leg.to)},
                        {"engine", to_string(leg.engine)},
                        {"issuer", to_string(leg.issuer)}});
    }
    return {{"share", route.share}, {"legs", std::move(legs)}, {"chunk", route.chunk}, {"buffers", route.buffers}};
}

Json of(const std::vector<Route>& routes) {
    auto list = Json::array();
    for (auto const& route : routes) {
        list.push_back(of(route));
    }
    return list;
}

Json of(const std::vector<Reason>& reasons) {
    auto list = Json::array();
    for (auto const& reason : reasons) {
        list.push_back({{"text", reason.text}, {"because", of(reason.because)}});
    }
    return list;
}

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json of(const Choice& choice) {
    auto rejected = Json::array();
    for (auto const& other : choice.rejected) {
        rejected.push_back({{"routes", of(other.routes)},
                            {"predicted_s", other.predicted_s ? Json(*other.predicted_s) : Json(nullptr)},
                            {"reason", other.reason}});
    }
    return {{"bytes", choice.bytes},
            {"routes", of(choice.routes)},
            {"predicted_s", choice.predicted_s > 0 ? Json(choice.predicted_s) : Json(nullptr)},
            {"predicted_gbs", choice.predicted_s > 0 ? Json(choice.predicted_gbs) : Json(nullptr)},
            {"access", choice.access},
            {"margin", or_null(choice.margin)},
            {"why", choice.why},
            {"reasons", of(choice.reasons)},
            {"rejected", std::move(rejected)}};
}

Json of(const PlanRequest& request) {
    return {{"from", to_string(request.from)}, {"to", to_string(request.to)}, {"sizes", request.sizes}};
}

}  // namespace

std::string plan_json(const PlanRecord& record) {
    auto request = of(record.plan.request);
    if (record.access) {
        request["accessor"] = record.access->accessor;
        request["touches"] = record.access->touches;
        request["pattern"] = record.access->scattered_bytes == 0
                                 ? "coalesced"
                                 : "scattered:" + std::to_string(record.access->scattered_bytes);
        request["capacity"] = or_null(record.access->capacity_bytes);
    }
    auto busy = Json::array();
    for (auto const& [from, to] : record.busy) {
        busy.push_back({{"from", to_string(from)}, {"to", to_string(to)}});
    }
    auto choices = Json::array();
    for (auto const& choice : record.plan.choices) {
        choices.push_back(of(choice));
    }
    auto ranges = Json::array();
    for (auto const& range : record.ranges) {
        ranges.push_back({{"from_bytes", range.from}, {"routes", of(range.choice.routes)}});
    }
    return Json{{"schema", "peerlane.plan/1"},
                {"simulated", record.simulated},
                {"machine", record.machine},
                {"costs", record.costs},
                {"profile", record.profile_key.empty() ? Json(nullptr) : Json(record.profile_key)},
                {"trust_claimed", record.trust_claimed},
                {"busy", std::move(busy)},
                {"request", std::move(request)},
                {"choices", std::move(choices)},
                {"ranges", std::move(ranges)}}
               .dump(2) +
           "\n";
}

std::string plan_json(const Plan& plan) {
    PlanRecord record;
    record.plan = plan;
    return plan_json(record);
}

const char* to_string(TransferReport::Outcome outcome) {
    switch (outcome) {
        case TransferReport::Outcome::ok:
            return "ok";
        case TransferReport::Outcome::wrong:
            return "wrong";
        case TransferReport::Outcome::hang:
            return "hang";
        case TransferReport::Outcome::error:
            return "error";
    }
    return "";
}

std::string transfer_json(const TransferReport& report, const PlanRequest& request) {
    Json wrong(nullptr);
    if (report.wrong) {
        wrong = {{"kind", to_string(report.wrong->kind)},
                 {"first_bad_offset", report.wrong->first_bad_offset},
                 {"bad_bytes", report.wrong->bad_bytes}};
    }
    auto const predicted = report.plan.routes.empty() ? Json(nullptr) : Json(report.plan.predicted_s);
    return Json{{"schema", "peerlane.transfer/1"},
                {"simulated", report.simulated},
                {"machine", report.machine},
                {"from", to_string(request.from)},
                {"to", to_string(request.to)},
                {"bytes", report.bytes},
                {"result", to_string(report.result)},
                {"code", or_null(report.code)},
                {"message", report.message},
                {"verified", report.verified},
                {"wrong", wrong},
                {"seconds", or_null(report.seconds)},
                {"gbs", or_null(report.gbs)},
                {"repetitions", report.repetitions},
                {"predicted_s", predicted},
                {"plan", of(report.plan)}}
               .dump(2) +
           "\n";
}

}  // namespace peerlane
