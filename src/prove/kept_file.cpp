#include "prove/kept_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include "prove/child_process.hpp"

namespace peerlane::prove {
namespace {

constexpr double most_wait_s = 2;

/// A file of ours, closed with its lock.
class File {
  public:
    File(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    [[nodiscard]] bool open() const { return number_ >= 0; }

    /// False when somebody else had it all the time.
    bool lock() const {
        auto const deadline = after(most_wait_s);
        while (::flock(number_, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR) {
                return true;  // a file system without locks: the rename is atomic all the same
            }
            if (Clock::now() >= deadline) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return true;
    }

    bool write(std::string_view text) const {
        while (!text.empty()) {
            auto const wrote = ::write(number_, text.data(), text.size());
            if (wrote < 0 && errno != EINTR) {
                return false;
            }
            text.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
        }
        return ::fsync(number_) == 0;
    }

  private:
    int number_;
};

}  // namespace

std::string replace_kept_file(const std::string& path, std::string_view text) {
    auto const failed = [&] { return fmt::format("{}: {}", path, std::strerror(errno)); };
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    File const lock(path + ".lock", O_RDWR | O_CREAT);
    if (!lock.open()) {
        return failed();
    }
    if (!lock.lock()) {
        return fmt::format("{}: another process holds its lock", path);
    }
    auto const fresh = fmt::format("{}.{}.tmp", path, ::getpid());
    File const file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.open()) {
        return failed();
    }
    if (!file.write(text) || ::rename(fresh.c_str(), path.c_str()) != 0) {
        auto const why = failed();
        ::unlink(fresh.c_str());
        return why;
    }
    return {};
}

}  // namespace peerlane::prove
