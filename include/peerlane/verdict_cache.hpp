#pragma once
/// Verdicts of an earlier run, kept while everything they depend on is as it was.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peerlane/host_facts.hpp>
#include <peerlane/machine.hpp>
#include <peerlane/nvml_facts.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

/// What verdicts depend on, as named values that compare. Equal keys: the verdicts still hold.
struct CacheKey {
    std::vector<std::pair<std::string, std::string>> parts;  ///< name, value; names are unique
    friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

/// Of a machine that is there (names as diagnose knows them): UUIDs, driver, firmware, kernel and its command line,
/// boot, link states and widths, and which devices this process sees (`visible`, free text). Pure.
CacheKey cache_key(const Machine& machine, const HostFacts& host, const NvmlFacts& nvml, const std::string& visible);
/// Of a simulated one: its description and what is wrong with it.
CacheKey cache_key(const Machine& machine, const std::string& faults);

struct StoredVerdicts {
    CacheKey key;
    Verdicts verdicts;
    friend bool operator==(const StoredVerdicts&, const StoredVerdicts&) = default;
};

struct CacheAnswer {
    std::optional<StoredVerdicts> stored{};
    std::string notice{};  ///< why a file that is there was not used; empty when it was, or when there is none
};
/// Never throws for what the file holds.
CacheAnswer read_verdict_cache(const std::string& path);

/// Puts them in the place of what was there, whole or not at all; one writer at a time, the others wait up to two
/// seconds. Makes missing folders. Empty when done, else why not: a cache that cannot be written is no error.
std::string write_verdict_cache(const std::string& path, const StoredVerdicts& verdicts);

}  // namespace peerlane
