#pragma once
/// How the command ends.

#include <stdexcept>
#include <string>

namespace peerlane::cli {

enum Status : int {
    good = 0,
    degraded = 1,      ///< right, but less than it should be; a failed check was avoided
    broken = 2,        ///< wrong bytes, a hang or an error
    inconclusive = 3,  ///< could not tell, or no device
    usage = 64,
    unreadable = 65,  ///< input: file:line: reason
    missing = 66,     ///< no such file or named machine
    internal = 70,    ///< also: a result that could not be written
};

/// What was asked makes no sense; the message names the word at fault.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A file that is not there.
class NoSuchFile : public std::runtime_error {
  public:
    explicit NoSuchFile(const std::string& path) : std::runtime_error("no file \"" + path + "\"") {}
};

/// Nothing could run, with the reason and what to do instead.
class NothingRuns : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A result could not be written.
class OutputError : public std::runtime_error {
  public:
    OutputError(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
    [[nodiscard]] Status status() const noexcept { return status_; }

  private:
    Status status_;
};

}  // namespace peerlane::cli
