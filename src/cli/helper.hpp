#pragma once
/// The helper that runs proofs in a process of its own.

#include <string>
#include <vector>

#include <peerlane/probe_host.hpp>

namespace peerlane::cli {

/// It lies beside this executable. Throws NothingRuns when it does not. The command built for tests
/// (PEERLANE_TEST_HOOKS) adds what PEERLANE_TEST_HELPER_OPTIONS says, words separated by `;`, to its arguments.
prove::ChildOptions helper_options();

/// False but in the command built for tests, where PEERLANE_TEST_HELPER_OPTIONS asks for it.
bool simulate_in_helper();

}  // namespace peerlane::cli
