// What README and docs say is run: every `$ peerlane ...` line of a ```console block ends with the status it names
// ("# exits 2"; 0 where it names none) and, where lines follow it, prints them. A line `...` stands for any lines. The
// C++ of README is a file of examples/, where it is compiled. PEERLANE_GOLDEN_REWRITE=1 writes the printed lines anew
// where a page shows all of them; `git diff` is then the review.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

struct Session {
    std::string page;
    int line = 0;
    std::string command;
    int status = 0;
    std::vector<std::string> output{};
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

Session session_of(const std::string& page, int line, const std::string& text) {
    Session session{page, line, text.substr(2)};
    auto const comment = session.command.find("  # exits ");
    if (comment != std::string::npos) {
        session.status = std::stoi(session.command.substr(comment + 10));
        session.command.resize(comment);
    }
    return session;
}

std::vector<Session> sessions_of(const std::filesystem::path& path) {
    std::vector<Session> sessions;
    bool inside = false, ours = false;
    int number = 0;
    for (auto const& line : lines_of(text_of(path))) {
        ++number;
        if (line.rfind("```", 0) == 0) {
            inside = line == "```console";
            ours = false;
        } else if (inside && line.rfind("$ ", 0) == 0) {
            ours = line.rfind("$ peerlane", 0) == 0;
            if (ours) {
                sessions.push_back(session_of(path.filename(), number, line));
            }
        } else if (inside && ours) {
            sessions.back().output.push_back(line);
        }
    }
    return sessions;
}

std::vector<std::filesystem::path> pages() {
    std::vector<std::filesystem::path> pages{PEERLANE_SOURCE_DIR "/README.md", PEERLANE_SOURCE_DIR "/CONTRIBUTING.md"};
    for (auto const& entry : std::filesystem::recursive_directory_iterator(PEERLANE_SOURCE_DIR "/docs")) {
        if (entry.path().extension() == ".md") {
            pages.push_back(entry.path());
        }
    }
    std::sort(pages.begin() + 2, pages.end());
    return pages;
}

/// Index of the first line that differs, -1 when all agree; `...` takes lines until the next one agrees.
int first_difference(const std::vector<std::string>& expected, const std::vector<std::string>& printed) {
    std::size_t at = 0;
    bool any = false;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i] == "...") {
            any = true;
            continue;
        }
        while (any && at < printed.size() && printed[at] != expected[i]) {
            ++at;
        }
        if (at >= printed.size() || printed[at] != expected[i]) {
            return static_cast<int>(i);
        }
        any = false;
        ++at;
    }
    return any || at == printed.size() ? -1 : static_cast<int>(expected.size());
}

/// Empty lines at either end are the page's layout.
std::vector<std::string> stripped(std::vector<std::string> lines) {
    while (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
    lines.erase(lines.begin(), std::find_if(lines.begin(), lines.end(), [](auto& line) { return !line.empty(); }));
    return lines;
}

/// Puts what was printed in the place of what the page shows under the command.
void rewrite(const std::filesystem::path& path, const Session& session, const std::string& printed) {
    auto const lines = lines_of(text_of(path));
    std::ofstream page(path, std::ios::binary);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        page << lines[i] << "\n";
        if (static_cast<int>(i) + 1 == session.line) {
            page << printed;
            i += session.output.size();
        }
    }
}

TEST(Docs, CommandsEndAndPrintAsThePagesSay) {
    std::size_t with_output = 0, all = 0;
    for (auto const& page : pages()) {
        for (auto const& session : sessions_of(page)) {
            SCOPED_TRACE(session.page + ":" + std::to_string(session.line) + ": " + session.command);
            auto const ran = shell(session.command, {.folder = PEERLANE_SOURCE_DIR});
            EXPECT_EQ(ran.status, session.status) << ran.out << ran.err;
            ++all;
            auto const expected = stripped(session.output);
            if (expected.empty()) {
                continue;
            }
            ++with_output;
            bool const whole = std::find(expected.begin(), expected.end(), "...") == expected.end();
            if (whole && std::getenv("PEERLANE_GOLDEN_REWRITE") != nullptr) {
                if (session.output != lines_of(ran.out + ran.err)) {
                    rewrite(page, session, ran.out + ran.err);
                    GTEST_SKIP() << page << " was rewritten; run again until nothing changes";
                }
                continue;
            }
            auto const printed = stripped(lines_of(ran.out + ran.err));
            auto const differs = first_difference(expected, printed);
            EXPECT_EQ(differs, -1) << "expected line: "
                                   << (differs >= 0 && differs < static_cast<int>(expected.size())
                                           ? expected[static_cast<std::size_t>(differs)]
                                           : "the end")
                                   << "\nprinted:\n"
                                   << ran.out << ran.err;
        }
    }
    EXPECT_GE(with_output, 1U);
    EXPECT_GE(all, 3U);
}

TEST(Docs, TheReadmesProgramIsAnExample) {
    auto const readme = text_of(PEERLANE_SOURCE_DIR "/README.md");
    auto const begin = readme.find("```cpp\n");
    ASSERT_NE(begin, std::string::npos);
    auto const end = readme.find("```\n", begin + 7);
    auto const example = text_of(PEERLANE_SOURCE_DIR "/examples/first_copy.cpp");
    EXPECT_EQ(readme.substr(begin + 7, end - begin - 7), example.substr(example.find("#include")));
}

TEST(Docs, LinksBetweenPagesLeadSomewhere) {
    for (auto const& page : pages()) {
        auto const text = text_of(page);
        for (auto at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
            auto target = text.substr(at + 2, text.find(')', at) - at - 2);
            target = target.substr(0, target.find('#'));
            if (!target.empty() && target.find("://") == std::string::npos) {
                EXPECT_TRUE(std::filesystem::exists(page.parent_path() / target)) << page << ": " << target;
            }
        }
    }
}

}  // namespace
}  // namespace peerlane::cli_tests
