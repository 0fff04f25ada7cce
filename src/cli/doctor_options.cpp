#include <algorithm>

#include <fmt/format.h>

#include <peerlane/units.hpp>

#include "cli/doctor.hpp"
#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

std::vector<std::string> split(const std::string& text, char at_char) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        auto const end = std::min(text.find(at_char, at), text.size());
        parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

std::pair<int, int> pair_of(const std::string& word) {
    auto const parts = split(word, ':');
    auto const number = [](const std::string& text) {
        auto const read = parse_integer(text);
        return read && *read >= 0 && *read < most_devices ? static_cast<int>(*read) : -1;
    };
    auto const accessor = number(parts.front());
    auto const owner = number(parts.back());
    if (parts.size() != 2 || accessor < 0 || owner < 0) {
        throw UsageError(fmt::format(
            "--pair \"{}\": accessor:owner is needed, as 0:1 (device 0 reaches into memory of device 1)", word));
    }
    if (accessor == owner) {
        throw UsageError(fmt::format("--pair {}: a device and itself are no pair", word));
    }
    return {accessor, owner};
}

Check check_of(const std::string& word) {
    if (auto const check = parse_check(word)) {
        return *check;
    }
    std::string known;
    for (auto const check : all_checks) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(check));
    }
    throw UsageError(fmt::format("--require \"{}\" is no check; the checks are {}", word, known));
}

std::string file_of(const Given& given, const char* option) {
    auto const word = given.one(option);
    if (word && word->empty()) {
        throw UsageError(fmt::format("{} needs the name of a file", option));
    }
    return word.value_or("");
}

}  // namespace

double tolerance_of(const std::string& word) {
    auto const percent = parse_number(word);
    if (!percent || *percent < 0 || *percent > 100) {
        throw UsageError(fmt::format("--tolerance \"{}\": per cent are needed, 0 to 100", word));
    }
    return *percent / 100;
}

DoctorAsked understand_doctor(const Given& given, const Globals& globals) {
    DoctorAsked asked;
    asked.quick = given.has("--quick");
    asked.fresh = given.has("--fresh");
    asked.repeat_interrupted = given.has("--repeat-interrupted");
    asked.record = file_of(given, "--record");
    asked.cache = file_of(given, "--cache");
    asked.passive = given.has("--passive");
    if (auto const word = given.one("--soak")) {
        asked.soak_s = soak_time(*word);
        constexpr double most_simulated_s = 10;  // of its own time, which is computed
        if (globals.simulated() && asked.soak_s > most_simulated_s) {
            throw UsageError(fmt::format("--soak {}: of a simulated machine {} s at most", *word, most_simulated_s));
        }
        if (asked.quick) {
            throw UsageError("--quick and --soak are two wishes");
        }
    }
    asked.oneline = given.has("--oneline");
    asked.prometheus = file_of(given, "--prometheus");
    asked.expect = file_of(given, "--expect");
    asked.profile = file_of(given, "--profile");
    if (!asked.profile.empty() && globals.format != Format::html) {
        throw UsageError("--profile gives costs to the curves of --format html, and to nothing else");
    }
    if (auto const word = given.one("--tolerance")) {
        asked.tolerance = tolerance_of(*word);
    }
    for (auto const& words : given.all("--pair")) {
        for (auto const& word : split(words, ',')) {
            asked.pairs.push_back(pair_of(word));
        }
    }
    std::sort(asked.pairs.begin(), asked.pairs.end());
    asked.pairs.erase(std::unique(asked.pairs.begin(), asked.pairs.end()), asked.pairs.end());
    for (auto const& words : given.all("--require")) {
        for (auto const& word : split(words, ',')) {
            asked.required.push_back(check_of(word));
        }
    }
    if (!asked.record.empty() && asked.record == globals.save) {
        throw UsageError("--record and --save name the same file");
    }
    if (asked.passive && (asked.quick || asked.fresh || !asked.pairs.empty() || !asked.required.empty() ||
                          !asked.record.empty() || !asked.expect.empty() || asked.soak_s > 0)) {
        throw UsageError(
            "--passive moves nothing: --quick, --fresh, --pair, --require, --record, --expect and --soak mean "
            "nothing beside it");
    }
    if (asked.oneline && globals.format != Format::table) {
        throw UsageError(fmt::format("--oneline and --format {} are two answers", to_string(globals.format)));
    }
    return asked;
}

}  // namespace peerlane::cli
