#include "prove/json_field.hpp"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>

namespace peerlane {

using Json = nlohmann::ordered_json;

Json parse_json(std::string_view text, const std::string& file) {
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        auto const end = std::min(error.byte, text.size());
        auto const line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
        throw InputError(file, static_cast<int>(line), "no JSON");
    }
}

void JsonField::refuse(const std::string& what) const {
    throw InputError(file_, 0, fmt::format("{}: {}", path_.empty() ? "document" : path_, what));
}

const Json& JsonField::object() const {
    if (!json_->is_object()) {
        refuse("must be an object");
    }
    return *json_;
}

bool JsonField::has(const char* key) const {
    auto const at = object().find(key);
    return at != json_->end() && !at->is_null();
}

JsonField JsonField::operator[](const char* key) const {
    auto const at = object().find(key);
    if (at == json_->end()) {
        refuse(fmt::format("misses \"{}\"", key));
    }
    return {*at, file_, path_.empty() ? key : path_ + "." + key};
}

std::vector<JsonField> JsonField::items() const {
    if (!json_->is_array()) {
        refuse("must be an array");
    }
    std::vector<JsonField> all;
    for (auto const& item : *json_) {
        all.emplace_back(item, file_, fmt::format("{}[{}]", path_, all.size()));
    }
    return all;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
    std::vector<std::pair<std::string, JsonField>> all;
    for (auto const& [name, value] : object().items()) {
        all.emplace_back(name, JsonField{value, file_, path_ + "." + name});
    }
    return all;
}

bool JsonField::boolean() const {
    if (!json_->is_boolean()) {
        refuse("must be true or false");
    }
    return json_->get<bool>();
}

std::string JsonField::text() const {
    if (!json_->is_string()) {
        refuse("must be a text");
    }
    return json_->get<std::string>();
}

std::uint64_t JsonField::count() const {
    if (!json_->is_number_unsigned()) {
        refuse("must be a whole number of at least 0");
    }
    return json_->get<std::uint64_t>();
}

int JsonField::whole() const {
    if (!json_->is_number_integer() || *json_ > std::numeric_limits<int>::max() ||
        *json_ < std::numeric_limits<int>::min()) {
        refuse("must be a whole number");
    }
    return json_->get<int>();
}

int JsonField::device() const {
    auto const id = whole();
    if (id < 0) {
        refuse("must be a device");
    }
    return id;
}

double JsonField::number() const {
    if (!json_->is_number()) {
        refuse("must be a number");
    }
    return json_->get<double>();
}

}  // namespace peerlane
