#include "audit/words.hpp"

#include <fmt/format.h>

namespace peerlane::audit {

void Words::name_thread(Chain chain, Id thread) {
    if (chain >= chains_.size()) {
        chains_.resize(chain + 1);
        chains_[chain] = {true, thread, trace::host_device};
    }
}

void Words::name_stream(Chain chain, Id stream, int device) {
    if (chain >= chains_.size()) {
        chains_.resize(chain + 1);
        chains_[chain] = {false, stream, device};
    }
}

std::string Words::context(Id id) const {
    return id == no_id ? "the primary context" : "context " + symbols_.contexts.text(id);
}

std::string Words::chain_short(Chain chain) const {
    const Name& n = chains_[chain];
    return n.thread ? "thread " + name(symbols_.threads, n.id) : "stream " + name(symbols_.streams, n.id);
}

std::string Words::chain(Chain chain) const {
    const Name& n = chains_[chain];
    return n.thread ? chain_short(chain) : fmt::format("{} on device {}", chain_short(chain), n.device);
}

std::string Words::place(int device) {
    return device == trace::host_device ? "the host" : fmt::format("device {}", device);
}

std::string Words::what(What what, Id id, Id other) const {
    switch (what) {
        case What::launch:
            return "launch " + name(symbols_.words, id);
        case What::copy:
            return fmt::format("copy of {} to {}", memory(other), memory(id));
        case What::signal:
            return "signal of flag " + flag(id);
        case What::wait_flag:
            return "flag wait";
        case What::host:
            return "host access";
        case What::record:
            return "record of event " + name(symbols_.events, id);
        case What::wait:
            return "wait for event " + name(symbols_.events, id);
        case What::query:
            return "query";
        case What::sync:
            return "sync";
        case What::free:
            return "free of " + memory(id);
        case What::blocks:
            return "call " + name(symbols_.words, id);
    }
    return {};
}

std::string Words::call(const Doing& doing) const {
    const std::string who = what(doing.what, doing.name, doing.other);
    return doing.line == 0 ? fmt::format("{} ({})", who, chain(doing.chain))
                           : fmt::format("{} (line {}, {})", who, doing.line, chain(doing.chain));
}

std::string Words::call(const Access& access) const {
    return fmt::format("{} (line {}, {})", what(access.what, access.name, access.other), access.line,
                       chain(access.chain));
}

std::string Words::range(Id id, std::uint64_t begin, std::uint64_t end) const {
    return fmt::format("{}[{}, {})", memory(id), begin, end);
}

std::string Words::wanted(const Deed& wait) const {
    return fmt::format("{} {} {}", flag(wait.target), wait.equals ? "==" : ">=", wait.begin);
}

std::string Words::hop(const Hop& hop) const {
    // What a synchronization waits for stands at the end of the stream.
    const auto named = [this](const Doing& doing) {
        return doing.what == What::sync && !chains_[doing.chain].thread ? "the end of " + chain(doing.chain)
                                                                        : call(doing);
    };
    const std::string waiter = named(hop.waiter);
    const std::string awaited = named(hop.awaited);
    switch (hop.why) {
        case Hop::Why::flag:
            return hop.awaited.serial == 0
                       ? fmt::format("{} waits for flag {}, which nothing gives", waiter, wanted(hop.wait))
                       : fmt::format("{} waits for flag {}, which {} gives", waiter, wanted(hop.wait), awaited);
        case Hop::Why::own_step:
            return fmt::format("{} waits for flag {}, which only its own later step gives", waiter, wanted(hop.wait));
        case Hop::Why::stream:
            return fmt::format("{} is queued behind {} in {}", waiter, awaited, chain_short(hop.waiter.chain));
        case Hop::Why::legacy:
            return fmt::format("{} follows {} by the rule of the legacy stream", waiter, awaited);
        case Hop::Why::event:
            return fmt::format("{} waits for {}", waiter,
                               hop.awaited.what == What::record ? awaited : "what is before " + awaited);
        case Hop::Why::sync:
            return fmt::format("{} waits for {}", waiter, awaited);
        case Hop::Why::thread:
            return fmt::format("{} comes after {} in {}", waiter, awaited, chain_short(hop.awaited.chain));
    }
    return {};
}

}  // namespace peerlane::audit
