#pragma once
/// The JSON form of one check's result, which verdicts, records and lines to the helper have in common.

#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <peerlane/verdicts.hpp>

#include "prove/json_field.hpp"

namespace peerlane {

inline constexpr auto all_results = {Result::ok,   Result::no,    Result::wrong,
                                     Result::hang, Result::error, Result::skipped};

nlohmann::ordered_json check_json(const CheckResult& check);
CheckResult read_check(const JsonField& node);

/// Directed pairs, each an object of accessor and owner.
nlohmann::ordered_json pairs_json(const std::vector<std::pair<int, int>>& pairs);
std::vector<std::pair<int, int>> read_pairs(const JsonField& node);
std::vector<std::uint64_t> read_sizes(const JsonField& node);

}  // namespace peerlane
