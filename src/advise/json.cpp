#include <nlohmann/json.hpp>

#include <peerlane/advise.hpp>

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

const char* to_string(Standing standing) {
    switch (standing) {
        case Standing::right:
            return "right";
        case Standing::no_peer:
            return "no_peer";
        case Standing::part:
            return "part";
        case Standing::wrong:
            return "wrong";
        case Standing::cut_off:
            break;
    }
    return "cut_off";
}

}  // namespace

std::string write_advice(const Advice& advice, bool simulated) {
    Json out{{"schema", "peerlane.advice/1"},
             {"simulated", simulated},
             {"for", to_string(advice.software)},
             {"devices", advice.devices},
             {"left_out", advice.left_out},
             {"clean", advice.clean()},
             {"clean_devices", advice.clean_devices ? Json(*advice.clean_devices) : Json(nullptr)}};
    auto& pairs = out["pairs"] = Json::array();
    for (auto const& pair : advice.pairs) {
        pairs.push_back({{"a", pair.a},
                         {"b", pair.b},
                         {"path", to_string(pair.path)},
                         {"standing", to_string(pair.standing)},
                         {"gbs", pair.gbs > 0 ? Json(pair.gbs) : Json(nullptr)}});
        if (!pair.trouble.empty()) {
            pairs.back()["trouble"] = pair.trouble;
        }
    }
    auto& settings = out["settings"] = Json::array();
    for (auto const& setting : advice.settings) {
        settings.push_back({{"kind", setting.kind == AdvisedSetting::Kind::variable ? "variable" : "flag"},
                            {"name", setting.name},
                            {"value", setting.value},
                            {"reason", setting.reason},
                            {"limit", setting.limit}});
    }
    out["refuses"] = advice.refuses;
    out["notes"] = advice.notes;
    if (advice.access_cache) {
        out["access_cache"] = {{"name", advice.access_cache->first}, {"content", advice.access_cache->second}};
    }
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace peerlane
