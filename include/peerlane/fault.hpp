#pragma once
/// What is wrong with a simulated machine, in one notation for tests, `--fault` and docs:
///
///     WHAT:A:B[@SIZE]=EFFECT      A, B: a device or `any`; SIZE: 512KiB+ (at least) or 4KiB- (at most)
///
///     claim:0:1=no            map:0:1=error205         map:any:any=limit8                        accessor:owner
///     push:0:1=no|zero|stale|flip|mirror|offset|hang|freeze|error700|x0.3                        accessor:owner
///                             (pull, store, load, atomic, flag alike)
///     rate:0:1=9.9GB/s        rate:0:1=x0.3            latency:0:1=49ms        host:0:1=flip     source:destination
///     link:0:1=down@2ms       together:3+=0.04GB/s     wedge:0                 fact:NAME=VALUE

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peerlane {

struct Fault {
    enum class What : std::uint8_t {
        claim,
        map,
        push,
        pull,
        store,
        load,
        atomic,
        flag,
        rate,
        latency,
        host,
        link,
        together,
        wedge,
        fact
    };
    enum class Effect : std::uint8_t {
        none,   ///< wedge, fact
        no,     ///< denied; of a copy or access: never done, nothing arrives and nothing is said
        error,  ///< `number` is the code
        limit,  ///< `number` slots
        zero,
        stale,
        flip,
        mirror,
        offset,
        hang,
        freeze,
        scale,  ///< `number` times the rate
        rate,   ///< `number` GB/s
        delay,  ///< `number` seconds more
        down,   ///< from `number` seconds on
    };
    static constexpr int any = -1;

    What what = What::claim;
    int a = any;  ///< accessor or source; the device of wedge; the count of together
    int b = any;  ///< owner or destination
    std::optional<std::uint64_t> at_least{}, at_most{};  ///< bytes of one operation
    Effect effect = Effect::none;
    double number = 0;
    std::string name{}, value{};  ///< fact only

    [[nodiscard]] bool concerns(int first, int second) const {
        return (a == any || a == first) && (b == any || b == second);
    }
    [[nodiscard]] bool concerns_size(std::uint64_t bytes) const {
        return (!at_least || bytes >= *at_least) && (!at_most || bytes <= *at_most);
    }
    friend bool operator==(const Fault&, const Fault&) = default;
};

/// Throws std::invalid_argument that names the word at fault and what could stand there.
Fault parse_fault(std::string_view text);
/// The canonical spelling; parse_fault(to_string(f)) == f.
std::string to_string(const Fault& fault);
const char* to_string(Fault::What what);

}  // namespace peerlane
