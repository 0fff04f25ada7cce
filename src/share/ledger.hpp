#pragma once
/// What a Share exported and imported. Every member is guarded by `mutex`.

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include <peerlane/driver/owned.hpp>
#include <peerlane/share.hpp>

namespace peerlane {

using Marker = std::array<unsigned char, marker_bytes>;

struct Share::Ledger {
    struct Export {
        Address at = Address::null;
        Address base = Address::null;  ///< of its allocation
        std::uint64_t bytes = 0;
        std::uint64_t allocation = 0;
        std::optional<int> device{};  ///< empty: host memory
        std::optional<Marker> hidden{};
        int open_elsewhere = 0;
    };
    struct Exporting {  ///< an allocation with exports
        std::uint64_t number = 0, bytes = 0;
        int exports = 0;
    };
    /// exporter, allocation, device
    using Key = std::tuple<std::uint64_t, std::uint64_t, int>;
    struct Mapping {
        Address base = Address::null;
        Address closed_by = Address::null;  ///< what the driver gave for the first import
        std::uint64_t bytes = 0;
        std::optional<HostSegment> host{};
        int uses = 0;
        int process = 0;  ///< exporter
    };
    struct Segment {
        HostSegment memory;
        bool registered = false;
    };

    Ledger(Driver& d, const ShareOptions& o);

    /// Moves a few bytes between the host and memory of, or mapped for, `device`. Throws Error 702 when that is not
    /// done in time.
    void read(int device, Address from, void* to, std::uint64_t bytes);
    void write(int device, Address to, const void* from, std::uint64_t bytes);
    void move(int device, Location to, Location from, std::uint64_t bytes);
    void restore(Export& exported);
    /// One use less; the last one unmaps.
    void release(const Key& key);
    void unmap(Mapping& mapping);
    [[nodiscard]] Export& known(std::uint64_t id);
    [[nodiscard]] Segment* segment_of(Address at);

    Driver& driver;
    ShareOptions options;
    mutable std::recursive_mutex mutex;
    bool over = false;  ///< the Share is gone
    std::uint64_t self = 0, last_allocation = 0, last_id = 0;
    std::map<Address, Segment> segments;
    std::map<Address, Exporting> exporting;
    std::map<std::uint64_t, Export> exports;
    std::map<Key, Mapping> imports;
    Allocation scratch;  ///< pinned, marker_bytes
};

struct Imported::State {
    std::shared_ptr<Share::Ledger> ledger;
    Share::Ledger::Key key;
    Address at = Address::null, base = Address::null;
    std::uint64_t bytes = 0, whole = 0, id = 0;
    std::optional<int> owner{};
};

}  // namespace peerlane
