// peerlane-validate FOLDER [PAGE]: plays the published tables of FOLDER; writes the page, or prints it.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "table.hpp"

int main(int count, char** words) {
    using namespace peerlane::validation;
    if (count < 2) {
        fmt::print(stderr, "usage: peerlane-validate FOLDER [PAGE]\n");
        return 64;
    }
    if (!std::filesystem::is_directory(words[1])) {
        fmt::print("skipped: {} is not there; the published tables are not part of the project\n", words[1]);
        return 0;
    }
    try {
        std::vector<std::string> files;
        for (auto const& entry : std::filesystem::directory_iterator(words[1])) {
            if (entry.path().extension() == ".json") {
                files.push_back(entry.path().string());
            }
        }
        std::sort(files.begin(), files.end());
        auto tables = pair_tables();
        for (auto const& file : files) {
            auto more = read_published(file);
            std::move(more.begin(), more.end(), std::back_inserter(tables));
        }
        auto outside = 0;
        for (auto& table : tables) {
            fill(table);
            if (!keeps(table)) {
                ++outside;
                auto const result = errors(table);
                fmt::print(stderr, "outside its bounds: {}, {}: median {:.1f} %, worst {:.1f} %\n", table.machine,
                           table.title, 100 * result.median, 100 * result.worst);
            }
        }
        auto text = page(tables);
        for (auto& table : tables) {
            fill(table, true);
        }
        text += defaults_section(tables);
        if (count > 2) {
            std::ofstream(words[2]) << text;
        } else {
            fmt::print("{}", text);
        }
        return outside == 0 ? 0 : 1;
    } catch (const peerlane::InputError& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 65;
    }
}
