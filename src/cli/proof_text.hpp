#pragma once
/// Verdicts in words.

#include <string>

#include <peerlane/verdicts.hpp>

namespace peerlane::cli {

/// "ok 338.0 GB/s", "wrong: flip from offset 12, 4 of 16777252 bytes", "no: ..." .
std::string check_text(const CheckResult& check);

/// What was proven, an access a line ("0 writes 1"), then the control arm.
std::string proof_text(const Verdicts& verdicts);

/// Wrong bytes, a hang or an error in any check of a pair.
bool any_check_failed(const Verdicts& verdicts);

}  // namespace peerlane::cli
