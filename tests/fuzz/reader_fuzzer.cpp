// One libFuzzer target a format; peerlane_fuzz_format names it and is all that they differ in. Whatever the bytes, a
// reader gives a sound machine or throws InputError; what it gives can be written, read back equal, and merged with
// itself.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <peerlane/merge.hpp>

#include "machine/read/grammar.hpp"
#include "machine/read/reader.hpp"
#include "machine/read/text.hpp"
#include "machine/write/writers.hpp"

/// A format of the table of readers, "any" (whatever is recognized), or "grammar".
extern const char* const peerlane_fuzz_format;

namespace {

using peerlane::Machine;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

void check_sound(const Machine& machine) {
    auto const n = machine.devices.size();
    if (machine.pairs.size() != n * (n == 0 ? 0 : n - 1)) {
        fail("pairs are complete");
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (machine.devices[i].id != static_cast<int>(i)) {
            fail("ids are 0 to n-1");
        }
    }
    for (auto const& link : machine.graph.links) {
        auto const nodes = static_cast<int>(machine.graph.nodes.size());
        if (link.from < 0 || link.to < 0 || link.from >= nodes || link.to >= nodes) {
            fail("links join nodes");
        }
    }
    for (auto const& pair : machine.pairs) {
        for (auto const& rate :
             {pair.nominal_gbs, pair.measured.write_gbs, pair.measured.read_gbs, pair.measured.staged_gbs}) {
            if (rate && !(*rate >= 0)) {
                fail("rates are not negative");
            }
        }
    }
}

void check(const Machine& machine) {
    check_sound(machine);
    if (machine.devices.size() > 32 || machine.graph.nodes.size() > 500) {
        return;  // sound is enough; writing large ones only slows the search
    }
    auto const document = peerlane::write::json(machine);
    if (auto const again = peerlane::read::read_machine({"document", document}); !(again == machine)) {
        std::fprintf(stderr, "%s\nread again:\n%s\n", document.c_str(), peerlane::write::json(again).c_str());
        fail("our document reads back equal");
    }
    (void)peerlane::write::table(machine);
    (void)peerlane::write::tree(machine);
    check_sound(peerlane::merge({machine}));
    check_sound(peerlane::merge({machine, machine}));
}

Machine read_format(std::string_view text) {
    std::string_view const format = peerlane_fuzz_format;
    if (format == "any") {
        return peerlane::read::read_machine({"input", text});
    }
    if (format == "grammar") {
        auto machine = peerlane::read::read_grammar(text);
        if (!(peerlane::read::read_grammar(machine.origin.name) == machine)) {
            fail("the canonical form gives the same machine");
        }
        return machine;
    }
    for (auto const& reader : peerlane::read::readers()) {
        if (format == reader.format) {
            (void)reader.recognizes(text);
            return reader.read({"input", text});
        }
    }
    fail("the format is in the table of readers");
}

/// As read_machine() does around a reader: it gives it UTF-8, and says where the machine comes from.
Machine read(std::string_view text) {
    bool const whole =
        std::string_view(peerlane_fuzz_format) == "any" || std::string_view(peerlane_fuzz_format) == "grammar";
    auto machine = whole ? read_format(text) : read_format(peerlane::read::as_utf8(text));
    if (machine.origin.kind.empty()) {
        machine.origin.kind = "file";
    }
    if (machine.origin.files.empty()) {
        machine.origin.files.emplace_back("input");
    }
    return machine;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<const char*>(data), size);
    try {
        check(read(text));
    } catch (const peerlane::InputError&) {  // refused, as it should be
    }
    return 0;
}
