#pragma once
/// How tables of the pair are put together. They are judged by what the project promises of that machine.

#include "table.hpp"

namespace peerlane::validation {

Table pair_table(const std::string& title);
void add(Table& into, const std::string& name, double theirs, std::function<double(Driver&)> play, bool fitted = false);

/// Several copies at once: four of unequal size as bench/concurrent.cpp runs them, and those of nvbandwidth.
std::vector<Table> concurrent_tables();

}  // namespace peerlane::validation
