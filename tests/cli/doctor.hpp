#pragma once
/// The doctor, run as a user runs it, and its document.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {

struct Doctored {
    int status = -1;
    nlohmann::json document{};
    std::string err{};

    /// "ok", "wrong(flip)", "error205"; "no such pair".
    [[nodiscard]] std::string check(int accessor, int owner, const std::string& name) const;
    [[nodiscard]] std::string reason(int accessor, int owner, const std::string& name) const;
    /// "direct 0", "staged".
    [[nodiscard]] std::string use(int source, int destination) const;
    [[nodiscard]] bool has(const std::string& code) const;
    /// Pairs of the first finding with this code, "0:1 1:0".
    [[nodiscard]] std::string pairs_of(const std::string& code) const;
    /// Checks of all pairs that are neither ok nor skipped.
    [[nodiscard]] std::vector<std::string> complaints() const;
};

/// `peerlane --format json WORDS`.
Doctored doctored(std::vector<std::string> words, const How& how = {});

/// "--fault", each.
std::vector<std::string> with_faults(std::vector<std::string> words, const std::vector<std::string>& faults);

/// Path of a file of the examples beside the project; empty where they are not there.
std::string shared_machine(const std::string& name);

}  // namespace peerlane::cli_tests

#define PEERLANE_NEED(variable, name)                                             \
    auto const variable = ::peerlane::cli_tests::shared_machine(name);            \
    if (variable.empty()) {                                                       \
        GTEST_SKIP() << "the examples do not lie beside the project: " << (name); \
    }                                                                             \
    static_cast<void>(0)
