#include "prepare/machine_lock.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

namespace peerlane::preparing {
namespace {

constexpr char working = 'w', failed = 'f', done = 'd';

/// The same clock for all processes of the machine.
double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

MachineLock::MachineLock(const std::string& path) : began_s_(now_s()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (file_.number() < 0) {
        throw Error({code::invalid_value, "lock", -1, -1, fmt::format("{}: {}", path, std::strerror(errno))});
    }
}

bool MachineLock::acquire(double seconds, const OnWait& waiting) {
    auto const deadline = now_s() + seconds;
    double told_s = 0;
    while (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return true;  // a file system without locks: each process works for itself
        }
        waited_ = true;
        auto const now = now_s();
        if (now >= deadline) {
            return false;
        }
        if (waiting && now - told_s >= 0.1) {
            told_s = now;
            auto const theirs = note();
            waiting(theirs.what == working ? fmt::format("process {}: {}", theirs.process, theirs.text)
                                           : std::string("another process begins"));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    held_ = true;
    return true;
}

std::optional<std::string> MachineLock::failure() const {
    auto const theirs = note();
    return waited_ && theirs.what == failed && theirs.at_s >= began_s_ ? std::optional(theirs.text) : std::nullopt;
}

void MachineLock::say(const std::string& what) {
    write(working, what);
}

void MachineLock::fail(const std::string& why) {
    write(failed, why);
}

void MachineLock::release() {
    if (held_) {
        if (note().what == working) {
            write(done, "");
        }
        static_cast<void>(::flock(file_.number(), LOCK_UN));
        held_ = false;
    }
}

MachineLock::Note MachineLock::note() const {
    std::array<char, 1024> text{};
    Note found;
    if (::pread(file_.number(), text.data(), text.size() - 1, 0) <= 0) {
        return found;
    }
    int read = 0;
    char what = ' ';
    if (std::sscanf(text.data(), "%c %lf %d %n", &what, &found.at_s, &found.process, &read) == 3 && read > 0) {
        found.what = what;
        found.text = text.data() + read;
    }
    return found;
}

/// For people and for those that wait; the lock itself does not depend on it.
void MachineLock::write(char what, const std::string& text) {
    if (!held_) {
        return;
    }
    auto const line = fmt::format("{} {:.6f} {} {}", what, now_s(), ::getpid(), text.substr(0, 900));
    if (::pwrite(file_.number(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size())) {
        static_cast<void>(::ftruncate(file_.number(), static_cast<off_t>(line.size())) == 0);
    }
}

}  // namespace peerlane::preparing
