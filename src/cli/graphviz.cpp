#include "cli/graphviz.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/status.hpp"

extern char** environ;

namespace peerlane::cli {
namespace {

struct CloseFile {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
/// No name, gone with its handle.
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

TemporaryFile temporary_file() {
    TemporaryFile file(std::tmpfile());
    if (!file) {
        throw OutputError(internal, fmt::format("no temporary file: {}", std::strerror(errno)));
    }
    return file;
}

/// Exit status of `dot -Tsvg`, 127 where there is none.
int run_dot(int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    char program[] = "dot", format[] = "-Tsvg";
    char* const arguments[] = {program, format, nullptr};
    pid_t process = -1;
    auto const failed = posix_spawnp(&process, program, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        return 127;
    }
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

}  // namespace

std::string svg_of(const std::string& dot) {
    auto const input = temporary_file();
    auto const output = temporary_file();
    if (std::fwrite(dot.data(), 1, dot.size(), input.get()) != dot.size() || std::fflush(input.get()) != 0) {
        throw OutputError(internal, fmt::format("temporary file: {}", std::strerror(errno)));
    }
    std::rewind(input.get());
    auto const status = run_dot(fileno(input.get()), fileno(output.get()));
    if (status == 127) {
        throw NothingRuns(
            "--format svg draws with Graphviz, and there is no program \"dot\": install graphviz, or take --format "
            "dot");
    }
    std::rewind(output.get());
    std::string svg;
    char block[65536];
    while (auto const got = std::fread(block, 1, sizeof block, output.get())) {
        svg.append(block, got);
    }
    if (status != 0 || svg.empty()) {
        throw NothingRuns(
            fmt::format("Graphviz ended with {} and drew nothing; --format dot prints its input", status));
    }
    return svg;
}

}  // namespace peerlane::cli
