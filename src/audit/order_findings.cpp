/// Findings about order and waiting: what the schedule tells while calls happen.

#include <algorithm>

#include <fmt/format.h>

#include "audit/auditor_impl.hpp"

namespace peerlane {

using audit::Access;
using audit::Clock;
using audit::Deed;
using audit::Doing;
using audit::Sent;
using trace::Step;

void Auditor::Impl::held(const Doing&, std::span<const Deed> deeds) {
    for (const Deed& deed : deeds) {
        if (deed.kind == Step::Kind::read || deed.kind == Step::Kind::write) {
            ++uses_[deed.target].held;
        }
    }
}

void Auditor::Impl::finished(const Doing&, std::span<const Deed> deeds) {
    for (const Deed& deed : deeds) {
        if (deed.kind == Step::Kind::read || deed.kind == Step::Kind::write) {
            StorageUse& use = uses_[deed.target];
            if (--use.held == 0 && use.freed) {
                recycle(deed.target);
            }
        }
    }
}

void Auditor::Impl::accessed(const Doing& doing, const Deed& deed, audit::Tick tick, const Clock& clock) {
    StorageUse& use = uses_[deed.target];
    if (use.freed) {
        return;  // was queued when it was freed, which is found already
    }
    Access access;
    access.chain = doing.chain;
    access.tick = tick;
    access.line = doing.line;
    access.name = doing.name;
    access.other = doing.other;
    access.memory = deed.memory;
    access.what = doing.what;
    access.write = deed.kind == Step::Kind::write;
    access.device = doing.device;
    access.begin = deed.begin;
    access.end = deed.end;
    use.history.add(access, clock, [&](const Access& earlier) { find_race(earlier, access); });
    if (use.history.segments() > use.forget_at) {
        use.history.forget([this](const Access& a) { return schedule_.known_to_all(a.chain, a.tick); });
        use.forget_at = std::max<std::size_t>(4096, 2 * use.history.segments());
    }
}

void Auditor::Impl::find_race(const Access& a, const Access& b) {
    const Access& first = a.line <= b.line ? a : b;
    const Access& second = a.line <= b.line ? b : a;
    const std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {}", first.memory, second.memory, first.chain,
                                        second.chain, static_cast<int>(first.what), static_cast<int>(second.what),
                                        first.name, second.name, first.write, second.write);
    if (book_.again("race", key)) {
        return;
    }
    const auto does = [](const Access& access) { return access.write ? "writes" : "reads"; };
    const std::string from = words_.chain_short(first.chain);
    const std::string to = words_.chain_short(second.chain);
    std::string cure;
    if (words_.is_thread(first.chain)) {
        cure =
            fmt::format("let {} hand over to {} after line {} (a flag, or a synchronization) before line {}", from,
                        words_.is_thread(second.chain) ? to : "whoever issues work on " + to, first.line, second.line);
    } else if (words_.is_thread(second.chain)) {
        cure = fmt::format("synchronize {} (or an event recorded on it after line {}) before line {}", from, first.line,
                           second.line);
    } else {
        cure = fmt::format("record an event on {} after line {} and let {} wait for it before line {}", from,
                           first.line, to, second.line);
    }
    Keyed keyed{
        finding("race", second.line,
                fmt::format("{} {} {} and {} {} {}, with no order from {} to {}", words_.call(first), does(first),
                            words_.range(first.memory, first.begin, first.end), words_.call(second), does(second),
                            words_.range(second.memory, second.begin, second.end), from, to),
                std::move(cure)),
        key};
    keyed.finding.accessor = second.device;
    keyed.finding.owner = first.device;
    keyed.finding.memory = words_.memory(second.memory);
    keyed.finding.lines = {first.line};
    find(std::move(keyed));
}

