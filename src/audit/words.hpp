#pragma once
#include <string>
#include <vector>

#include "audit/history.hpp"
#include "audit/schedule.hpp"

namespace peerlane::audit {

/// Calls and ranges as findings name them.
class Words {
  public:
    explicit Words(const trace::Symbols& symbols) : symbols_(symbols) {}
    /// Chains are numbered in the order in which they are named.
    void name_thread(Chain chain, Id thread);
    void name_stream(Chain chain, Id stream, int device);

    [[nodiscard]] std::string memory(Id id) const { return name(symbols_.memories, id); }
    [[nodiscard]] std::string flag(Id id) const { return name(symbols_.flags, id); }
    [[nodiscard]] std::string context(Id id) const;
    /// "stream s0 on device 0", "thread main".
    [[nodiscard]] std::string chain(Chain chain) const;
    /// "stream s0", "thread main".
    [[nodiscard]] std::string chain_short(Chain chain) const;
    [[nodiscard]] bool is_thread(Chain chain) const { return chains_[chain].thread; }
    /// "launch k (line 5, stream s0 on device 0)"; without the line where it is 0.
    [[nodiscard]] std::string call(const Doing& doing) const;
    [[nodiscard]] std::string call(const Access& access) const;
    /// "launch k", "copy of a to b".
    [[nodiscard]] std::string what(What what, Id name, Id other) const;
    /// "a[0, 4096)".
    [[nodiscard]] std::string range(Id memory, std::uint64_t begin, std::uint64_t end) const;
    /// "f >= 1", "f == 0".
    [[nodiscard]] std::string wanted(const Deed& wait) const;
    /// One hop of a wait-for chain as a sentence without its end.
    [[nodiscard]] std::string hop(const Hop& hop) const;
    [[nodiscard]] static std::string place(int device);

  private:
    struct Name {
        bool thread = false;
        Id id = no_id;
        int device = -1;
    };
    static std::string name(const trace::Names& names, Id id) {
        return id == no_id ? std::string("?") : names.text(id);
    }
    const trace::Symbols& symbols_;
    std::vector<Name> chains_{};
};

}  // namespace peerlane::audit
