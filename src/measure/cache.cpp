#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>
#include <peerlane/profile_cache.hpp>

#include "prove/kept_file.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "peerlane.stored-profile/1";

std::uint64_t hashed(const CacheKey& key, std::uint64_t hash) {  // FNV-1a
    auto const add = [&hash](const std::string& text) {
        for (auto const c : text) {
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        }
        hash = (hash ^ 0xff) * 0x100000001b3ULL;  // no byte of UTF-8: parts do not run into each other
    };
    for (auto const& [name, value] : key.parts) {
        add(name);
        add(value);
    }
    return hash;
}

StoredProfile understood(const std::string& text, const std::string& path) {
    auto const json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("schema") || json["schema"] != schema) {
        throw InputError(path, 0, fmt::format("is no {}", schema));
    }
    if (!json.contains("key") || !json["key"].is_object() || !json.contains("profile")) {
        throw InputError(path, 0, "lacks its key or its profile");
    }
    StoredProfile stored;
    for (auto const& [name, value] : json["key"].items()) {
        if (!value.is_string()) {
            throw InputError(path, 0, "its key is not made of texts");
        }
        stored.key.parts.emplace_back(name, value.get<std::string>());
    }
    stored.profile = read_profile_json(json["profile"].dump(), path);
    return stored;
}

/// The first parts that differ, for people.
std::string difference(const CacheKey& then, const CacheKey& now) {
    constexpr std::size_t most = 3;
    std::vector<std::string> changed;
    auto const value_in = [](const CacheKey& key, const std::string& name) -> const std::string* {
        for (auto const& part : key.parts) {
            if (part.first == name) {
                return &part.second;
            }
        }
        return nullptr;
    };
    for (auto const& [name, value] : now.parts) {
        auto const* const before = value_in(then, name);
        if (before == nullptr || *before != value) {
            changed.push_back(name);
        }
    }
    for (auto const& [name, value] : then.parts) {
        if (value_in(now, name) == nullptr) {
            changed.push_back(name);
        }
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(changed.size(), most); ++i) {
        text += (i == 0 ? "" : ", ") + changed[i];
    }
    return changed.size() > most ? fmt::format("{} and {} more", text, changed.size() - most)
           : changed.empty()     ? "the order of its parts"
                                 : text;
}

}  // namespace

std::string profile_key(const CacheKey& key) {
    return fmt::format("{:016x}{:016x}", hashed(key, 0xcbf29ce484222325ULL), hashed(key, 0x9e3779b97f4a7c15ULL));
}

ProfileAnswer read_profile_cache(const std::string& path, const CacheKey& now) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return {{}, errno == ENOENT || errno == ENOTDIR ? "" : fmt::format("{}: {}", path, std::strerror(errno))};
    }
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    try {
        auto stored = understood(text, path);
        if (stored.key != now || stored.profile.key != profile_key(now)) {
            return {{},
                    fmt::format("{}: this is not the machine that was measured: {} changed", path,
                                difference(stored.key, now))};
        }
        return {std::move(stored), {}};
    } catch (const InputError& error) {
        return {{}, error.what()};
    }
}

std::string write_profile_cache(const std::string& path, const StoredProfile& profile) {
    Json key = Json::object();
    for (auto const& part : profile.key.parts) {
        key[part.first] = part.second;
    }
    return prove::replace_kept_file(
        path, fmt::format("{{\"schema\":\"{}\",\n\"key\":{},\n\"profile\":{}}}\n", schema,
                          key.dump(-1, ' ', false, Json::error_handler_t::replace), profile_json(profile.profile)));
}

}  // namespace peerlane
