#pragma once
/// Where this user's files of ours lie (XDG base directories). The only place that asks the environment for it.

#include <string>

namespace peerlane::cli {

/// `$XDG_CACHE_HOME/peerlane`, `$HOME/.cache/peerlane`; empty when neither says. Nothing is made.
std::string cache_folder();
/// `$XDG_STATE_HOME/peerlane`, `$HOME/.local/state/peerlane`; empty when neither says.
std::string state_folder();

}  // namespace peerlane::cli
