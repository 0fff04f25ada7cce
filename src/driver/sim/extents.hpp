#pragma once
/// Contents of simulated memory: a sequence of stretches, each a pattern, literal bytes or one repeated byte. Copying
/// moves descriptions, so that every byte is checked at any size without holding it.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <peerlane/pattern.hpp>

namespace peerlane::sim {

/// A stretch of bytes, without its place.
struct Content {
    enum class Kind : std::uint8_t { pattern, literal, constant };
    Kind kind = Kind::constant;
    Pattern pattern{};                                         ///< kind pattern
    std::shared_ptr<const std::vector<std::uint8_t>> bytes{};  ///< kind literal
    std::uint64_t skip = 0;                                    ///< kind literal: of the first byte in `bytes`
    std::uint8_t value = 0;                                    ///< kind constant
    bool inverted = false;                                     ///< every bit flipped (a fault)
    std::int16_t via = -1;                                     ///< device that wrote it into host memory, -1 none

    /// The same content from `n` bytes later on.
    [[nodiscard]] Content after(std::uint64_t n) const;
    [[nodiscard]] std::uint8_t at(std::uint64_t i) const;
    void read(std::uint64_t from, void* out, std::uint64_t n) const;
    static Content of(Pattern pattern);
    static Content of(const void* data, std::uint64_t n);
    static Content repeat(std::uint8_t value);
};

struct Stretch {
    std::uint64_t offset = 0, bytes = 0;
    Content content;
};

class Extents {
  public:
    /// Undefined at first: `garbage`.
    Extents(std::uint64_t bytes, Pattern garbage);
    void write(std::uint64_t offset, std::uint64_t bytes, const Content& content);
    void write(std::uint64_t offset, const std::vector<Stretch>& stretches);  ///< offsets relative to `offset`
    /// Stretches that cover [offset, offset + bytes), offsets relative to `offset`.
    [[nodiscard]] std::vector<Stretch> read(std::uint64_t offset, std::uint64_t bytes) const;
    void read(std::uint64_t offset, void* out, std::uint64_t bytes) const;
    [[nodiscard]] CheckOutcome check(std::uint64_t offset, std::uint64_t bytes, Pattern expected, Pattern poison) const;
    [[nodiscard]] std::size_t count() const { return map_.size(); }

  private:
    struct Entry {
        std::uint64_t bytes;
        Content content;
    };
    void split(std::uint64_t at);
    void join_before(std::map<std::uint64_t, Entry>::iterator at);
    std::map<std::uint64_t, Entry> map_;
};

}  // namespace peerlane::sim