void Auditor::Impl::find_busy_free(const Doing& free, audit::StorageId storage, const std::string& user,
                                   std::uint64_t user_line) {
    const std::string name = words_.memory(free.name);
    const bool by_host = words_.is_thread(free.chain);
    Keyed keyed{finding("free-while-queued", free.line,
                        fmt::format("{} while {}, which uses it, is not known to be done", words_.call(free), user),
                        by_host ? fmt::format("synchronize with line {} before the free", user_line)
                                : fmt::format("let {} wait for an event recorded after line {} before the free",
                                              words_.chain_short(free.chain), user_line)),
                fmt::format("{} {}", free.name, free.line)};
    keyed.finding.owner = ledger_.storage(storage).device;
    keyed.finding.memory = name;
    keyed.finding.lines = {user_line};
    find(std::move(keyed));
}

void Auditor::Impl::freed(const Doing& doing, audit::StorageId storage, const Clock& clock) {
    StorageUse& use = uses_[storage];
    const Access* busy = nullptr;
    use.history.each([&](const Access& access) {
        if (!access.before(clock) && (busy == nullptr || access.line < busy->line)) {
            busy = &access;
        }
    });
    if (busy != nullptr) {
        find_busy_free(doing, storage, words_.call(*busy), busy->line);
    } else if (use.held > 0) {
        std::uint64_t first = 0;
        std::string user;
        schedule_.each_held([&](const Doing& held, std::span<const Deed> deeds) {
            const bool uses = std::any_of(deeds.begin(), deeds.end(), [&](const Deed& deed) {
                return (deed.kind == Step::Kind::read || deed.kind == Step::Kind::write) && deed.target == storage;
            });
            if (uses && (first == 0 || held.line < first)) {
                first = held.line;
                user = words_.call(held);
            }
        });
        if (first != 0) {
            find_busy_free(doing, storage, user, first);
        }
    }
    use.freed = true;
    if (use.held == 0) {
        recycle(storage);
    }
}

void Auditor::Impl::met(const Doing& doing, const Deed& wait, const std::vector<const Sent*>& seen) {
    for (const Sent* sent : seen) {
        if (sent->doing.device == doing.device ||
            (wait.scope == trace::Scope::system && sent->scope == trace::Scope::system)) {
            continue;
        }
        const bool waiter_narrow = wait.scope != trace::Scope::system;
        const bool sender_narrow = sent->scope != trace::Scope::system;
        const std::string which =
            waiter_narrow && sender_narrow
                ? fmt::format("{} scope and {} scope", to_string(wait.scope), to_string(sent->scope))
                : fmt::format("{} scope", to_string(waiter_narrow ? wait.scope : sent->scope));
        Keyed keyed{
            finding("flag-scope", waiter_narrow ? doing.line : sent->doing.line,
                    fmt::format(
                        "{} on {} waits for flag {} at {} scope, and {} on {} signals it at {} scope: {} ends at one "
                        "device",
                        words_.call(doing), words_.place(doing.device), words_.wanted(wait), to_string(wait.scope),
                        words_.call(sent->doing), words_.place(sent->doing.device), to_string(sent->scope), which),
                    "use system scope at both ends"),
            fmt::format("{} {} {} {} {}", wait.target, doing.chain, doing.name, sent->chain, sent->doing.name)};
        keyed.finding.accessor = doing.device;
        keyed.finding.owner = sent->doing.device;
        keyed.finding.memory = words_.flag(wait.target);
        keyed.finding.lines = {waiter_narrow ? sent->doing.line : doing.line};
        find(std::move(keyed));
    }
}

void Auditor::Impl::may_miss(const Doing& doing, const Deed& wait, const Sent& hiding) {
    Keyed keyed{
        finding("wait-never-signalled", doing.line,
                fmt::format("{} waits for flag {}, but {} may replace that value by {} before the wait looks, and "
                            "nothing is sure to give it again",
                            words_.call(doing), words_.wanted(wait), words_.call(hiding.doing), hiding.value),
                "order the replacing signal after the wait, or use values that only grow with at_least"),
        fmt::format("{} {} {} miss", wait.target, doing.chain, doing.name)};
    keyed.finding.accessor = doing.device;
    keyed.finding.memory = words_.flag(wait.target);
    keyed.finding.lines = {hiding.doing.line};
    find(std::move(keyed));
}

