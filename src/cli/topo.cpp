/// peerlane topo: the machine as it is described.

#include <fmt/format.h>

#include <peerlane/named.hpp>

#include "cli/command.hpp"
#include "cli/graphviz.hpp"
#include "cli/status.hpp"
#include "cli/target.hpp"
#include "machine/write/writers.hpp"

namespace peerlane::cli {
namespace {

/// Nothing in the names and first sentences of our own documents needs escapes but these.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (auto const c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out + "\"";
}

std::string list_json() {
    std::string text = "{\n  \"schema\": \"peerlane.named/1\",\n  \"machines\": [";
    for (auto const& machine : named_machines()) {
        text += fmt::format("{}\n    {{\"name\": {}, \"devices\": {}, \"about\": {}}}", text.back() == '[' ? "" : ",",
                            quoted(machine.name), machine.devices, quoted(machine.about));
    }
    return text + "\n  ]\n}\n";
}

std::string list_text(Format format) {
    std::size_t width = 0;
    for (auto const& machine : named_machines()) {
        width = std::max(width, machine.name.size());
    }
    std::string text = format == Format::markdown ? "| machine | what it is |\n|---|---|\n" : "";
    for (auto const& machine : named_machines()) {
        text += format == Format::markdown ? fmt::format("| {} | {} |\n", machine.name, machine.about)
                                           : fmt::format("{:<{}}  {}\n", machine.name, width, machine.about);
    }
    return text;
}

std::string formatted(const Machine& machine, Format format, bool color) {
    switch (format) {
        case Format::json:
            return write::json(machine);
        case Format::markdown:
            return write::table(machine, {.color = false, .notices = true, .markdown = true});
        case Format::tree:
            return write::tree(machine);
        case Format::dot:
            return write::dot(machine);
        case Format::svg:
            return svg_of(write::dot(machine));
        case Format::nccl_xml: {
            std::vector<Notice> notices;
            auto text = write::nccl_xml(machine, notices);
            for (auto const& notice : notices) {
                complain(fmt::format("notice {}: {}", notice.code, notice.text));
            }
            return text;
        }
        case Format::csv:  // refused before this
        case Format::html:
        case Format::table:
            break;
    }
    return write::table(machine, {.color = color});
}

std::string ordinals_text(const Target& target) {
    std::string text = "\nCUDA ordinals of this process:";
    for (auto const& device : target.machine.devices) {
        auto const ordinal = target.numbering.ordinal(device.id);
        text += fmt::format(" gpu{}={}", device.id, ordinal < 0 ? "hidden" : fmt::format("{}", ordinal));
    }
    return text + "\n";
}

Status run(Context& context) {
    auto const& globals = context.globals;
    if (context.given.has("--list")) {
        auto const format = globals.format;
        if (format != Format::table && format != Format::json && format != Format::markdown) {
            throw UsageError(
                fmt::format("topo --list has no --format {}; it has table, json, markdown", to_string(format)));
        }
        context.out.save(list_json());
        context.out.print(format == Format::json ? list_json() : list_text(format));
        return good;
    }
    auto const target = open_target(globals);
    if (context.out.saving()) {
        context.out.save(write::json(target.machine));
    }
    bool const people = globals.format == Format::table;
    if (people && target.discovery && !target.driver) {
        context.out.print(system_text(*target.discovery));
    }
    if (!people || target.simulated || !target.machine.devices.empty()) {
        context.out.print(formatted(target.machine, globals.format, context.out.color()));
    }
    if (target.simulated) {
        return good;
    }
    need_driver(target);
    if (people) {
        context.out.print(ordinals_text(target));
    }
    return good;
}

}  // namespace

Command topo_command() {
    return {"topo",
            "the machine: devices, how they are joined, nominal and measured rates",
            {},
            {{"--list", "", "the named machines"}},
            {Format::table, Format::json, Format::markdown, Format::tree, Format::dot, Format::svg, Format::nccl_xml},
            run};
}

}  // namespace peerlane::cli
