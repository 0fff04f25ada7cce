#pragma once
/// What is said of pairs, one by one and all together.

#include <string>
#include <vector>

#include <peerlane/verdicts.hpp>

#include "cli/doctor.hpp"
#include "cli/page.hpp"

namespace peerlane::cli {

/// Something tried is neither right nor `no` by design.
bool is_bad(const PairVerdict& pair);

/// "healthy", "healthy, no peer access", "broken".
std::string status_word(const Examination& found);
/// "1 of 56 directed pairs delivers wrong bytes; 55 are right".
std::string verdict_in_words(const Examination& found);
/// Pairs of which every tried check is right.
std::size_t pairs_proven(const Verdicts& verdicts);
/// "wrong bytes (flip), first at offset 0, ...".
std::string check_in_words(const CheckResult& check);

/// "16 MiB + 36 B": sizes under proof are ragged on purpose.
std::string ragged_size_text(std::uint64_t bytes);

/// Three lines for each pair that is not right; pairs of which the same is to be said together.
void bad_pairs(Page& page, const Examination& found);

/// What to type next.
std::vector<std::string> next_commands(const Examination& found);

}  // namespace peerlane::cli