void Auditor::Impl::never_fits(const Doing& doing, const Deed& wait) {
    Keyed keyed{
        finding(
            "grid-never-fits", doing.line,
            fmt::format("{} waits for flag {}, which only its own CTAs give: it has {} CTAs and {} of them can be "
                        "resident at once",
                        words_.call(doing), words_.wanted(wait), doing.ctas, doing.resident),
            fmt::format("launch at most {} CTAs, each doing more, or split the launch at the wait", doing.resident)),
        fmt::format("{} {} {}", wait.target, doing.chain, doing.name)};
    keyed.finding.accessor = doing.device;
    keyed.finding.memory = words_.flag(wait.target);
    find(std::move(keyed));
}

void Auditor::Impl::behind_spin(const Doing& call, const Doing& doing, const Deed& wait, const Sent& sent) {
    Keyed keyed{
        finding("host-behind-spin", call.line,
                fmt::format("{} blocks on device {} while {} waits there for flag {}, which only {}, issued after "
                            "this call, gives",
                            words_.call(call), doing.device, words_.call(doing), words_.wanted(wait),
                            words_.call(sent.doing)),
                "make streams, events, memory and modules before the launch that waits, or give the flag first"),
        fmt::format("{} {} {}", call.name, doing.device, wait.target)};
    keyed.finding.accessor = doing.device;
    keyed.finding.memory = words_.flag(wait.target);
    keyed.finding.lines = {doing.line, sent.doing.line};
    find(std::move(keyed));
}

void Auditor::Impl::find_deadlocks() {
    for (const audit::Deadlock& dead : schedule_.deadlocks()) {
        const std::string waiter = words_.call(dead.waiter);
        const std::string wanted = words_.wanted(dead.wait);
        Keyed keyed;
        if (dead.cycle) {
            std::string text = "each of these can only go on after the next:";
            for (const audit::Hop& hop : dead.hops) {
                keyed.finding.chain.push_back(words_.hop(hop));
                text += (keyed.finding.chain.size() == 1 ? " " : "; ") + keyed.finding.chain.back();
                if (hop.waiter.line != dead.waiter.line) {
                    keyed.finding.lines.push_back(hop.waiter.line);
                }
            }
            AuditFinding f = finding(
                "wait-cycle", dead.waiter.line, std::move(text),
                "signal before waiting on every side, or issue what signals ahead of what waits, in the same order "
                "everywhere");
            f.chain = std::move(keyed.finding.chain);
            f.lines = std::move(keyed.finding.lines);
            keyed.finding = std::move(f);
        } else {
            std::string why = "nothing in the trace stores to it";
            if (dead.given_line != 0 && dead.replaced_line != 0) {
                why = fmt::format("the value given at line {} is replaced at line {} before the wait can look",
                                  dead.given_line, dead.replaced_line);
                keyed.finding.lines = {dead.given_line, dead.replaced_line};
            } else if (dead.any_store) {
                why = fmt::format("nothing in the trace gives that value: the highest is {}", dead.highest);
            }
            AuditFinding f = finding("wait-never-signalled", dead.waiter.line,
                                     fmt::format("{} waits for flag {}, but {}", waiter, wanted, why),
                                     "signal the flag, wait for a value that is given, and give every wait a bound");
            f.lines = std::move(keyed.finding.lines);
            keyed.finding = std::move(f);
        }
        keyed.finding.accessor = dead.waiter.device;
        keyed.finding.memory = words_.flag(dead.wait.target);
        keyed.key = fmt::format("{} {} {}", dead.wait.target, dead.waiter.line, dead.waiter.chain);
        find(std::move(keyed));
    }
}

}  // namespace peerlane
