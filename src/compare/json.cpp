#include <nlohmann/json.hpp>

#include <peerlane/compare.hpp>

namespace peerlane {

std::string write_comparison(const Comparison& comparison, double tolerance) {
    using Json = nlohmann::ordered_json;
    Json out{{"schema", "peerlane.comparison/1"},
             {"nodes", comparison.nodes},
             {"tolerance", tolerance},
             {"alike", comparison.alike}};
    auto& odd = out["odd"] = Json::array();
    for (auto const& node : comparison.odd) {
        Json differences = Json::array();
        for (auto const& one : node.differences) {
            differences.push_back({{"kind", to_string(one.kind)}, {"weight", one.weight}, {"text", one.text}});
        }
        odd.push_back({{"name", node.name}, {"differences", std::move(differences)}});
    }
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace peerlane
