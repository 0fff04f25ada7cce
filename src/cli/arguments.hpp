#pragma once
/// Words of the command line into a command and what was given to it. The only file that knows the parser's library is
/// arguments.cpp.

#include <optional>
#include <string>

#include "cli/command.hpp"

namespace peerlane::cli {

struct Parsed {
    const Command* command = nullptr;  ///< null: `help` is to be printed instead
    Given given{};
    std::string help{};
};

/// Throws UsageError.
Parsed parse(int argc, const char* const* argv);

}  // namespace peerlane::cli
