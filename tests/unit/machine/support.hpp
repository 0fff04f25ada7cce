#pragma once
// Shared by the tests of readers and writers.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "machine/read/reader.hpp"

namespace peerlane::test {

inline Machine read(const std::string& text, const std::string& name = "input") {
    return read::read_machine({name, text});
}

/// The refusal of a text, "file:line: reason"; empty when it was read.
inline std::string refusal(const std::string& text, const std::string& name = "input") {
    try {
        read(text, name);
        return {};
    } catch (const InputError& error) {
        return error.what();
    }
}

inline bool has_notice(const Machine& machine, const std::string& code) {
    return std::any_of(machine.notices.begin(), machine.notices.end(),
                       [&](const Notice& notice) { return notice.code == code; });
}

inline int notice_line(const Machine& machine, const std::string& code) {
    for (auto const& notice : machine.notices) {
        if (notice.code == code) {
            return notice.line;
        }
    }
    return -1;
}

/// Path classes as the table prints them, one row a device: "X NV12 / NV12 X".
inline std::string classes(const Machine& machine) {
    std::string out;
    for (auto const& from : machine.devices) {
        out += out.empty() ? "" : " / ";
        for (auto const& to : machine.devices) {
            auto const* const pair = machine.pair(from.id, to.id);
            out += to.id > 0 ? " " : "";
            out += pair == nullptr ? "X" : to_string(pair->path);
            out += pair != nullptr && pair->nvlinks ? std::to_string(*pair->nvlinks) : "";
        }
    }
    return out;
}

inline std::filesystem::path shared_machines() {
    return std::filesystem::path(PEERLANE_SHARED_DIR) / "machines";
}

/// Text of an input that lies beside the project; empty optional where it does not.
inline std::optional<std::string> shared_text(const std::string& name) {
    std::ifstream in(shared_machines() / name, std::ios::binary);
    if (!in) {
        return std::nullopt;
    }
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace peerlane::test

/// Reads an input beside the project into `machine`, or skips the test.
#define PEERLANE_SHARED_MACHINE(machine, name)                        \
    auto const machine##_text = peerlane::test::shared_text(name);    \
    if (!machine##_text) {                                            \
        GTEST_SKIP() << (name) << " does not lie beside the project"; \
    }                                                                 \
    auto machine = peerlane::test::read(*machine##_text, name)
