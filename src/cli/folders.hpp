#pragma once
/// Where this user's files of ours lie (XDG base directories). The only place that asks the environment for it.

#include <string>

namespace peerlane::cli {

/// `$XDG_CACHE_HOME/peerlane`, `$HOME/.cache/peerlane`; empty when neither says. Nothing is made.
std::string cache_folder();
/// `$XDG_STATE_HOME/peerlane`, `$HOME/.local/state/peerlane`; empty when neither says.
std::string state_folder();

/// Where vLLM keeps its files ($VLLM_CACHE_ROOT, $XDG_CACHE_HOME/vllm, $HOME/.cache/vllm) and SGLang its own
/// ($HOME/.cache/sglang), as their sources say; empty when nothing says.
std::string vllm_cache_folder();
std::string sglang_cache_folder();

}  // namespace peerlane::cli
