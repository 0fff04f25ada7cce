#pragma once
/// One process of a pair that shares memory: its own buffers of each kind, those of the other, and what is done with
/// them. Also both ends in one process, for comparison.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/peering.hpp>
#include <peerlane/units.hpp>

namespace peerlane::bench {

inline constexpr std::array<const char*, 3> memory_kinds{"plain", "pool", "virtual"};
inline constexpr std::uint64_t page_bytes = 16_KiB, page_count = 16384;
inline constexpr std::uint64_t shared_at = 1_MiB + 512;  ///< of what is shared, in its allocation
inline constexpr double step_s = 60;                     ///< bound of each wait

struct Sizes {
    std::uint64_t bytes = 1_GiB;
    std::uint64_t pages = page_count;  ///< of page_bytes, at most `bytes` of them
    int rounds = 15;
};

/// A machine whose driver's claims are trusted.
Ready trusted(const Driver& driver);

/// Seconds of single runs, sorted.
using Runs = std::vector<double>;

/// A buffer that the other process may have. Freed with its pool.
class Buffer {
  public:
    Buffer(Driver& driver, int device, const std::string& kind, std::uint64_t bytes);
    Buffer(Buffer&& other) noexcept;
    ~Buffer();
    [[nodiscard]] void* at() const { return pointer_to(memory_.address() + shared_at); }

  private:
    Driver& driver_;
    std::optional<PoolId> pool_{};
    Allocation memory_{};
};

/// What one device does with memory that it reaches.
class Worker {
  public:
    Worker(Driver& driver, int device, const Sizes& sizes);
    void fill(void* at, std::uint64_t key);
    /// Wrong bytes.
    [[nodiscard]] std::uint64_t check(const void* at, std::uint64_t key);
    /// The same after move_pages.
    [[nodiscard]] std::uint64_t check_pages(const void* at, std::uint64_t key);
    [[nodiscard]] Runs move(Mover& mover, void* to, const void* from, bool pages);
    /// The same bytes by one call of the driver ("automatic", "peer") or by a kernel of so many CTAs ("32").
    [[nodiscard]] Runs raw(int device, void* to, const void* from, const std::string& way);
    [[nodiscard]] StreamView stream() const { return stream_.view(); }
    [[nodiscard]] const Sizes& sizes() const { return sizes_; }

  private:
    [[nodiscard]] std::uint64_t bad_in(std::size_t outcomes) const;
    Driver& driver_;
    Sizes sizes_;
    Stream stream_;
    Allocation outcomes_;  ///< pinned
    std::vector<std::int32_t> to_, from_;
};

/// A process of the pair: serves what the other asks for, or asks.
class Side {
  public:
    Side(Driver& driver, int device, const Sizes& sizes, PeerChannel channel);
    /// Does as told until told to end.
    void serve();
    /// The other does `what` ("fill plain 7") and answers.
    std::string ask(const std::string& what);
    /// This one does.
    std::string act(const std::string& what);
    /// Copies this way again and again until the other is gone; then the error's words. `moving` is called once before.
    std::string move_until_gone(const std::function<void()>& moving);
    /// Ends both.
    void finish();

  private:
    void take_all();
    void end();
    Driver& driver_;
    int device_;
    Share share_;
    Mover mover_;
    Worker worker_;
    std::map<std::string, Buffer> own_{};
    std::map<std::string, Imported> theirs_{};
    std::map<std::string, std::uint64_t> offered_{};
    std::optional<SharedEvent> event_{};
    Peering peering_;
};

/// Bytes from all runs as text and back.
std::string runs_text(const Runs& runs);
Runs read_runs(const std::string& text);

/// The whole exchange from the asking side: `rate(name, bytes, runs)` for each case, `wrong(words)` for each failure.
/// Case names tell data direction and issuer: "plain 0>1 by 0".
using OnRate = std::function<void(const std::string& name, std::uint64_t bytes, const Runs& runs)>;
using OnWrong = std::function<void(const std::string& words)>;
void exchange_all(Side& side, const Sizes& sizes, const OnRate& rate, const OnWrong& wrong);
/// What single ways of copying reach between processes: the bound of what the mover can, where the driver gives an
/// import less than memory of its own process.
struct RawWays {
    std::string kind, direction;
    double best_gbs = 0;
    std::string words{};  ///< each way and its rate
};
std::vector<RawWays> raw_ways(Side& side, const Sizes& sizes);
/// The same cases in one process that has both devices.
void single_process(Driver& driver, const Sizes& sizes, const OnRate& rate, const OnWrong& wrong);

}  // namespace peerlane::bench
