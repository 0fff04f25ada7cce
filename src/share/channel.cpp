#include "share/channel.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

namespace peerlane {
namespace share {

Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int milliseconds_until(Clock::time_point deadline, int most_ms) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::min<long long>(std::max<long long>(left, 0), most_ms));
}

sockaddr_un address_of_path(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos) {
        throw std::invalid_argument(fmt::format("rendezvous: the path \"{}\" has {} bytes; a socket takes 1 to {}",
                                                path, path.size(), sizeof address.sun_path - 1));
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

Descriptor new_socket() {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (socket.number() < 0) {
        throw Error({code::invalid_value, "socket", -1, -1, std::strerror(errno)});
    }
    return socket;
}

Credentials credentials_of(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        throw Error({code::invalid_value, "SO_PEERCRED", -1, -1, std::strerror(errno)});
    }
    return {peer.pid, peer.uid};
}

bool same_user(const Credentials& peer) {
    return peer.user == ::geteuid();
}

}  // namespace share

namespace {

constexpr int slice_ms = 100;  ///< between two looks whether the peer lives

[[noreturn]] void refuse(int code, const char* call, const std::string& cure) {
    throw Error({code, call, -1, -1, cure});
}

}  // namespace

PeerGone::PeerGone(int process, const std::string& why)
    : std::runtime_error(process > 0 ? fmt::format("process {} at the other end {}", process, why)
                                     : fmt::format("the process at the other end {}", why)),
      process_(process) {}

PeerChannel::PeerChannel(std::unique_ptr<State> state) : state_(std::move(state)) {}
PeerChannel::PeerChannel(PeerChannel&&) noexcept = default;
PeerChannel& PeerChannel::operator=(PeerChannel&&) noexcept = default;
PeerChannel::~PeerChannel() = default;

int PeerChannel::process() const {
    return state_->process;
}

PeerChannel PeerChannel::connect(const std::string& path, double seconds) {
    auto const address = share::address_of_path(path);
    auto const deadline = share::after(seconds);
    std::string last = "nobody listens";
    for (;;) {
        auto state = std::make_unique<State>();
        state->socket = share::new_socket();
        if (::connect(state->socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            auto const peer = share::credentials_of(state->socket.number());
            if (!share::same_user(peer)) {
                refuse(
                    code::invalid_value, "rendezvous",
                    fmt::format("{} belongs to user {}: name a path that only this user can write", path, peer.user));
            }
            state->process = peer.process;
            state->start = share::start_of(peer.process);
            PeerChannel channel(std::move(state));
            try {
                channel.send(share::greeting);
                auto const left = std::chrono::duration<double>(deadline - share::Clock::now()).count();
                auto const answer = channel.receive(std::max(left, 0.0));
                if (answer && answer->bytes == share::greeting) {
                    return channel;
                }
                if (answer) {
                    refuse(code::invalid_value, "rendezvous",
                           fmt::format("{}: who listens speaks something else", path));
                }
                last = "who listens does not answer";
            } catch (const PeerGone& gone) {
                last = gone.what();  // it ended, or turned us away: another may come
            }
        } else if (errno == EACCES || errno == EPROTOTYPE || errno == ENOTDIR || errno == EPERM) {
            refuse(code::invalid_value, "rendezvous", fmt::format("{}: {}", path, std::strerror(errno)));
        } else {
            last = std::strerror(errno);
        }
        if (share::Clock::now() >= deadline) {
            refuse(code::launch_timeout, "rendezvous",
                   fmt::format("{}: not met within {:.1f} s: {}", path, seconds, last));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(share::milliseconds_until(deadline, 20)));
    }
}

std::pair<PeerChannel, PeerChannel> PeerChannel::pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        refuse(code::invalid_value, "socketpair", std::strerror(errno));
    }
    auto one = std::make_unique<State>(), other = std::make_unique<State>();
    one->socket = Descriptor(ends[0]);
    other->socket = Descriptor(ends[1]);
    return {PeerChannel(std::move(one)), PeerChannel(std::move(other))};
}

void PeerChannel::send(std::string_view bytes, const std::vector<int>& descriptors, double seconds) {
    if (bytes.empty() || bytes.size() > most_message_bytes || descriptors.size() > most_message_descriptors) {
        throw std::invalid_argument(fmt::format("message of {} bytes and {} descriptors: 1 to {} and at most {} fit",
                                                bytes.size(), descriptors.size(), most_message_bytes,
                                                most_message_descriptors));
    }
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_message_descriptors)> beside{};
    if (!descriptors.empty()) {
        message.msg_control = beside.data();
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
        auto* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
        std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
    }
    auto const deadline = share::after(seconds);
    for (;;) {
        auto const sent = ::sendmsg(state_->socket.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent == static_cast<ssize_t>(bytes.size())) {
            return;
        }
        if (sent >= 0 || errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
            state_->gone = true;
            throw PeerGone(state_->process, "is gone");
        }
        if (errno != EAGAIN && errno != EINTR) {
            refuse(code::invalid_value, "sendmsg", std::strerror(errno));
        }
        if (share::ended(state_->process, state_->start)) {
            state_->gone = true;
            throw PeerGone(state_->process, "has ended");
        }
        if (share::Clock::now() >= deadline) {
            refuse(code::launch_timeout, "send",
                   fmt::format("process {} takes no message for {:.1f} s", state_->process, seconds));
        }
        pollfd watched{state_->socket.number(), POLLOUT, 0};
        static_cast<void>(::poll(&watched, 1, share::milliseconds_until(deadline, slice_ms)));
    }
}

std::optional<PeerMessage> PeerChannel::receive(double seconds) {
    auto const deadline = share::after(seconds);
    auto const number = state_->socket.number();
    pollfd watched{number, POLLIN, 0};
    for (auto ended = false;;) {
        auto const ready = ::poll(&watched, 1, ended ? 0 : share::milliseconds_until(deadline, slice_ms));
        if (ready > 0) {
            break;
        }
        if (ended) {  // and nothing that it had sent is left
            state_->gone = true;
            throw PeerGone(state_->process, "has ended");
        }
        ended = share::ended(state_->process, state_->start);
        if (!ended && share::Clock::now() >= deadline) {
            return std::nullopt;
        }
    }
    PeerMessage got;
    got.bytes.resize(most_message_bytes);
    iovec part{got.bytes.data(), got.bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_message_descriptors)> beside{};
    message.msg_control = beside.data();
    message.msg_controllen = beside.size();
    ssize_t size = 0;
    do {
        size = ::recvmsg(number, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    for (auto* header = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr; header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        auto const count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
            got.descriptors.emplace_back(descriptor);
        }
    }
    if (size <= 0) {
        state_->gone = true;
        throw PeerGone(state_->process, size == 0 || errno == ECONNRESET ? "is gone" : std::strerror(errno));
    }
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        refuse(code::invalid_value, "receive",
               fmt::format("process {} sent more than a message may hold", state_->process));
    }
    got.bytes.resize(static_cast<std::size_t>(size));
    return got;
}

bool PeerChannel::alive() const {
    if (state_->gone || share::ended(state_->process, state_->start)) {
        return false;
    }
    pollfd watched{state_->socket.number(), POLLRDHUP, 0};
    return ::poll(&watched, 1, 0) <= 0 || (watched.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) == 0;
}

}  // namespace peerlane
