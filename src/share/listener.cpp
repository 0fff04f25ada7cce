#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "share/channel.hpp"

namespace peerlane {
namespace {

constexpr int most_waiting = 64;     ///< connections that nobody has accepted yet
constexpr double greeting_s = 2;     ///< for a process that connected to say who it is
constexpr double folder_lock_s = 2;  ///< held for microseconds

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw Error({code::invalid_value, "rendezvous", -1, -1, fmt::format("{}: {}", path, why)});
}

/// Two that start at once must not take each other for dead. A lock on the folder leaves no file behind.
Descriptor lock_folder(const std::string& path) {
    auto folder = std::filesystem::path(path).parent_path().string();
    Descriptor lock(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.number() < 0) {
        refuse(path, std::strerror(errno));
    }
    auto const deadline = share::after(folder_lock_s);
    while (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0 && share::Clock::now() < deadline) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            break;  // a file system without locks
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return lock;
}

/// Takes away what a dead listener left.
void make_room(const std::string& path, const sockaddr_un& address) {
    struct stat what {};
    if (::lstat(path.c_str(), &what) != 0) {
        return;
    }
    if (!S_ISSOCK(what.st_mode)) {
        throw std::invalid_argument(fmt::format("rendezvous: {} is there and is no socket", path));
    }
    auto const probe = share::new_socket();
    auto const connected = ::connect(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (connected || errno != ECONNREFUSED) {
        refuse(path, connected ? "another process listens there" : std::strerror(errno));
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        refuse(path, std::strerror(errno));
    }
}

}  // namespace

struct Listener::State {
    std::string path;
    Descriptor socket{};
    dev_t device = 0;
    ino_t node = 0;
    int turned_away = 0;

    ~State() {
        struct stat what {};
        if (socket.number() >= 0 && ::lstat(path.c_str(), &what) == 0 && what.st_dev == device && what.st_ino == node) {
            ::unlink(path.c_str());
        }
    }
};

Listener::Listener(std::string path) : state_(std::make_unique<State>()) {
    auto const address = share::address_of_path(path);
    auto const lock = lock_folder(path);
    make_room(path, address);
    auto socket = share::new_socket();
    static_cast<void>(::fchmod(socket.number(), S_IRUSR | S_IWUSR));  // the file gets it at once, not a moment later
    if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        refuse(path, std::strerror(errno));
    }
    struct stat what {};
    if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::lstat(path.c_str(), &what) != 0 ||
        ::listen(socket.number(), most_waiting) != 0) {
        auto const why = std::string(std::strerror(errno));
        ::unlink(path.c_str());
        refuse(path, why);
    }
    state_->path = std::move(path);
    state_->device = what.st_dev;
    state_->node = what.st_ino;
    state_->socket = std::move(socket);
}

Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&&) noexcept = default;
Listener::~Listener() = default;

int Listener::turned_away() const {
    return state_->turned_away;
}

std::optional<PeerChannel> Listener::accept(double seconds) {
    auto const deadline = share::after(seconds);
    for (;;) {
        pollfd watched{state_->socket.number(), POLLIN, 0};
        auto const ready = ::poll(&watched, 1, share::milliseconds_until(deadline, 1000));
        if (ready <= 0) {
            if (share::Clock::now() >= deadline) {
                return std::nullopt;
            }
            continue;
        }
        auto channel = std::make_unique<PeerChannel::State>();
        channel->socket = Descriptor(::accept4(state_->socket.number(), nullptr, nullptr, SOCK_CLOEXEC));
        if (channel->socket.number() < 0) {
            if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN) {
                refuse(state_->path, std::strerror(errno));
            }
            continue;
        }
        auto const peer = share::credentials_of(channel->socket.number());
        if (!share::same_user(peer)) {
            ++state_->turned_away;
            continue;
        }
        channel->process = peer.process;
        channel->start = share::start_of(peer.process);
        PeerChannel accepted(std::move(channel));
        try {
            auto const hello = accepted.receive(greeting_s);
            if (hello && hello->bytes == share::greeting) {
                accepted.send(share::greeting);
                return accepted;
            }
        } catch (const PeerGone&) {  // another one may come
        } catch (const Error&) {
        }
        ++state_->turned_away;
    }
}

}  // namespace peerlane
