#pragma once
/// A document that is being read, for the files here that read JSON.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

namespace peerlane {

/// Throws InputError with `file` and the line.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& file);

/// A place in a document: knows its name, so that a refusal can say where. The document must outlive it. Every reading
/// function refuses (InputError) what is not of its kind.
class JsonField {
  public:
    JsonField(const nlohmann::ordered_json& json, std::string file, std::string path = {})
        : json_(&json), file_(std::move(file)), path_(std::move(path)) {}

    [[noreturn]] void refuse(const std::string& what) const;
    /// There, and not null.
    [[nodiscard]] bool has(const char* key) const;
    [[nodiscard]] JsonField operator[](const char* key) const;
    /// Of an array.
    [[nodiscard]] std::vector<JsonField> items() const;
    /// Names and values of an object.
    [[nodiscard]] std::vector<std::pair<std::string, JsonField>> members() const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::string text() const;
    /// Whole, at least 0.
    [[nodiscard]] std::uint64_t count() const;
    [[nodiscard]] int whole() const;
    [[nodiscard]] int device() const;
    [[nodiscard]] double number() const;
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
    [[nodiscard]] const nlohmann::ordered_json& object() const;
    const nlohmann::ordered_json* json_;
    std::string file_, path_;
};

}  // namespace peerlane
