#pragma once
/// Two processes that share memory over a channel: ranges are offered here and taken there, closing and ending are
/// told, and a peer that dies takes its claims with it.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <peerlane/rendezvous.hpp>
#include <peerlane/share.hpp>

namespace peerlane {

/// Most offers and messages of the peer that are kept until somebody asks for them; more are a failure of the peer.
inline constexpr std::size_t most_waiting_messages = 1024;

/// Not for several threads at once. The Share must outlive it. Every wait throws PeerGone when the peer ends; after
/// that imports of its memory must be closed and not be touched, and its claims on ours are gone.
class Peering {
  public:
    Peering(Share& share, PeerChannel channel);
    Peering(const Peering&) = delete;
    Peering& operator=(const Peering&) = delete;
    /// Ends the exports that this peering offered.
    ~Peering();

    /// Exports and sends, without waiting. Leave the first marker_bytes alone until `settle`. Throws what export_range
    /// throws.
    std::uint64_t offer(const void* at, std::uint64_t bytes);
    /// Waits until the peer has imported the offer and seen its marker, and puts back what the marker hid. Throws
    /// Error 1 with the peer's reason when it could not (the export is withdrawn then), and Error 702 when it did not
    /// within `seconds`: the marker is gone then too, so that a later import fails.
    void settle(std::uint64_t id, double seconds);
    /// The next offer of the peer, imported for `device`; it is told either way. Throws what import_range throws, and
    /// Error 702 when there is no offer within `seconds`.
    [[nodiscard]] Imported take(int device, double seconds);
    /// Closes an import of this peer and tells it.
    void close(Imported imported);
    /// Ends an export once the peer has closed it: the memory may be freed then. Throws Error 702 (stale-mapping) when
    /// it has not within `seconds`; the export stays.
    void withdraw(std::uint64_t id, double seconds);

    /// Any bytes, at most most_message_bytes - 16, in order among themselves.
    void send(std::string_view bytes);
    /// Throws Error 702 when there is none within `seconds`.
    [[nodiscard]] std::string receive(double seconds);
    [[nodiscard]] const PeerChannel& channel() const { return channel_; }

  private:
    struct Answer {
        bool ok = false;
        std::string reason{};
    };
    /// Handles what comes until `done`; false when that is not within `seconds`.
    template <class Done>
    bool pump(double seconds, Done&& done);
    void handle(PeerMessage message);
    void say(char what, std::uint64_t id, std::string_view rest = {}, const std::vector<int>& descriptors = {});
    /// The peer is gone: it holds nothing any more.
    void drop_claims() noexcept;

    Share& share_;
    PeerChannel channel_;
    std::set<std::uint64_t> offered_{};
    std::map<std::uint64_t, Answer> answers_{};
    std::deque<SharedRange> offers_{};
    std::deque<std::string> messages_{};
};

}  // namespace peerlane
