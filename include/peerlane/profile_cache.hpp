#pragma once
/// A profile of an earlier run, kept while everything it depends on is as it was.

#include <optional>
#include <string>

#include <peerlane/profile.hpp>
#include <peerlane/verdict_cache.hpp>

namespace peerlane {

/// Short and the same for equal keys ("9f3c..., 32 hexadecimal digits"): what a profile carries as its `key`. What
/// changes rates changes the key of verdicts too, so both share its parts. Pure.
std::string profile_key(const CacheKey& key);

struct StoredProfile {
    CacheKey key;
    Profile profile;
    friend bool operator==(const StoredProfile&, const StoredProfile&) = default;
};

struct ProfileAnswer {
    std::optional<StoredProfile> stored{};
    std::string notice{};  ///< why a file that is there was not used; empty when it was, or when there is none
};
/// The stored profile when it is of this machine as it is now; else none, and the notice names what changed. Never
/// throws for what the file holds.
ProfileAnswer read_profile_cache(const std::string& path, const CacheKey& now);

/// Puts it in the place of what was there, whole or not at all; one writer at a time, the others wait up to two
/// seconds. Makes missing folders. Empty when done, else why not: a cache that cannot be written is no error.
std::string write_profile_cache(const std::string& path, const StoredProfile& profile);

}  // namespace peerlane
