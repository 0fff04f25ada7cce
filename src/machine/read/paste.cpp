#include "machine/read/paste.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/merge.hpp>

#include "machine/read/text.hpp"

namespace peerlane::read {

Machine with_other_outputs(const Source& source, const Reader& first, Machine machine) {
    if (!first.in_pastes) {
        return machine;
    }
    for (auto const& reader : readers()) {
        if (&reader == &first || !reader.in_pastes || !reader.recognizes(source.text)) {
            continue;
        }
        try {
            auto other = reader.read(source);
            // How the text was wrapped was told once.
            auto const wrapped = [](const Notice& n) {
                return n.code == "ansi" || n.code == "crlf" || n.code == "commented" || n.code == "markdown";
            };
            other.notices.erase(std::remove_if(other.notices.begin(), other.notices.end(), wrapped),
                                other.notices.end());
            auto parts = std::vector<Machine>{machine, std::move(other)};
            for (auto& part : parts) {
                part.origin.files = {std::string(source.name)};
            }
            machine = merge(std::move(parts));
            machine.origin.files = {std::string(source.name)};
            auto const expected = [](const Notice& n) { return n.code == "joined-by-index"; };
            machine.notices.erase(std::remove_if(machine.notices.begin(), machine.notices.end(), expected),
                                  machine.notices.end());
            add_notice(machine, source, "several-outputs", 0,
                       fmt::format("{} was found in this text too", reader.format));
        } catch (const InputError& error) {
            add_notice(machine, source, "output-left-out", error.line(),
                       fmt::format("{}: {}", reader.format, error.reason()));
        }
    }
    return machine;
}

}  // namespace peerlane::read
