#pragma once
/// Memory of one process in another: exported here, imported there, with what both must agree on checked. How handles
/// travel is the caller's choice (peering.hpp is one); docs/processes.md.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/driver.hpp>
#include <peerlane/host_segment.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// A device as every process of the machine can name it. Ordinals differ from process to process.
struct DeviceName {
    std::string uuid, bus;  ///< empty where not known
    friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
DeviceName device_name(const Machine& machine, int device);
/// The ordinal in `machine` of a device that another process names: by UUID where both know one, else by bus address.
/// Empty: this process does not see it.
std::optional<int> find_device(const Machine& machine, const DeviceName& name);
/// The list of another process, joined: for each of its devices the ordinal here.
std::vector<std::optional<int>> join_devices(const Machine& machine, const std::vector<DeviceName>& theirs);

/// What travels: an exported range. The descriptor of its handle travels beside the bytes. Move-only because of it.
struct SharedRange {
    SharedHandle handle{};
    std::uint64_t bytes = 0;       ///< shared, from the exported address on
    std::uint64_t exporter = 0;    ///< drawn by the exporting Share
    std::uint64_t allocation = 0;  ///< running number there, never used again
    std::uint64_t id = 0;          ///< of this export, running number there
    std::uint64_t marker_key = 0;  ///< pattern at the exported address; 0: none
    bool host = false;             ///< host memory; else of `owner`
    DeviceName owner{};
};
/// Everything but the descriptor, at most `most_range_bytes`; the same on every machine.
inline constexpr std::size_t most_range_bytes = 1024;
std::string write_range(const SharedRange& range);
/// Takes the descriptor over. Throws InputError for what write_range did not write, and where a descriptor is needed
/// and missing.
SharedRange read_range(std::string_view bytes, Descriptor descriptor = {});

/// Bytes at the begin of an exported range that hold the marker while there is one.
inline constexpr std::uint64_t marker_bytes = 64;

/// Imported memory; the mapping goes with the last import of it. Move-only; the destructor never throws, but waits for
/// work that uses the memory. Must not outlive its Share.
class Imported {
  public:
    Imported() = default;
    Imported(Imported&&) noexcept = default;
    Imported& operator=(Imported&& other) noexcept;
    ~Imported();
    [[nodiscard]] void* data() const;                 ///< of the exported address
    [[nodiscard]] std::uint64_t bytes() const;        ///< from there on
    [[nodiscard]] void* base() const;                 ///< of the whole allocation, in this process
    [[nodiscard]] std::uint64_t whole_bytes() const;  ///< of it
    [[nodiscard]] std::uint64_t id() const;           ///< the exporter's
    [[nodiscard]] std::optional<int> owner() const;   ///< device here; empty: host memory, or not visible here
    [[nodiscard]] bool open() const { return state_ != nullptr; }
    /// Gives it back; throws what the driver throws. What the destructor does, but told.
    void close();

  private:
    friend class Share;
    struct State;
    std::shared_ptr<State> state_{};
};

struct ShareOptions {
    double seconds = 10;  ///< bound of each wait for a device
};

/// One for each driver. Safe to use from several threads. The driver must outlive it.
class Share {
  public:
    explicit Share(Driver& driver, const ShareOptions& options = {});
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

    /// Host memory that can be exported, registered with the devices; goes with free_host or with this object. Other
    /// host memory cannot be exported.
    [[nodiscard]] void* allocate_host(std::uint64_t bytes);
    /// std::invalid_argument for memory that allocate_host did not give or that is exported (withdraw it first).
    void free_host(void* data);

    /// Exports `bytes` from `at` on: plain memory, virtual memory that was allocated exportable, memory of a pool that
    /// create_pool made, host memory of allocate_host. With `marker` (ranges of at least 64 bytes) the first bytes are
    /// kept aside and hold a marker until `restore`: leave them alone so long. Throws std::invalid_argument for a range
    /// outside its allocation, and Error with the driver's code and the cure where it refuses.
    [[nodiscard]] SharedRange export_range(const void* at, std::uint64_t bytes, bool marker = true);
    /// Puts back what the marker of an export hid. Nothing to do is no error.
    void restore(std::uint64_t id);
    /// What other processes did with an export, as they say; they count.
    void opened_elsewhere(std::uint64_t id);
    void closed_elsewhere(std::uint64_t id);
    [[nodiscard]] int open_elsewhere(std::uint64_t id) const;
    /// Ends an export, with `restore`. False, and the export stays, while it is open elsewhere: memory that is freed
    /// under an import faults there. std::invalid_argument for an id that is none. `even_if_open`: the importers are
    /// gone.
    bool withdraw(std::uint64_t id, bool even_if_open = false);
    /// Why the memory around this address must not be freed yet (stale-mapping); empty when it may.
    [[nodiscard]] std::optional<Finding> check_free(const void* at) const;

    /// Maps a range for kernels and copies of `device`, which must be one of this process; reads the marker there.
    /// Importing the same allocation again gives the same mapping. Throws Error with the driver's code where it
    /// refuses, and with code 1 where the bytes at the offset are not the marker (an allocation that is another one by
    /// now, an offset that got lost).
    [[nodiscard]] Imported import_range(const SharedRange& range, int device);
    /// Open imports (leaked-mapping if the process ended now) and exports that are open elsewhere (stale-mapping if
    /// their memory were freed now).
    [[nodiscard]] std::vector<Finding> findings() const;
    [[nodiscard]] Driver& driver() const;

  private:
    friend class Imported;
    struct Ledger;
    std::shared_ptr<Ledger> ledger_;
};

/// Order between streams of two processes. Recorded here, waited for there once the other process knows that it was
/// recorded (a message): a wait takes the latest record. By an event that both processes share where the driver has
/// such; else the fallback: `record` waits for the stream, and nothing is left to wait for.
class SharedEvent {
  public:
    /// Of the recording process. Throws as create_event does.
    SharedEvent(Driver& driver, int device);
    /// Of the waiting process, from what `token` gave. Throws Error where the driver refuses it.
    SharedEvent(Driver& driver, int device, std::string_view token);
    SharedEvent(SharedEvent&& other) noexcept;
    SharedEvent& operator=(SharedEvent&& other) noexcept;
    ~SharedEvent();
    /// What the other process needs; empty where the fallback is used.
    [[nodiscard]] const std::string& token() const { return token_; }
    void record(StreamView stream);
    void wait(StreamView stream);

  private:
    Driver* driver_ = nullptr;
    std::optional<EventView> event_{};
    std::string token_{};
};

}  // namespace peerlane
