#pragma once
/// Where processes of one user on one machine find each other: a Unix socket at a path that the caller names. Whole
/// messages, descriptors beside them, every wait bounded, a dead peer noticed.

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peerlane/driver/sharing.hpp>

namespace peerlane {

inline constexpr std::size_t most_message_bytes = 64 << 10;
inline constexpr std::size_t most_message_descriptors = 16;

struct PeerMessage {
    std::string bytes{};
    std::vector<Descriptor> descriptors{};
};

/// The other process ended, or closed its end.
class PeerGone : public std::runtime_error {
  public:
    PeerGone(int process, const std::string& why);
    [[nodiscard]] int process() const noexcept { return process_; }

  private:
    int process_;
};

/// One connection. Move-only. Not for several threads at once; a sending and a receiving thread may share it.
class PeerChannel {
  public:
    PeerChannel(PeerChannel&&) noexcept;
    PeerChannel& operator=(PeerChannel&&) noexcept;
    ~PeerChannel();
    /// Connects, trying again until somebody listens at `path`. Throws Error 702 when nobody does within `seconds`, and
    /// Error 1 where another user listens, or somebody who speaks something else.
    static PeerChannel connect(const std::string& path, double seconds);
    /// Both ends, for a process and its child.
    static std::pair<PeerChannel, PeerChannel> pair();

    /// Throws std::invalid_argument for more than a message may hold, PeerGone, and Error 702 when the peer takes
    /// nothing for `seconds`.
    void send(std::string_view bytes, const std::vector<int>& descriptors = {}, double seconds = 10);
    /// The next message; empty when there is none within `seconds`. Throws PeerGone, within half a second of the end of
    /// the peer even where the system takes long to bury it; what it had sent comes first. Throws Error 1 for a message
    /// larger than one may be.
    [[nodiscard]] std::optional<PeerMessage> receive(double seconds);
    /// False once the peer is gone. Never waits.
    [[nodiscard]] bool alive() const;
    /// The peer, as the system says; 0 where it lives in another space of process numbers.
    [[nodiscard]] int process() const;

  private:
    friend class Listener;
    struct State;
    explicit PeerChannel(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// The end that others connect to.
class Listener {
  public:
    /// Makes the socket at `path`, only for this user (0600), in the place of one that a dead listener left. Throws
    /// std::invalid_argument for a path of more than 107 bytes or a file there that is no socket, Error 1 where
    /// somebody listens there already or the system refuses.
    explicit Listener(std::string path);
    Listener(Listener&&) noexcept;
    Listener& operator=(Listener&&) noexcept;
    /// Takes the socket away.
    ~Listener();
    /// The next process of this user; empty when there is none within `seconds`. Others are turned away and counted.
    [[nodiscard]] std::optional<PeerChannel> accept(double seconds);
    [[nodiscard]] int turned_away() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace peerlane
