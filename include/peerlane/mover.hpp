#pragma once
/// Moves bytes between two places of one machine, in the order of a stream.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <peerlane/copy_options.hpp>
#include <peerlane/driver.hpp>
#include <peerlane/exchange.hpp>
#include <peerlane/moving.hpp>
#include <peerlane/pages.hpp>
#include <peerlane/plan.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/profile.hpp>
#include <peerlane/transfer.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// What is known of a machine before bytes are moved.
struct Ready {
    Machine machine;  ///< with measured rates where there are some
    Verdicts verdicts;
    bool trust_claimed = false;
    Profile profile{};  ///< of this machine; empty: nominal costs
};

struct MoverOptions {
    /// Most that may be held between legs in the memory of each place (a NUMA node, a device), and in each captured
    /// graph; at least 1 MiB. Where it is short, chunks shrink and more goes the direct way.
    std::uint64_t staging_bytes = std::uint64_t{256} << 20;
    /// Without a profile: copies of up to so many bytes into an idle stream go by a kernel of the side that issues
    /// them, where its access is proven; that saves 1.4 us of 11 (two H200).
    std::uint64_t small_kernel_bytes = std::uint64_t{256} << 10;
    /// Shares of a split follow what its routes were seen to take.
    bool adapt = true;
};

/// Carries out choices over a driver. Keeps streams, events and staging memory and uses them again in stream order.
/// Safe to use from several threads. The driver must outlive it; the destructor waits for what was submitted. A device
/// error ends the process's use of its devices: every call then throws it (Error, sticky), with the likely cause.
class Mover {
  public:
    Mover(Driver& driver, Ready ready, const MoverOptions& options = {});
    Mover(Mover&&) noexcept;
    Mover& operator=(Mover&&) noexcept;
    ~Mover();

    /// Like a copy call of the runtime: returns at once, the stream continues when the bytes are there. Memory of every
    /// kind; pageable host memory is read or written by a thread of the mover, in order of the stream: leave it alone
    /// until the copy is done. Throws std::invalid_argument for bytes outside known memory and where no way is proven,
    /// Error when the driver refuses a call. In a stream that is being captured the copy is recorded, with staging
    /// memory that the graph owns (for the mover's life where the driver cannot tell when a graph goes); what cannot be
    /// recorded is refused, Error 900, and the capture goes on.
    /// `options`: a flag set in order of the stream when the bytes are visible.
    void copy(void* to, const void* from, std::uint64_t bytes, StreamView stream, const CopyOptions& options = {});
    /// The same driven by the host, who sees its progress and may end it; ways that fail cost time only. Not for
    /// pageable memory, nor 0 bytes (std::invalid_argument).
    [[nodiscard]] Transfer transfer(void* to, const void* from, std::uint64_t bytes,
                                    const TransferOptions& options = {});
    /// Many copies, in an order and by ways that leave each link to as many of them as it serves at their full rate;
    /// stream-ordered as a whole. Not for pageable memory, 0 bytes (std::invalid_argument) or captures (Error 900).
    [[nodiscard]] Exchange exchange(std::span<const ExchangeCopy> copies, StreamView stream);
    /// Copies from and to this range need not ask the driver where it lies, 0.5 us a copy. Until unregistered (by its
    /// first address) it must not be freed. std::invalid_argument for memory that is not known or registered already.
    void register_buffer(const void* base, std::uint64_t bytes);
    void unregister_buffer(const void* base);
    /// Throws the first failure of submitted work not told yet: Error with pair and leg. Never waits. What goes by one
    /// call into the caller's own stream fails where that stream is waited for.
    void check();
    /// Waits for all that was submitted through this mover, then checks.
    void synchronize();
    /// Routes that were dropped between copies and why: route-slow, route-failed.
    [[nodiscard]] std::vector<Finding> findings() const;
    /// Held now in the memory of this place for copies of several legs; graphs not counted.
    [[nodiscard]] std::uint64_t staging_held(Place place) const;
    /// Lists of blocks (pages.hpp), stream-ordered like a copy; host arrays may be used again when the call returns.
    /// One kernel moves a list, by the side whose access is proven; large segments go by copy engine; where nothing is
    /// mapped both sides work on pinned buffers between them. Throws std::invalid_argument, with the first bad index,
    /// for what lies outside its allocation or overlaps at the destination, and where no way is proven. A list without
    /// blocks is no error.
    void copy_pages(const PageCopy& copy, StreamView stream, const ListOptions& options = {});
    void copy_segments(const SegmentCopy& copy, StreamView stream, const ListOptions& options = {});
    void copy_strided(const StridedCopy& copy, StreamView stream, const ListOptions& options = {});
    /// How copy_pages moves `bytes` in pages of `page_bytes` with their numbers on the host: one kernel leg, or two
    /// through pinned memory. Routes are empty, and `why` says so, where no way is proven.
    [[nodiscard]] Choice choose_pages(Place from, Place to, std::uint64_t bytes, std::uint64_t page_bytes) const;
    /// The bases of many layers, checked and made known to the device once.
    [[nodiscard]] PreparedPages prepare_pages(const LayeredPages& layers);
    /// What copy_pages does not look at: the first i of lists on a device that is out of range or names a destination
    /// again; empty when all is right. Waits for the stream.
    [[nodiscard]] std::optional<std::size_t> first_bad_page(const PageCopy& copy, StreamView stream);
    /// The same with the places said and the way chosen by the caller.
    void carry_out(const Choice& choice, Location to, Location from, StreamView stream);
    /// Makes streams, events, staging memory and mappings that the choice needs, so that carry_out does not have to.
    void prepare(const Choice& choice);
    /// The choice for these bytes, from what is known.
    [[nodiscard]] Choice choose(Place from, Place to, std::uint64_t bytes) const;
    [[nodiscard]] const Ready& ready() const;

  private:
    friend class PreparedPages;
    friend class Transfer;
    friend class Exchange;
    struct State;
    std::unique_ptr<State> state_;
};

/// Moves `bytes` of fresh memory from one place to another by `choice`, and has the owner of the destination check
/// every byte: the destination is poisoned before, the pattern is unique to pair, offset and seed. Each wait is bounded
/// by `seconds_limit`. What goes wrong is in the report; throws std::invalid_argument for a place the machine lacks,
/// and Error when memory cannot be had. With `page_bytes` (a divisor of the bytes, std::invalid_argument otherwise) the
/// bytes are that many scattered pages in an order that the seed decides, moved by copy_pages; `choice` is then what
/// choose_pages gave.
TransferReport verified_copy(Driver& driver, const Ready& ready, const Choice& choice, Place from, Place to,
                             std::uint64_t seed, int repetitions = 1, double seconds_limit = 30,
                             std::uint64_t page_bytes = 0);

}  // namespace peerlane
