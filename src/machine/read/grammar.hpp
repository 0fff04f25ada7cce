#pragma once
/// A small machine in one line: "sim:gpu=8,socket=2,switch=4,link=gen4x16,nvlink=switch:12@25GB/s".
/// docs/machine-grammar.md has the whole of it.

#include <string>
#include <string_view>

#include <peerlane/machine.hpp>

namespace peerlane::read {

/// The text is meant as one: it begins with "sim:".
bool is_grammar(std::string_view text);

/// The machine, with a graph. origin.kind is "grammar", origin.name the canonical form. Throws InputError (file: the
/// text) with the key that is wrong and what it may be.
Machine read_grammar(std::string_view text);

/// The shortest text that gives the same machine: keys in their written order, defaults left out.
std::string canonical_grammar(std::string_view text);

}  // namespace peerlane::read
