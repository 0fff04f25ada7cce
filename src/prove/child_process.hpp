#pragma once
/// A helper process: lines to its standard input, lines from its standard output, its standard error kept. Everything
/// has a deadline; nothing waits for ever, not even for a process that cannot be killed.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace peerlane::prove {

using Clock = std::chrono::steady_clock;
Clock::time_point after(double seconds);

class ChildProcess {
  public:
    using SendSignal = std::function<bool(int process, int signal)>;

    /// Starts it; never forks, so that a process that uses a GPU may. Throws Error when the file cannot be started.
    ChildProcess(const std::string& path, const std::vector<std::string>& arguments, SendSignal send_signal);
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    /// Kills it if it still runs.
    ~ChildProcess();

    /// False when it no longer reads.
    bool write_line(const std::string& line);

    /// It sees the end of its input, and should end by itself.
    void close_input();

    struct Line {
        enum class Kind : std::uint8_t { line, closed, late } kind = Kind::closed;
        std::string text{};
    };
    /// The next line of its output; `closed` when it closed it (mostly: ended), `late` when there was none in time.
    Line read_line(Clock::time_point deadline);

    /// Asks it to end, then kills it, waiting `grace_s` after each. False when it is still there: it is frozen.
    bool end(double grace_s);
    /// Waits for it to end by itself. False when it did not.
    bool reap(double grace_s);
    /// "ended with status 3", "killed by signal 11"; empty while it runs.
    [[nodiscard]] std::string ending() const;
    /// The last it wrote to standard error, on one line, without blanks around.
    std::string complaint();

  private:
    void read_errors();
    void close_pipes();

    pid_t process_ = -1;
    int to_ = -1, from_ = -1, errors_ = -1;
    std::string buffer_, complaint_;
    std::optional<int> status_;
    SendSignal send_signal_;
};

}  // namespace peerlane::prove
