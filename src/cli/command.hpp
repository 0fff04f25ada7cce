#pragma once
/// A command as data: the parser, the help and the list of commands are made from it. To add one: a file of its own, a
/// declaration here and a line in the table of commands.cpp.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/globals.hpp"
#include "cli/output.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {

struct Argument {
    const char* name;  ///< "SRC"
    const char* help;
    bool many = false;  ///< the last one may be given several times
};

struct Option {
    const char* name;   ///< "--repeat"
    const char* value;  ///< "N"; empty for a flag
    const char* help;
    bool many = false;
};

/// What was typed after a command, by name; words are not yet understood.
class Given {
  public:
    void add(const std::string& name, std::vector<std::string> words) { words_[name] = std::move(words); }
    [[nodiscard]] bool has(const std::string& name) const { return words_.count(name) > 0; }
    [[nodiscard]] std::optional<std::string> one(const std::string& name) const {
        auto const found = words_.find(name);
        return found == words_.end() || found->second.empty() ? std::nullopt : std::optional(found->second.back());
    }
    [[nodiscard]] std::vector<std::string> all(const std::string& name) const {
        auto const found = words_.find(name);
        return found == words_.end() ? std::vector<std::string>{} : found->second;
    }

  private:
    std::map<std::string, std::vector<std::string>> words_;
};

/// What a command works with.
struct Context {
    const Globals& globals;
    const Given& given;
    Output& out;
};

struct Command {
    const char* name;
    const char* about;
    std::vector<Argument> arguments;
    std::vector<Option> options;
    std::vector<Format> formats;  ///< the first is the default
    Status (*run)(Context& context);
};

const std::vector<Command>& commands();

Command topo_command();
Command measure_command();
Command copy_command();
Command plan_command();
Command simulate_command();
Command audit_command();
Command doctor_command();
Command advise_command();
Command compare_command();

}  // namespace peerlane::cli
