#include "cli/output.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

/// 0, or why not all of it could be written.
int write_all(int file, std::string_view text) {
    while (!text.empty()) {
        auto const wrote = ::write(file, text.data(), text.size());
        if (wrote < 0 && errno != EINTR) {
            return errno;
        }
        text.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
    }
    return 0;
}

/// https://no-color.org: set and not empty.
bool colors_unwanted() {
    auto const* const unwanted = std::getenv("NO_COLOR");
    auto const* const terminal = std::getenv("TERM");
    return (unwanted != nullptr && *unwanted != '\0') || (terminal != nullptr && std::strcmp(terminal, "dumb") == 0);
}

}  // namespace

void prepare_streams() {
    for (int stream = 0; stream <= 2; ++stream) {
        if (::fcntl(stream, F_GETFD) == -1) {
            // Opened for the wrong way, so that using it is still an error.
            static_cast<void>(::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY));
        }
    }
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
}

SaveFile::SaveFile(std::string path) : path_(std::move(path)), target_(path_) {
    char resolved[PATH_MAX];
    if (::realpath(path_.c_str(), resolved) != nullptr) {
        target_ = resolved;
        struct stat what {};
        if (::stat(resolved, &what) == 0 && !S_ISREG(what.st_mode)) {
            file_ = ::open(resolved, O_WRONLY | O_CLOEXEC);
            if (file_ < 0) {
                fail(errno);
            }
            return;
        }
        if (::access(resolved, W_OK) != 0) {
            fail(errno);
        }
    }
    temporary_ = fmt::format("{}.{}.tmp", target_, ::getpid());
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) {
        auto const why = errno;
        temporary_.clear();
        fail(why);
    }
}

SaveFile::~SaveFile() {
    if (file_ >= 0) {
        ::close(file_);
    }
    if (!temporary_.empty()) {
        ::unlink(temporary_.c_str());
    }
}

void SaveFile::fail(int why) const {
    throw OutputError(why == ENOENT || why == ENOTDIR ? missing : internal,
                      fmt::format("--save {}: {}", path_, std::strerror(why)));
}

void SaveFile::write(std::string_view text) {
    if (auto const why = write_all(file_, text)) {
        fail(why);
    }
    if (temporary_.empty()) {
        return;
    }
    // Some file systems report a full disk only here.
    bool const written = ::fsync(file_) == 0;
    auto const why = errno;
    bool const closed = ::close(std::exchange(file_, -1)) == 0;
    if (!written || !closed) {
        fail(written ? errno : why);
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
        fail(errno);
    }
    temporary_.clear();
}

Output::Output(const std::string& save, Color color)
    : save_(save.empty() ? nullptr : std::make_unique<SaveFile>(save)),
      color_(color == Color::always ||
             (color == Color::automatic && ::isatty(STDOUT_FILENO) != 0 && !colors_unwanted())),
      progress_(::isatty(STDERR_FILENO) != 0) {}

Output::~Output() {
    progress("");
}

void Output::print(std::string_view text) {
    progress("");
    if (gone_) {
        return;
    }
    auto const why = write_all(STDOUT_FILENO, text);
    if (why == EPIPE) {
        gone_ = true;
    } else if (why != 0) {
        throw OutputError(internal, fmt::format("cannot write to standard output: {}", std::strerror(why)));
    }
}

void Output::save(std::string_view document) {
    if (save_) {
        save_->write(document);
    }
}

void Output::progress(std::string_view line) {
    if (!progress_ || (line.empty() && !line_shown_)) {
        return;
    }
    line_shown_ = !line.empty();
    static_cast<void>(write_all(STDERR_FILENO, fmt::format("\r\x1b[K{}", line)));
}

void complain(std::string_view text) {
    static_cast<void>(write_all(STDERR_FILENO, fmt::format("{}\n", text)));
}

void leave_at_once(int status) {
    ::_exit(status);
}

}  // namespace peerlane::cli
