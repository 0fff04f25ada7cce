#include "cli/ran.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace peerlane::cli_tests {
namespace {

[[noreturn]] void become(const char* program, const std::vector<std::string>& arguments, const How& how,
                         const Folder& scratch) {
    auto const redirect = [](const std::string& path, int flags, int to) {
        auto const file = ::open(path.c_str(), flags, 0600);
        if (file < 0 || ::dup2(file, to) < 0) {
            ::_exit(126);
        }
        ::close(file);
    };
    redirect(scratch.file("in"), O_RDONLY, STDIN_FILENO);
    redirect(scratch.file("err"), O_WRONLY | O_CREAT, STDERR_FILENO);
    if (how.out_to == "closed") {
        ::close(STDOUT_FILENO);
    } else {
        redirect(how.out_to.empty() ? scratch.file("out") : how.out_to, O_WRONLY | O_CREAT, STDOUT_FILENO);
    }
    ::unsetenv("NO_COLOR");
    for (auto const& entry : how.environment) {
        ::putenv(const_cast<char*>(entry.c_str()));
    }
    if (!how.folder.empty() && ::chdir(how.folder.c_str()) != 0) {
        ::_exit(126);
    }
    std::vector<char*> words{const_cast<char*>(program)};
    for (auto const& argument : arguments) {
        words.push_back(const_cast<char*>(argument.c_str()));
    }
    words.push_back(nullptr);
    ::execv(program, words.data());
    ::_exit(127);
}

Ran run(const char* program, const std::vector<std::string>& arguments, const How& how) {
    Folder const scratch;
    scratch.file("in", how.input);
    auto const child = ::fork();
    if (child < 0) {
        throw std::runtime_error("fork");
    }
    if (child == 0) {
        become(program, arguments, how, scratch);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text_of(scratch.file("out")),
            text_of(scratch.file("err"))};
}

}  // namespace

Ran peerlane(const std::vector<std::string>& arguments, const How& how) {
    return run(PEERLANE_COMMAND, arguments, how);
}

Ran shell(const std::string& command, const How& how) {
    auto with_path = how;
    auto const folder = std::filesystem::path(PEERLANE_COMMAND).parent_path().string();
    auto const* const path = std::getenv("PATH");
    with_path.environment.push_back("PATH=" + folder + ":" + (path != nullptr ? path : "/usr/bin:/bin"));
    return run("/bin/sh", {"-c", command}, with_path);
}

Ran typed(const std::string& line, const How& how) {
    std::istringstream words(line);
    return peerlane(std::vector<std::string>(std::istream_iterator<std::string>(words), {}), how);
}

Folder::Folder() {
    auto pattern = (std::filesystem::temp_directory_path() / "peerlane-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("no folder for a test: " + pattern);
    }
    path_ = pattern;
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string Folder::file(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
}

std::vector<std::string> Folder::names() const {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(path_)) {
        names.push_back(entry.path().filename());
    }
    return names;
}

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace peerlane::cli_tests
