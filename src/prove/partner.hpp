#pragma once
/// The other process of a proof of imports: it owns memory, exports an address in the middle of it, and looks at it
/// with the owner's device.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/pattern.hpp>

namespace peerlane::prove {

/// Thrown by a partner that cannot be asked: it did not start, or ended. The reason says which.
struct NoPartner {
    std::string reason;
};

/// What to export: `bytes` at `offset` of a fresh allocation on `owner`, holding `marker`.
struct Offer {
    int owner = 0;
    MemoryKind kind = MemoryKind::plain;
    std::uint64_t allocation_bytes = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    Pattern marker{};
};

class Partner {
  public:
    virtual ~Partner() = default;
    /// Allocates, lets the owner's kernel write the marker, exports. The memory before is freed. What the driver
    /// refused is a code; `reason` says what it would not do.
    virtual ExportOutcome offer(const Offer& offer, std::string& reason) = 0;
    /// The owner's kernel looks at the offered bytes. Throws NoPartner, and TimeUp when it does not answer.
    virtual CheckOutcome look(Pattern expected, Pattern poison) = 0;
    /// Frees what was offered.
    virtual void withdraw() = 0;
};

/// The part of a partner that works on a driver: in the other process, and played in simulations.
std::unique_ptr<Partner> partner_on(Driver& driver);
/// Starts the other process when first needed; throws NoPartner.
using FindPartner = std::function<std::unique_ptr<Partner>()>;

/// A process started with `helper --export 1 --parent PID` and these arguments, spoken with over a socket on its
/// standard input, in which descriptors travel too. Throws NoPartner when it is not ready after `start_s` seconds; each
/// answer has `answer_s`. It ends with this object, and with this process whatever happens.
std::unique_ptr<Partner> partner_process(const std::string& helper, const std::vector<std::string>& arguments,
                                         double start_s, double answer_s);
/// What such a process does: says that it is ready, then answers on this socket until it is closed.
void serve_partner(Driver& driver, int socket);

/// The partner of a prober, found once and kept; why there is none is kept, too.
class Partners {
  public:
    /// Without `find`: played by the driver where it is simulated, none elsewhere.
    Partners(Driver& driver, FindPartner find) : driver_(driver), find_(std::move(find)) {}
    /// Throws NoPartner.
    Partner& get();
    /// After it did not answer: the next call looks for a fresh one.
    void drop() { partner_.reset(); }

  private:
    Driver& driver_;
    FindPartner find_;
    std::unique_ptr<Partner> partner_;
    std::string none_;
};

}  // namespace peerlane::prove
