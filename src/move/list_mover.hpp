#pragma once
/// Carries out lists of blocks: which side issues, what goes by kernel and what by copy engine, and the pipeline
/// through the host where nothing is mapped. Not thread-safe: the mover's lock is held.

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <peerlane/mover.hpp>
#include <peerlane/pages.hpp>

#include "kernels/pages.hpp"
#include "move/lists.hpp"
#include "move/resources.hpp"
#include "move/uploads.hpp"

namespace peerlane::move {

/// Where both ends of a list lie, and who moves it.
struct Way {
    Place from, to;
    int issuer = 0;       ///< of the only kernel, when not staged
    bool staged = false;  ///< gathered into pinned memory by the source, scattered by the destination
    [[nodiscard]] Leg leg() const { return {from, to, Engine::kernel, gpu(issuer)}; }
};

/// Bases of layers on the devices that read them: destinations first, then sources.
struct LayerTable {
    std::vector<std::uint64_t> bases{};  ///< host copy
    std::uint64_t layers = 0;
    std::uint64_t page_bytes = 0, dst_pitch = 0, src_pitch = 0;
    std::uint64_t dst_fits = 0, src_fits = 0;  ///< pages inside the smallest allocation
    unsigned unit = 1;
    Way way{};
    Allocation on_issuer{};
};

/// Allocations met in one list: each is asked for once.
class Known {
  public:
    /// Where `bytes` from `at` on lie; empty when they are not inside memory that devices can reach.
    std::optional<Place> place_of(Driver& driver, Address at, std::uint64_t bytes);
    /// True when `at` lies in an allocation not met before.
    bool fresh(Driver& driver, Address at);

  private:
    std::map<Address, Provenance> blocks_;
    Provenance last_{};
};

/// Largest page that one buffer of the pipeline through the host takes.
inline constexpr std::uint64_t most_staged_page = std::uint64_t{4} << 20;

/// Most CTAs of the way's kernels: the caller's limit, or what the way is worth.
unsigned most_ctas(const Way& way, const ListOptions& options);
/// CTAs for this many bytes, within that.
unsigned ctas_for(const Way& way, std::uint64_t bytes, const ListOptions& options);

class ListMover {
  public:
    ListMover(Driver& driver, const Ready& ready, Resources& resources);

    /// From now on: a graph's own while a capture is recorded.
    void use(Resources& resources) { resources_ = &resources; }
    void pages(const PageCopy& copy, StreamView stream, const ListOptions& options);
    void segments(const SegmentCopy& copy, StreamView stream, const ListOptions& options);
    void strided(const StridedCopy& copy, StreamView stream, const ListOptions& options);
    /// When what came before in the stream is done.
    void set_flag(const CopyOptions& options, StreamView stream);
    void set_flag(const ListOptions& options, StreamView stream) {
        set_flag(CopyOptions{options.then_set, options.value}, stream);
    }
    [[nodiscard]] Choice choose(Place from, Place to, std::uint64_t bytes, std::uint64_t page_bytes) const;
    LayerTable prepare(const LayeredPages& layers);
    void post(const LayerTable& table, PageIndices to, PageIndices from, std::uint64_t count, StreamView stream,
              const ListOptions& options);
    /// First i of the list that is out of range or repeats a destination; lists of a device are fetched for it, and
    /// the stream is waited for.
    std::optional<std::size_t> first_bad(const PageCopy& copy, StreamView stream);

  private:
    /// A list of numbers as it was given.
    struct Numbers {
        std::optional<Place> device{};  ///< lies on this device (or in managed memory)
        PageNumbers values{};           ///< of the host
        PageIndices given{};
        [[nodiscard]] bool on_host() const { return !device; }
    };
    /// Lists where a kernel can read them.
    struct Readable {
        Address to_index = Address::null, from_index = Address::null;
        unsigned index_bytes = 8;
        std::vector<Uploads::Slot*> slots{};
    };
    using Submit = std::function<void(StreamView)>;
    /// One side of a pipeline through the host: its lists, its work on chunk c between list and buffer, and after it.
    struct Side {
        Submit begin;
        std::function<void(std::uint64_t chunk, StreamView stream, Address buffer)> chunk;
        Submit end;
    };

    struct Found {
        Place place;
        std::uint64_t room = 0;  ///< bytes from the address to the end of its allocation
        Address at = Address::null;
        Provenance memory{};
    };
    [[nodiscard]] Found find(const void* at, const char* side) const;
    [[nodiscard]] Numbers read(PageIndices given, std::uint64_t count) const;
    /// Who moves a list. `stream`: device of the caller's stream, where one is known.
    [[nodiscard]] Way way_of(Place from, Place to, std::uint64_t bytes, std::optional<int> stream) const;
    /// True when kernels of the device may read this list where it lies; makes the mapping.
    [[nodiscard]] bool reads_in_place(int issuer, const Numbers& list);
    void map(int issuer, Address at);
    [[nodiscard]] Readable readable(const Numbers& to, const Numbers& from, std::uint64_t count, StreamView stream);
    void release(const Readable& lists, StreamView stream);
    /// Calls `submit` with a stream of the issuer that is ordered with the caller's.
    void on_issuer(const Way& way, StreamView stream, const Submit& submit);
    [[nodiscard]] Lane& lane_for(const Route& route, std::uint64_t unit);
    void through_host(Lane& lane, StreamView stream, std::uint64_t chunks, const Side& source, const Side& target);
    [[nodiscard]] Route staged_route(const Way& way, std::uint64_t bytes, std::uint64_t unit) const;
    static void check_numbers(const Numbers& numbers, std::uint64_t page_bytes, std::uint64_t pitch, std::uint64_t room,
                              const char* side);
    void map_ends(const Way& way, const Found& to, const Found& from);
    void map_segments(const Way& way, const std::vector<Segment>& segments);
    void page_list(const Way& way, const PagesArguments& common, const Numbers& to, const Numbers& from,
                   StreamView stream, const ListOptions& options);
    void segment_list(const Way& way, const std::vector<Segment>& segments, StreamView stream,
                      const ListOptions& options);
    void stage(const Way& way, const std::vector<Segment>& segments, StreamView stream, const ListOptions& options);
    Uploads::Slot& upload(const std::vector<Segment>& pieces, StreamView stream);
    void launch_pieces(const Uploads::Slot& slot, std::uint64_t all, std::uint64_t first, std::uint64_t count,
                       StreamView stream, unsigned ctas);

    Driver& driver_;
    const Ready& ready_;
    Resources* resources_;
    Uploads uploads_;
};

}  // namespace peerlane::move
