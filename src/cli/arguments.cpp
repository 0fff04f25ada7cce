#include "cli/arguments.hpp"

#include <deque>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <peerlane/named.hpp>

#include "cli/status.hpp"
#include "cli/version.hpp"

namespace peerlane::cli {
namespace {

const std::vector<Option>& global_options() {
    static const std::vector<Option> options{
        {"--machine", "NAME|FILE", "simulate this machine; several describe one machine together; - is standard input",
         true},
        {"--fault", "SPEC", "what is wrong with the simulated machine, as push:0:1=flip", true},
        {"--fabric", "SPEC", "adds a fabric that the description hides, as nvlink:18@26.56GB/s"},
        {"--format", "FORMAT", "what is printed: table, json, or another that the command has"},
        {"--save", "FILE", "writes the JSON document there too"},
        {"-i", "0,2", "only these devices", true},
        {"--color", "WHEN", "auto, always or never"},
        {"--seed", "N", "of patterns and of the simulation; drawn on a real machine when not given"},
    };
    return options;
}

/// The words of one argument or option, as the parser leaves them.
struct Slot {
    std::string name;
    std::vector<std::string> words{};
    std::string word{};  ///< of an argument that is given once
    CLI::Option* option = nullptr;
};

class Parser {
  public:
    Parser() : app_("Proves which GPUs reach each other, and moves data over the routes that win.", "peerlane") {
        app_.set_version_flag("--version", version_line());
        app_.get_formatter()->column_width(34);
        for (auto const& option : global_options()) {
            add(app_, option);
        }
        app_.require_subcommand(0, 1);
        app_.footer(
            "Exit status: 0 good, 1 right but less than it should be, 2 wrong, hanging or failing, 3 could not tell or "
            "no "
            "device,\n64 usage, 65 unreadable input, 66 no such file or machine, 70 internal error.");
        for (auto const& command : commands()) {
            auto* const sub = app_.add_subcommand(command.name, command.about);
            sub->fallthrough();
            for (auto const& argument : command.arguments) {
                auto& slot = slots_.emplace_back(Slot{argument.name});
                slot.option = argument.many ? sub->add_option(argument.name, slot.words, argument.help)
                                            : sub->add_option(argument.name, slot.word, argument.help);
                slot.option->required();
            }
            for (auto const& option : command.options) {
                add(*sub, option);
            }
            subs_.push_back({&command, sub});
        }
    }

    Parsed parse(int argc, const char* const* argv) {
        try {
            app_.parse(argc, argv);
        } catch (const CLI::CallForHelp&) {
            return {nullptr, {}, help()};
        } catch (const CLI::CallForVersion& version) {
            return {nullptr, {}, std::string(version.what()) + "\n"};
        } catch (const CLI::ParseError& error) {
            throw UsageError(explain(error, argc, argv));
        }
        Parsed parsed;
        for (auto const& [command, sub] : subs_) {
            if (sub->parsed()) {
                parsed.command = command;
            }
        }
        if (parsed.command == nullptr) {
            throw UsageError("no command given; there are: " + command_words());
        }
        for (auto& slot : slots_) {
            if (slot.option->count() > 0) {
                parsed.given.add(slot.name, slot.word.empty() ? slot.words : std::vector{slot.word});
            }
        }
        return parsed;
    }

  private:
    void add(CLI::App& app, const Option& option) {
        auto& slot = slots_.emplace_back(Slot{option.name});
        if (*option.value == '\0') {
            slot.option = app.add_flag(option.name, option.help);
            return;
        }
        slot.option = app.add_option(option.name, slot.words, option.help)->type_name(option.value)->expected(1);
        // One word a time: what follows is an argument again.
        slot.option->allow_extra_args(false);
        slot.option->multi_option_policy(option.many ? CLI::MultiOptionPolicy::TakeAll
                                                     : CLI::MultiOptionPolicy::TakeLast);
    }

    std::string help() const {
        for (auto const& [command, sub] : subs_) {
            if (sub->parsed() || sub->count() > 0) {
                std::vector<std::string> formats;
                for (auto const format : command->formats) {
                    formats.emplace_back(to_string(format));
                }
                return fmt::format("{}\n{}Options of every command: see peerlane --help\n", sub->help("peerlane"),
                                   formats.empty() ? "" : fmt::format("--format: {}\n", fmt::join(formats, ", ")));
            }
        }
        return app_.help();
    }

    static std::string command_words() {
        std::vector<std::string> words;
        for (auto const& command : commands()) {
            words.emplace_back(command.name);
        }
        return fmt::format("{}", fmt::join(words, ", "));
    }

    std::string explain(const CLI::ParseError& error, int argc, const char* const* argv) const {
        for (int i = 1; i < argc; ++i) {
            std::string_view const word = argv[i];
            if (word.size() > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9') {
                return fmt::format("\"{}\": a negative number means nothing here", word);
            }
        }
        auto const* const sub = app_.get_subcommands().empty() ? nullptr : app_.get_subcommands().front();
        if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) {
            return error.what();
        }
        auto const extras = app_.remaining(true);
        auto const word = extras.empty() ? std::string() : extras.front();
        if (word.size() > 1 && word.front() == '-') {
            return fmt::format("unknown option \"{}\"", word);
        }
        if (sub != nullptr) {
            return fmt::format("{} takes no further argument \"{}\"", sub->get_name(), word);
        }
        std::vector<std::string> known;
        for (auto const& command : commands()) {
            known.emplace_back(command.name);
        }
        auto const similar = similar_words(word, known);
        return fmt::format("unknown command \"{}\"{}; there are: {}", word,
                           similar.empty() ? "" : fmt::format(" (did you mean {}?)", similar.front()), command_words());
    }

    CLI::App app_;
    std::deque<Slot> slots_;  // the parser keeps references to them
    std::vector<std::pair<const Command*, CLI::App*>> subs_;
};

}  // namespace

Parsed parse(int argc, const char* const* argv) {
    return Parser().parse(argc, argv);
}

}  // namespace peerlane::cli
