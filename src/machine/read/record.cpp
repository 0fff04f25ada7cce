#include "machine/read/record.hpp"

#include <algorithm>

#include "machine/read/own_json.hpp"

namespace peerlane::read {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
    auto const first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// What stands after `word`, which may have blanks before it; empty when something else does.
std::string_view after(std::string_view text, std::string_view word) {
    text = trimmed(text);
    return text.substr(0, word.size()) == word ? trimmed(text.substr(word.size())) : std::string_view();
}

/// The value of an object whose first and only key this is.
std::string_view only_value(std::string_view line, std::string_view key) {
    auto const value = after(after(after(line, "{"), key), ":");
    return value.empty() || value.back() != '}' ? std::string_view() : trimmed(value.substr(0, value.size() - 1));
}

}  // namespace

bool is_record(std::string_view text) {
    text = trimmed(text);
    auto const value = after(after(after(text.substr(0, text.find('\n')), "{"), "\"schema\""), ":");
    return value.substr(0, 17) == "\"peerlane.record/";
}

Machine read_recorded_machine(const Source& source) {
    int number = 0;
    for (std::size_t at = 0; at < source.text.size();) {
        auto const end = std::min(source.text.find('\n', at), source.text.size());
        auto const document = only_value(source.text.substr(at, end - at), "\"machine\"");
        at = end + 1;
        ++number;
        if (document.empty()) {
            continue;
        }
        try {
            return read_own_json({source.name, document});
        } catch (const InputError& error) {
            throw InputError(error.file(), number, error.reason());
        }
    }
    throw InputError(std::string(source.name), 0, "the record holds no machine");
}

}  // namespace peerlane::read
