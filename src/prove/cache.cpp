#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>
#include <peerlane/verdict_cache.hpp>

#include "prove/kept_file.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "peerlane.cache/1";

StoredVerdicts understood(const std::string& text, const std::string& path) {
    auto const json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("schema") || json["schema"] != schema) {
        throw InputError(path, 0, fmt::format("is no {}", schema));
    }
    StoredVerdicts stored;
    if (!json.contains("key") || !json["key"].is_object() || !json.contains("verdicts")) {
        throw InputError(path, 0, "lacks its key or its verdicts");
    }
    for (auto const& [name, value] : json["key"].items()) {
        if (!value.is_string()) {
            throw InputError(path, 0, "its key is not made of texts");
        }
        stored.key.parts.emplace_back(name, value.get<std::string>());
    }
    stored.verdicts = read_verdicts(json["verdicts"].dump(), path);
    return stored;
}

}  // namespace

CacheAnswer read_verdict_cache(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return {{}, errno == ENOENT || errno == ENOTDIR ? "" : fmt::format("{}: {}", path, std::strerror(errno))};
    }
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    try {
        return {understood(text, path), {}};
    } catch (const InputError& error) {
        return {{}, error.what()};
    }
}

std::string write_verdict_cache(const std::string& path, const StoredVerdicts& verdicts) {
    Json key = Json::object();
    for (auto const& part : verdicts.key.parts) {
        key[part.first] = part.second;
    }
    auto const text =
        fmt::format("{{\"schema\":\"{}\",\n\"key\":{},\n\"verdicts\":{}}}\n", schema,
                    key.dump(-1, ' ', false, Json::error_handler_t::replace), write_verdicts(verdicts.verdicts, -1));
    return prove::replace_kept_file(path, text);
}

}  // namespace peerlane
