#pragma once
/// Choices prepared for all sizes between two places, found by a lookup.

#include <array>
#include <cstdint>
#include <vector>

#include "plan/decide.hpp"

namespace peerlane::plan {

class Table {
  public:
    Table(const Scorer& scorer, const std::vector<Lane>& lanes);
    /// No allocation: the octave by the highest bit, then at most a few rows of that octave.
    [[nodiscard]] const Choice& at(std::uint64_t bytes) const {
        auto row = first_[static_cast<std::size_t>(64 - leading_zeros(bytes))];
        while (row + 1 < rows_.size() && rows_[row + 1].bytes <= bytes) {
            ++row;
        }
        return rows_[row];
    }
    /// Ascending by `bytes`, at which each begins to hold.
    [[nodiscard]] const std::vector<Choice>& rows() const { return rows_; }

  private:
    static int leading_zeros(std::uint64_t bytes);
    struct Builder;
    std::vector<Choice> rows_;
    std::array<std::size_t, 65> first_{};  ///< [bit width]: last row that begins at or below its lowest size
};

}  // namespace peerlane::plan
