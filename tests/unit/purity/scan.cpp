#include "scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace peerlane::purity {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

/// Blanks out text[from, to), line breaks kept.
void blank(std::string& text, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
        if (text[i] != '\n') {
            text[i] = ' ';
        }
    }
}

/// Position after the quote that closes the one at `at`.
std::size_t end_of_quote(std::string_view text, std::size_t at) {
    auto const quote = text[at];
    for (auto i = at + 1; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == quote || text[i] == '\n') {
            return i + 1;
        }
    }
    return text.size();
}

/// The word that begins at `at`.
std::string_view word_at(std::string_view text, std::size_t at) {
    auto end = at;
    while (end < text.size() && is_word(text[end])) {
        ++end;
    }
    return text.substr(at, end - at);
}

bool any_of(std::string_view word, const auto& list) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

/// Names that no pure file has a use for, called or not.
constexpr std::array<std::string_view, 36> forbidden_names{
    "getenv",       "secure_getenv", "setenv",        "putenv",     "environ",     "random_device",
    "system_clock", "steady_clock",  "chrono",        "fopen",      "printf",      "fprintf",
    "vprintf",      "puts",          "fputs",         "putchar",    "cout",        "cerr",
    "clog",         "cin",           "ifstream",      "ofstream",   "fstream",     "filesystem",
    "jthread",      "this_thread",   "mutex",         "lock_guard", "unique_lock", "condition_variable",
    "dlopen",       "gettimeofday",  "clock_gettime", "stdout",     "stderr",      "localtime"};
/// Words that are also good names of members and variables: forbidden as calls of the plain function only.
constexpr std::array<std::string_view, 9> forbidden_calls{"time",  "clock",  "rand",  "srand", "exit",
                                                          "abort", "system", "sleep", "usleep"};

/// The thing before the word tells whether it is somebody's member, or the standard's own function.
bool is_plain_call(std::string_view text, std::size_t at, std::size_t size) {
    auto const after = text.find_first_not_of(" \t\n", at + size);
    if (after == std::string_view::npos || text[after] != '(') {
        return false;
    }
    auto before = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t\n", at - 1);
    if (before == std::string_view::npos) {
        return true;
    }
    if (text[before] == '.' || (text[before] == '>' && before > 0 && text[before - 1] == '-')) {
        return false;
    }
    if (text[before] == ':') {
        auto const scope = text.substr(0, before > 0 ? before - 1 : 0);
        bool const global = scope.empty() || (!is_word(scope.back()) && scope.back() != '>');
        return global || (scope.size() >= 3 && scope.substr(scope.size() - 3) == "std");
    }
    // "double time(int)" declares a function of that name: a type stands before it.
    if (is_word(text[before]) || text[before] == '>' || text[before] == '&' || text[before] == '*') {
        auto begin = before;
        while (begin > 0 && is_word(text[begin - 1])) {
            --begin;
        }
        return text.substr(begin, before - begin + 1) == "return";
    }
    return true;
}

}  // namespace

std::string without_comments(std::string_view source) {
    std::string text(source);
    for (std::size_t i = 0; i < text.size();) {
        auto const rest = std::string_view(text).substr(i);
        auto end = i + 1;
        if (starts_with(rest, "//")) {
            end = std::min(text.find('\n', i), text.size());
            blank(text, i, end);
        } else if (starts_with(rest, "/*")) {
            auto const close = text.find("*/", i + 2);
            end = close == std::string::npos ? text.size() : close + 2;
            blank(text, i, end);
        } else if (starts_with(rest, "R\"") && (i == 0 || !is_word(text[i - 1]))) {
            auto const open = text.find('(', i);
            auto const close =
                open == std::string::npos ? open : text.find(")" + text.substr(i + 2, open - i - 2) + "\"", open);
            end = close == std::string::npos ? text.size() : close + 1 + (open - i - 2) + 1;
            blank(text, i, end);
        } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word(text[i - 1])))) {
            end = end_of_quote(text, i);
            blank(text, i, end);
        }
        i = end;
    }
    return text;
}

std::vector<Include> includes_of(std::string_view text) {
    std::vector<Include> found;
    int line = 1;
    for (std::size_t at = 0; at < text.size(); ++line) {
        auto const end = std::min(text.find('\n', at), text.size());
        auto rest = text.substr(at, end - at);
        at = end + 1;
        auto const skip = [&rest] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
        skip();
        if (!starts_with(rest, "#")) {
            continue;
        }
        rest.remove_prefix(1);
        skip();
        if (!starts_with(rest, "include")) {
            continue;
        }
        rest.remove_prefix(7);
        skip();
        auto const close = rest.empty() ? std::string_view::npos : rest.find(rest[0] == '<' ? '>' : '"', 1);
        if (close != std::string_view::npos) {
            found.push_back({std::string(rest.substr(1, close - 1)), line});
        }
    }
    return found;
}

bool is_vendor_header(std::string_view name) {
    constexpr std::array<std::string_view, 15> starts{
        "cuda", "cooperative_groups", "nvml",   "nvtx", "nccl", "rccl", "hip/", "rocm", "hwloc", "cub/", "thrust/",
        "nv/",  "device_launch",      "cublas", "nvrtc"};
    return std::any_of(starts.begin(), starts.end(), [&](auto const start) { return starts_with(name, start); });
}

bool is_impure_header(std::string_view name) {
    constexpr std::array<std::string_view, 32> names{
        "chrono",       "thread",    "mutex",    "shared_mutex", "condition_variable",
        "future",       "semaphore", "latch",    "barrier",      "stop_token",
        "filesystem",   "fstream",   "iostream", "cstdio",       "stdio.h",
        "ctime",        "time.h",    "csignal",  "signal.h",     "unistd.h",
        "pthread.h",    "dlfcn.h",   "fcntl.h",  "dirent.h",     "syncstream",
        "syslog.h",     "spawn.h",   "poll.h",   "locale",       "clocale",
        "fmt/chrono.h", "fmt/os.h"};
    return any_of(name, names) || starts_with(name, "sys/") || starts_with(name, "linux/");
}

std::vector<Offence> vendor_offences(const std::string& file, std::string_view text) {
    std::vector<Offence> found;
    for (auto const& include : includes_of(text)) {
        if (is_vendor_header(include.name)) {
            found.push_back({file, include.line, include.name});
        }
    }
    return found;
}

std::vector<Offence> purity_offences(const std::string& file, std::string_view source) {
    auto found = vendor_offences(file, source);
    for (auto const& include : includes_of(source)) {
        if (is_impure_header(include.name)) {
            found.push_back({file, include.line, include.name});
        }
    }
    auto text = without_comments(source);
    int line = 1;
    for (std::size_t i = 0; i < text.size();) {
        line += text[i] == '\n' ? 1 : 0;
        if (!is_word(text[i])) {
            // An include line was judged above; its name is no word of the program.
            i = text[i] == '#' ? std::min(text.find('\n', i), text.size()) : i + 1;
            continue;
        }
        auto const word = word_at(text, i);
        bool const prints = word == "print" && i >= 5 && text.compare(i - 5, 5, "fmt::") == 0;
        bool const threads = word == "thread" && i >= 5 && text.compare(i - 5, 5, "std::") == 0;
        if (any_of(word, forbidden_names) || prints || threads ||
            (any_of(word, forbidden_calls) && is_plain_call(text, i, word.size()))) {
            found.push_back({file, line, std::string(word)});
        }
        i += word.size();
    }
    std::sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.line < b.line; });
    return found;
}

}  // namespace peerlane::purity
