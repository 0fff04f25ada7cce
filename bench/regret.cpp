/// regret [--first N] [--random N] [--shipped no] [--apart OCTAVES] [--pairs N] [--only NAME] [--detail yes]
/// [--size SIZE] [--save FILE] [--date DATE]: regret and error of prediction on the shipped machines and on random ones
/// whose hardware does what no model knows. Deterministic: no clock is read, the date is what is given.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <peerlane/units.hpp>

#include "regret/regret.hpp"

namespace {

using namespace peerlane;

std::string summary_json(const regret::Summary& s) {
    return fmt::format(R"({{"rows": {}, "regret": {{"median": {:.4f}, "p99": {:.4f}, "worst": {:.4f}}}, )"
                       R"("prediction_error": {{"median": {:.4f}, "p95": {:.4f}, "worst": {:.4f}}}}})",
                       s.rows, s.regret_median, s.regret_p99, s.regret_worst, s.error_median, s.error_p95,
                       s.error_worst);
}

std::string row_json(const regret::Row& row) {
    return fmt::format(
        R"({{"machine": "{}", "from": "{}", "to": "{}", "bytes": {}, "chosen": "{}", "best": "{}", )"
        R"("predicted_s": {:.6g}, "achieved_s": {:.6g}, "best_s": {:.6g}, "regret": {:.4f}, "error": {:.4f}}})",
        row.machine, to_string(row.from), to_string(row.to), row.bytes, row.chosen, row.best, row.predicted_s,
        row.achieved_s, row.best_s, row.regret(), row.error());
}

std::string text_of(const regret::Summary& s) {
    return fmt::format(
        "regret median {:.3f} p99 {:.3f} worst {:.3f}; error median {:.1f} % p95 {:.1f} % worst {:.1f} %",
        s.regret_median, s.regret_p99, s.regret_worst, s.error_median * 100, s.error_p95 * 100, s.error_worst * 100);
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t first = 1, random = 200;
    double apart = 2;
    std::size_t pairs = 2;
    std::string save, only, date, command = "regret";
    for (int i = 1; i < argc; ++i) {
        command += std::string(" ") + argv[i];
    }
    bool with_shipped = true, detail = false;
    std::uint64_t one_size = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string const word = argv[i];
        auto const* const value = argv[i + 1];
        if (word == "--random") {
            random = std::strtoull(value, nullptr, 10);
        } else if (word == "--first") {
            first = std::strtoull(value, nullptr, 10);
        } else if (word == "--apart") {
            apart = std::strtod(value, nullptr);
        } else if (word == "--pairs") {
            pairs = std::strtoull(value, nullptr, 10);
        } else if (word == "--only") {
            only = value;
        } else if (word == "--shipped") {
            with_shipped = std::strcmp(value, "no") != 0;
        } else if (word == "--detail") {
            detail = std::strcmp(value, "no") != 0;
        } else if (word == "--size") {
            one_size = parse_size(value).value_or(0);
        } else if (word == "--save") {
            save = value;
        } else if (word == "--date") {
            date = value;
        } else {
            fmt::print(stderr, "regret: {}?\n", word);
            return 64;
        }
    }
    regret::Questions questions;
    questions.sizes = regret::sizes(apart);
    questions.pairs = pairs;
    if (one_size != 0) {
        questions.sizes = {one_size};
    }
    if (detail) {
        questions.tell = [](const std::string& what, double predicted, double achieved) {
            fmt::print("        {:>9} {:>9} {:+6.1f} %  {}\n", seconds_text(predicted), seconds_text(achieved),
                       (predicted / achieved - 1) * 100, what);
        };
    }
    std::vector<regret::Row> all;
    std::vector<std::string> sections;
    auto const run = [&](const char* name, const std::vector<regret::Trial>& trials) {
        std::vector<regret::Row> rows;
        for (auto const& trial : trials) {
            if (!only.empty() && trial.name.find(only) == std::string::npos) {
                continue;
            }
            auto const some = regret::judge(trial, questions);
            fmt::print("{:<60} {}\n", trial.name, text_of(regret::summarize(some)));
            std::fflush(stdout);
            for (auto const& row : some) {
                if (row.regret() > 1.05 || std::abs(row.error()) > 0.1) {
                    fmt::print("    {:>9} {} > {}: regret {:.3f} error {:+.1f} %  {}  best {}\n", size_text(row.bytes),
                               to_string(row.from), to_string(row.to), row.regret(), row.error() * 100, row.chosen,
                               row.best);
                }
            }
            rows.insert(rows.end(), some.begin(), some.end());
        }
        auto const summary = regret::summarize(rows);
        fmt::print("{}: {}\n", name, text_of(summary));
        sections.push_back(fmt::format("\"{}\": {}", name, summary_json(summary)));
        all.insert(all.end(), rows.begin(), rows.end());
    };
    if (with_shipped) {
        run("shipped", regret::shipped());
    }
    std::vector<regret::Trial> trials;
    for (std::uint64_t seed = first; seed < first + random; ++seed) {
        trials.push_back(regret::random_trial(seed));
    }
    if (random > 0) {
        run("random", trials);
    }
    if (!save.empty()) {
        std::ofstream out(save);
        out << fmt::format("{{\"schema\": \"peerlane.regret/1\", \"date\": \"{}\", \"command\": \"{}\",\n", date,
                           command)
            << "\"sizes_octaves_apart\": " << apart << ",\n";
        for (auto const& section : sections) {
            out << section << ",\n";
        }
        // The rest is as good as right.
        std::erase_if(all, [](const regret::Row& row) { return row.regret() < 1.03 && std::abs(row.error()) < 0.1; });
        out << "\"worst_rows\": [\n";
        for (std::size_t i = 0; i < all.size(); ++i) {
            out << row_json(all[i]) << (i + 1 < all.size() ? ",\n" : "\n");
        }
        out << "]}\n";
        if (!out) {
            fmt::print(stderr, "regret: {} could not be written\n", save);
            return 73;
        }
    }
    return 0;
}
