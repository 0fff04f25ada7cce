#pragma once
/// Names of a trace, interned.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace peerlane::trace {

/// Index of a name in its table.
using Id = std::uint32_t;
inline constexpr Id no_id = ~Id{0};
/// As `Step::bytes`: up to the end of the allocation.
inline constexpr std::uint64_t to_end = ~std::uint64_t{0};
/// As `device` of memory: the host.
inline constexpr int host_device = -1;

/// Names of one kind, in order of first use. References stay valid while names are added.
class Names {
  public:
    Id intern(std::string_view name);
    /// no_id when it was never interned.
    [[nodiscard]] Id find(std::string_view name) const;
    /// Precondition: id came from `intern`.
    [[nodiscard]] const std::string& text(Id id) const { return *texts_[id]; }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
    };
    std::unordered_map<std::string, Id, Hash, std::equal_to<>> ids_{};
    std::vector<const std::string*> texts_{};
};

/// Thread 0 is `main`. `words` holds names of launches and of what a blocking call does.
struct Symbols {
    Names threads, streams, memories, pools, events, flags, contexts, words;
    Symbols() { threads.intern("main"); }
    Symbols(const Symbols&) = delete;
    Symbols& operator=(const Symbols&) = delete;
};

}  // namespace peerlane::trace
