#include <exception>
#include <new>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/named.hpp>

#include "cli/arguments.hpp"
#include "cli/output.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

Status run(int argc, const char* const* argv) {
    auto const parsed = parse(argc, argv);
    if (parsed.command == nullptr) {
        Output("", Color::never).print(parsed.help);
        return good;
    }
    auto const& command = *parsed.command;
    auto const globals = understand(parsed.given, command.name, command.formats);
    Output out(globals.save, globals.color);
    Context context{globals, parsed.given, out};
    return command.run(context);
}

/// Every way to fail, in one place.
Status run_and_explain(int argc, const char* const* argv) {
    try {
        return run(argc, argv);
    } catch (const UsageError& error) {
        complain(fmt::format("peerlane: {}\nSee peerlane --help.", error.what()));
        return usage;
    } catch (const InputError& error) {
        complain(error.what());
        return unreadable;
    } catch (const NoSuchMachine& error) {
        complain(fmt::format("peerlane: {}\nThe named machines: peerlane topo --list", error.what()));
        return missing;
    } catch (const NoSuchFile& error) {
        complain(fmt::format("peerlane: {}", error.what()));
        return missing;
    } catch (const NothingRuns& error) {
        complain(fmt::format("peerlane: {}", error.what()));
        return inconclusive;
    } catch (const OutputError& error) {
        complain(fmt::format("peerlane: {}", error.what()));
        return error.status();
    } catch (const Error& error) {
        complain(fmt::format("peerlane: {}", error.what()));
        return error.code() == code::no_device ? inconclusive : broken;
    } catch (const std::bad_alloc&) {
        complain("peerlane: out of memory");
        return internal;
    } catch (const std::exception& error) {
        complain(fmt::format("peerlane: internal error: {}", error.what()));
        return internal;
    }
}

}  // namespace
}  // namespace peerlane::cli

int main(int argc, char** argv) {
    peerlane::cli::prepare_streams();
    return peerlane::cli::run_and_explain(argc, argv);
}
