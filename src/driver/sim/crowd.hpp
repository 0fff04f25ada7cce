#pragma once
/// What transfers do to each other beyond sharing links: a device's PCIe port that several of them leave or enter
/// carries less in all, and traffic between root ports interferes as the machine's table says.

#include <optional>
#include <span>
#include <vector>

#include "driver/sim/truth.hpp"
#include "model/sharing.hpp"

namespace peerlane::sim {

/// A direct transfer between two devices over PCIe.
struct PeerFlow {
    int source = 0, destination = 0;
    bool write = true;  ///< pushed or stored; else pulled or loaded
    friend bool operator==(const PeerFlow&, const PeerFlow&) = default;
};

class Crowd {
  public:
    /// Keeps a reference to the Truth.
    explicit Crowd(const Truth& truth);
    /// `peer`: where it is a direct transfer over PCIe.
    void start(std::span<const model::Use> uses, const std::optional<PeerFlow>& peer, model::Sharing& sharing);
    void end(std::span<const model::Use> uses, const std::optional<PeerFlow>& peer, model::Sharing& sharing);
    /// No flow is under way any more.
    void clear(model::Sharing& sharing);

  private:
    void count(std::span<const model::Use> uses, int change, model::Sharing& sharing);
    void refresh_link(int link, model::Sharing& sharing);
    void refresh_rules(model::Sharing& sharing);
    [[nodiscard]] double allowed(int port, bool write) const;
    void peers_changed(const PeerFlow& flow, model::Sharing& sharing);

    const Truth* truth_;
    std::vector<int> flows_;          ///< of each PCIe link
    std::vector<int> peers_;          ///< of them, direct transfers that leave or enter the device at its end
    std::vector<PeerFlow> crossing_;  ///< those between root ports; kept only where the machine has rules
};

}  // namespace peerlane::sim
