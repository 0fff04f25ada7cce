#include "cli/doctor.hpp"

#include <filesystem>

namespace peerlane::cli_tests {
namespace {

using Json = nlohmann::json;

std::string pair_name(const Json& pair) {
    return std::to_string(pair["accessor"].get<int>()) + ":" + std::to_string(pair["owner"].get<int>());
}

std::string check_word(const Json& check) {
    auto word = check["result"].get<std::string>();
    if (check.contains("kind")) {
        word += "(" + check["kind"].get<std::string>() + ")";
    }
    if (word == "error") {
        word += std::to_string(check.value("code", -1));
    }
    return word;
}

const Json* find_pair(const Json& document, int accessor, int owner) {
    for (auto const& pair : document["pairs"]) {
        if (pair["accessor"] == accessor && pair["owner"] == owner) {
            return &pair;
        }
    }
    return nullptr;
}

}  // namespace

std::string Doctored::check(int accessor, int owner, const std::string& name) const {
    auto const* const pair = find_pair(document, accessor, owner);
    return pair == nullptr ? "no such pair" : check_word((*pair)["checks"][name]);
}

std::string Doctored::reason(int accessor, int owner, const std::string& name) const {
    auto const* const pair = find_pair(document, accessor, owner);
    return pair == nullptr ? "no such pair" : (*pair)["checks"][name].value("reason", "");
}

std::string Doctored::use(int source, int destination) const {
    for (auto const& route : document["routes"]) {
        if (route["src"] == source && route["dst"] == destination) {
            auto const use = route["use"].get<std::string>();
            return use == "direct" ? use + " " + std::to_string(route["issuer"].get<int>()) : use;
        }
    }
    return "no such route";
}

bool Doctored::has(const std::string& code) const {
    auto const& findings = document["findings"];
    return std::any_of(findings.begin(), findings.end(), [&](const Json& finding) { return finding["code"] == code; });
}

std::string Doctored::pairs_of(const std::string& code) const {
    std::string text;
    for (auto const& finding : document["findings"]) {
        if (finding["code"] == code) {
            for (auto const& pair : finding["pairs"]) {
                text += (text.empty() ? "" : " ") + pair_name(pair);
            }
            break;
        }
    }
    return text;
}

std::vector<std::string> Doctored::complaints() const {
    std::vector<std::string> all;
    for (auto const& pair : document["pairs"]) {
        for (auto const& [name, check] : pair["checks"].items()) {
            auto const word = check_word(check);
            if (word != "ok" && word != "skipped") {
                all.push_back(pair_name(pair) + " " + name + " " + word);
            }
        }
    }
    return all;
}

Doctored doctored(std::vector<std::string> words, const How& how) {
    words.insert(words.begin(), {"--format", "json"});
    auto const ran = peerlane(words, how);
    return {ran.status, Json::parse(ran.out, nullptr, false), ran.err};
}

std::vector<std::string> with_faults(std::vector<std::string> words, const std::vector<std::string>& faults) {
    for (auto const& fault : faults) {
        words.insert(words.end(), {"--fault", fault});
    }
    return words;
}

std::string shared_machine(const std::string& name) {
    auto const path = std::filesystem::path(PEERLANE_SHARED_DIR) / "machines" / name;
    return std::filesystem::exists(path) ? path.string() : "";
}

}  // namespace peerlane::cli_tests
