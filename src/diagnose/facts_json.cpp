/// The JSON form of Facts, by the list of fields in facts_fields.hpp.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>
#include <peerlane/facts.hpp>

#include "diagnose/facts_fields.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "peerlane.facts/1";

const std::map<NvmlFacts::State, std::string>& words_of(NvmlFacts::State) {
    using State = NvmlFacts::State;
    static const std::map<State, std::string> words{
        {State::absent, "absent"}, {State::failed, "failed"}, {State::hung, "hung"}, {State::ok, "ok"}};
    return words;
}
const std::map<NvmlLink::Remote, std::string>& words_of(NvmlLink::Remote) {
    using Remote = NvmlLink::Remote;
    static const std::map<Remote, std::string> words{
        {Remote::unknown, "unknown"}, {Remote::device, "device"}, {Remote::cpu, "cpu"}, {Remote::nvswitch, "nvswitch"}};
    return words;
}

Json to_json(const std::string& text) {
    return text;
}
template <class T>
std::enable_if_t<std::is_arithmetic_v<T>, Json> to_json(T number) {
    return number;
}
template <class T>
std::enable_if_t<std::is_enum_v<T>, Json> to_json(T word) {
    return words_of(word).at(word);
}
template <class T>
std::enable_if_t<std::is_class_v<T>, Json> to_json(const T& value);
Json to_json(const std::vector<std::pair<std::string, std::string>>& list) {
    Json out = Json::array();
    for (auto const& item : list) {
        out.push_back({{"name", item.first}, {"value", item.second}});
    }
    return out;
}
template <class T>
Json to_json(const std::vector<T>& list) {
    Json out = Json::array();
    for (auto const& item : list) {
        out.push_back(to_json(item));
    }
    return out;
}

class Writer {
  public:
    /// What has its default value was not read. Numbers that are always there have defaults of their own.
    template <class T>
    void operator()(const char* name, const T& value) {
        if ((std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || !(value == T{})) {
            out[name] = to_json(value);
        }
    }
    /// "read, and it is 0" differs from "not read".
    template <class T>
    void operator()(const char* name, const std::optional<T>& value) {
        if (value) {
            out[name] = to_json(*value);
        }
    }
    Json out = Json::object();
};

template <class T>
std::enable_if_t<std::is_class_v<T>, Json> to_json(const T& value) {
    Writer writer;
    fields(writer, value, static_cast<const T*>(nullptr));
    return std::move(writer.out);
}

class Reader {
  public:
    Reader(const Json& json, const std::string& file, std::string where)
        : json_(json), file_(file), where_(std::move(where)) {
        if (!json.is_object()) {
            refuse("is no object");
        }
    }
    template <class T>
    void operator()(const char* name, T& value) {
        auto const found = json_.find(name);
        if (found != json_.end() && !found->is_null()) {
            Reader(*found, file_, where_ + "." + name, 0).read(value);
        }
    }

  private:
    Reader(const Json& json, const std::string& file, std::string where, int)
        : json_(json), file_(file), where_(std::move(where)) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(file_, 0, fmt::format("{} {}", where_, what));
    }
    void read(std::string& value) const {
        if (!json_.is_string()) {
            refuse("is no text");
        }
        value = json_.get<std::string>();
    }
    void read(bool& value) const {
        if (!json_.is_boolean()) {
            refuse("is neither true nor false");
        }
        value = json_.get<bool>();
    }
    void read(double& value) const {
        if (!json_.is_number() || !std::isfinite(json_.get<double>())) {
            refuse("is no number");
        }
        value = json_.get<double>();
    }
    template <class T>
    std::enable_if_t<std::is_integral_v<T>> read(T& value) const {
        auto const fits =
            json_.is_number_unsigned()
                ? json_.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                : json_.is_number_integer() && std::is_signed_v<T> &&
                      json_.get<std::int64_t>() >= static_cast<std::int64_t>(std::numeric_limits<T>::min());
        if (!fits) {
            refuse("is no whole number of its range");
        }
        value = json_.get<T>();
    }
    template <class T>
    std::enable_if_t<std::is_enum_v<T>> read(T& value) const {
        std::string word;
        read(word);
        for (auto const& known : words_of(value)) {
            if (known.second == word) {
                value = known.first;
                return;
            }
        }
        refuse(fmt::format("does not know the word {}", word));
    }
    template <class T>
    void read(std::optional<T>& value) const {
        read(value.emplace());
    }
    void read(std::pair<std::string, std::string>& value) const {
        Reader inside(json_, file_, where_);
        inside("name", value.first);
        inside("value", value.second);
    }
    template <class T>
    void read(std::vector<T>& list) const {
        if (!json_.is_array()) {
            refuse("is no list");
        }
        list.clear();
        for (auto const& item : json_) {
            T value{};
            Reader(item, file_, fmt::format("{}[{}]", where_, list.size()), 0).read(value);
            list.push_back(std::move(value));
        }
    }
    template <class T>
    std::enable_if_t<std::is_class_v<T>> read(T& value) const {
        Reader inside(json_, file_, where_);
        fields(inside, value, static_cast<const T*>(nullptr));
    }

    const Json& json_;
    const std::string& file_;
    std::string where_;
};

}  // namespace

std::string write_facts(const Facts& facts, int indent) {
    Json out{{"schema", schema}};
    out.update(to_json(facts));
    return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Facts read_facts(std::string_view text, const std::string& file) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::parse_error& error) {
        auto const before = text.substr(0, std::min(text.size(), error.byte));
        throw InputError(file, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
                         "is no JSON document");
    }
    auto const found = json.is_object() ? json.find("schema") : json.end();
    if (found == json.end() || !found->is_string() || found->get<std::string>() != schema) {
        throw InputError(file, 1, fmt::format("is no document of schema {}", schema));
    }
    Facts facts;
    Reader reader(json, file, "facts");
    fields(reader, facts, static_cast<const Facts*>(nullptr));
    return facts;
}

}  // namespace peerlane
