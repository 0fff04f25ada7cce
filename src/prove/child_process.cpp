#include "prove/child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <peerlane/error.hpp>

extern char** environ;

namespace peerlane::prove {
namespace {

constexpr std::size_t kept_complaint = 2000;

[[noreturn]] void refuse(const std::string& call, int number, const std::string& path) {
    throw Error({.code = code::unknown, .call = call, .cure = fmt::format("{}: {}", path, std::strerror(number))});
}

struct Pipe {
    int read = -1, write = -1;
    Pipe() = default;
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        for (auto const end : {read, write}) {
            if (end >= 0) {
                ::close(end);
            }
        }
    }
    void open(const std::string& path) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {  // the other children of this process must not hold them open
            refuse("pipe2", errno, path);
        }
        read = ends[0];
        write = ends[1];
    }
};

/// Standard streams come from the pipes, signals are as a fresh program expects them. A process group of its own: the
/// terminal's Ctrl-C reaches the parent alone, which then decides; the prober itself dies with its parent
/// (PR_SET_PDEATHSIG).
struct SpawnSettings {
    posix_spawn_file_actions_t files{};
    posix_spawnattr_t attributes{};
    SpawnSettings(const Pipe& in, const Pipe& out, const Pipe& errors) {
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, in.read, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, out.write, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, errors.write, STDERR_FILENO);
        posix_spawnattr_init(&attributes);
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    SpawnSettings(const SpawnSettings&) = delete;
    SpawnSettings& operator=(const SpawnSettings&) = delete;
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
    }
};

int milliseconds_until(Clock::time_point deadline) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

/// A write to a child that ended must fail, not end this process too; and the caller's own handler is the caller's
/// business.
class WithoutPipeSignal {
  public:
    WithoutPipeSignal() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    WithoutPipeSignal(const WithoutPipeSignal&) = delete;
    WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;
    ~WithoutPipeSignal() {
        if (!was_pending_) {
            timespec const now{};
            while (sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

  private:
    sigset_t pipe_{}, before_{};
    bool was_pending_ = false;
};

}  // namespace

Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

ChildProcess::ChildProcess(const std::string& path, const std::vector<std::string>& arguments, SendSignal send_signal)
    : send_signal_(std::move(send_signal)) {
    if (!send_signal_) {
        send_signal_ = [](int process, int signal) { return ::kill(process, signal) == 0; };
    }
    Pipe in, out, errors;
    in.open(path);
    out.open(path);
    errors.open(path);
    std::vector<std::string> words{path};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (auto& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    SpawnSettings const settings(in, out, errors);
    auto const failure =
        ::posix_spawn(&process_, path.c_str(), &settings.files, &settings.attributes, argv.data(), environ);
    if (failure != 0) {
        process_ = -1;
        refuse("posix_spawn", failure, path);
    }
    to_ = std::exchange(in.write, -1);
    from_ = std::exchange(out.read, -1);
    errors_ = std::exchange(errors.read, -1);
    ::fcntl(errors_, F_SETFL, O_NONBLOCK);
    ::fcntl(to_, F_SETFL, O_NONBLOCK);  // a child that does not read must not hold us
}

ChildProcess::~ChildProcess() {
    if (process_ > 0 && !status_) {
        send_signal_(process_, SIGKILL);
        reap(0.5);
    }
    close_pipes();
}

void ChildProcess::close_pipes() {
    for (auto* const end : {&to_, &from_, &errors_}) {
        if (*end >= 0) {
            ::close(std::exchange(*end, -1));
        }
    }
}

void ChildProcess::close_input() {
    if (to_ >= 0) {
        ::close(std::exchange(to_, -1));
    }
}

bool ChildProcess::write_line(const std::string& line) {
    WithoutPipeSignal const guard;
    auto const text = line + "\n";
    std::size_t done = 0;
    while (done < text.size()) {
        auto const n = ::write(to_, text.data() + done, text.size() - done);
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (errno != EINTR) {  // closed, or full: steps are far smaller than a pipe, so it does not read
            return false;
        }
    }
    return true;
}

void ChildProcess::read_errors() {
    std::array<char, 4096> part{};
    while (errors_ >= 0) {
        auto const n = ::read(errors_, part.data(), part.size());
        if (n > 0) {
            complaint_.append(part.data(), static_cast<std::size_t>(n));
            if (complaint_.size() > 2 * kept_complaint) {
                complaint_.erase(0, complaint_.size() - kept_complaint);
            }
        } else if (n == 0) {
            ::close(std::exchange(errors_, -1));
        } else if (errno != EINTR) {
            return;
        }
    }
}

ChildProcess::Line ChildProcess::read_line(Clock::time_point deadline) {
    for (;;) {
        if (auto const end = buffer_.find('\n'); end != std::string::npos) {
            Line line{Line::Kind::line, buffer_.substr(0, end)};
            buffer_.erase(0, end + 1);
            return line;
        }
        if (from_ < 0) {
            return {};
        }
        std::array<pollfd, 2> watched{{{from_, POLLIN, 0}, {errors_, POLLIN, 0}}};
        auto const ready = ::poll(watched.data(), watched.size(), milliseconds_until(deadline));
        if (ready < 0 && errno != EINTR) {
            return {};
        }
        if (watched[1].revents != 0) {  // or its pipe fills up and it waits for us
            read_errors();
        }
        if (watched[0].revents != 0) {
            std::array<char, 4096> part{};
            auto const n = ::read(from_, part.data(), part.size());
            if (n > 0) {
                buffer_.append(part.data(), static_cast<std::size_t>(n));
            } else if (n == 0) {
                ::close(std::exchange(from_, -1));
            }
            continue;
        }
        if (Clock::now() >= deadline) {
            return {Line::Kind::late, {}};
        }
    }
}

bool ChildProcess::reap(double grace_s) {
    auto const deadline = after(grace_s);
    auto pause = std::chrono::microseconds(200);
    while (!status_) {
        int status = 0;
        auto const ended = ::waitpid(process_, &status, WNOHANG);
        if (ended == process_) {
            status_ = status;
        } else if (ended < 0 && errno != EINTR) {  // somebody else waited for it (a caller that ignores SIGCHLD)
            status_ = 0;
        } else if (Clock::now() >= deadline) {
            return false;
        } else {
            std::this_thread::sleep_for(pause);
            pause = std::min(pause * 2, std::chrono::microseconds(20'000));
        }
    }
    return true;
}

bool ChildProcess::end(double grace_s) {
    for (auto const signal : {SIGTERM, SIGKILL}) {
        if (!status_) {
            send_signal_(process_, signal);
            reap(grace_s);
        }
    }
    return status_.has_value();
}

std::string ChildProcess::ending() const {
    if (!status_) {
        return {};
    }
    return WIFSIGNALED(*status_) ? fmt::format("killed by signal {}", WTERMSIG(*status_))
                                 : fmt::format("ended with status {}", WEXITSTATUS(*status_));
}

std::string ChildProcess::complaint() {
    read_errors();
    std::string line;
    for (auto const c : complaint_) {
        auto const blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
        if (!blank || (!line.empty() && line.back() != ' ')) {
            line += blank ? ' ' : c;
        }
    }
    while (!line.empty() && line.back() == ' ') {
        line.pop_back();
    }
    return line.size() > kept_complaint ? line.substr(line.size() - kept_complaint) : line;
}

}  // namespace peerlane::prove
