#pragma once
#include <string>

namespace peerlane::cli {

/// The picture that Graphviz draws of `dot`. Throws NothingRuns where it is not installed or fails.
std::string svg_of(const std::string& dot);

}  // namespace peerlane::cli
