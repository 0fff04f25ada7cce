/// peerlane audit: reads a trace of multi-device work line by line and reports what is wrong with it.

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include <peerlane/audit.hpp>
#include <peerlane/error.hpp>
#include <peerlane/trace_reader.hpp>

#include "cli/command.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

/// Longer than any honest line: an endless one (a binary file, a device) must not fill the memory.
constexpr std::size_t longest_line = std::size_t{64} << 20;

/// False at the end of the stream.
bool next_line(std::istream& stream, std::string& line, const std::string& file, std::uint64_t number) {
    line.clear();
    for (auto c = stream.rdbuf()->sbumpc(); c != std::char_traits<char>::eof(); c = stream.rdbuf()->sbumpc()) {
        if (c == '\n') {
            return true;
        }
        if (line.size() >= longest_line) {
            throw InputError(file, static_cast<int>(number), "the line is longer than 64 MiB: this is no trace");
        }
        line.push_back(static_cast<char>(c));
    }
    return !line.empty();
}

AuditReport audit_stream(std::istream& stream, const std::string& file) {
    trace::Symbols symbols;
    trace::Reader reader(file, symbols);
    Auditor auditor(symbols);
    std::string line;
    std::uint64_t number = 1;
    for (; next_line(stream, line, file, number); ++number) {
        auto const event = reader.next(line);
        if (!event) {
            continue;
        }
        try {
            auditor.push(*event);
        } catch (const std::invalid_argument& refused) {
            throw reader.error(refused.what());
        }
    }
    auto report = auditor.finish();
    report.file = file;
    if (report.events == 0) {
        throw InputError(file, 0, "the trace is empty: a line of peerlane.trace/1 is a JSON object with an \"op\"");
    }
    return report;
}

AuditReport audit_file(const std::string& path) {
    if (path == "-") {
        return audit_stream(std::cin, "-");
    }
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        throw InputError(path, 0, "this is a folder, not a trace");
    }
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        auto const why = errno;
        if (why == ENOENT || why == ENOTDIR) {
            throw NoSuchFile(path);
        }
        throw InputError(path, 0, std::strerror(why));
    }
    return audit_stream(stream, path);
}

Status run(Context& context) {
    if (context.globals.simulated() || !context.globals.faults.empty()) {
        throw UsageError("audit reads a trace: --machine and --fault have no meaning for it");
    }
    auto const report = audit_file(*context.given.one("TRACE"));
    auto const document = to_json(report) + "\n";
    context.out.print(context.globals.format == Format::json ? document : to_table(report));
    context.out.save(document);
    return static_cast<Status>(report.status());
}

}  // namespace

Command audit_command() {
    return {"audit",
            "reads a trace of multi-device work, reports unmapped accesses, races and wait cycles",
            {{"TRACE", "peerlane.trace/1, a JSON object a line; - is standard input"}},
            {},
            {Format::table, Format::json},
            run};
}

}  // namespace peerlane::cli
