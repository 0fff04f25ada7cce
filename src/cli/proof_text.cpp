#include "cli/proof_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

namespace peerlane::cli {
namespace {

std::string with_reason(const char* word, const std::string& reason) {
    return reason.empty() ? word : fmt::format("{}: {}", word, reason);
}

std::string wrong_text(const CheckResult& check) {
    std::string text = "WRONG bytes";
    if (check.kind) {
        text += fmt::format(" ({})", to_string(*check.kind));
    }
    if (check.first_bad_offset) {
        text += fmt::format(", first at offset {}", *check.first_bad_offset);
    }
    if (check.bad_bytes) {
        text += fmt::format(", {} bad", *check.bad_bytes);
    }
    if (check.at_bytes) {
        text += fmt::format(" of {}", *check.at_bytes);
    }
    return text;
}

bool failed(const CheckResult& check) {
    return check.result == Result::wrong || check.result == Result::hang || check.result == Result::error;
}

std::string access_line(const PairVerdict& pair, const char* does, Check by_copy_engine, Check by_kernel) {
    return fmt::format("  {} {} {}: {} {}; {} {}\n", pair.accessor, does, pair.owner, to_string(by_copy_engine),
                       check_text(pair[by_copy_engine]), to_string(by_kernel), check_text(pair[by_kernel]));
}

std::string pair_text(const PairVerdict& pair) {
    auto text = fmt::format("  {} reaches {}: claim {}", pair.accessor, pair.owner, check_text(pair[Check::claim]));
    if (pair[Check::claim].result != Result::ok) {
        return text + "\n";
    }
    text += fmt::format("; map {}\n", check_text(pair[Check::map]));
    return text + access_line(pair, "writes", Check::push, Check::store) +
           access_line(pair, "reads", Check::pull, Check::load);
}

}  // namespace

std::string check_text(const CheckResult& check) {
    switch (check.result) {
        case Result::ok:
            return check.gbs ? fmt::format("ok {} GB/s", gbs_text(*check.gbs)) : "ok";
        case Result::no:
            return with_reason("no", check.reason);
        case Result::wrong:
            return wrong_text(check);
        case Result::hang:
            return with_reason(check.frozen ? "HANG that could not be ended" : "HANG", check.reason);
        case Result::error:
            return fmt::format("ERROR {}{}{}", check.code ? code_text(*check.code) : "",
                               check.reason.empty() ? "" : ": ", check.reason);
        case Result::skipped:
            return with_reason("skipped", check.reason);
    }
    return "";
}

std::string proof_text(const Verdicts& verdicts) {
    auto text = fmt::format("Proof, read back by the owner of the memory (seed {})\n", verdicts.seed);
    for (auto const& pair : verdicts.pairs) {
        text += pair_text(pair);
    }
    for (auto const& control : verdicts.control) {
        text += fmt::format("  {}>{} through the host: {}\n", control.source, control.destination,
                            check_text(control.staged));
    }
    return text;
}

bool any_check_failed(const Verdicts& verdicts) {
    return std::any_of(verdicts.pairs.begin(), verdicts.pairs.end(), [](const PairVerdict& pair) {
        return std::any_of(pair.checks.begin(), pair.checks.end(), failed);
    });
}

}  // namespace peerlane::cli
