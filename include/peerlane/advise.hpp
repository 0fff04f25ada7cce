#pragma once
/// Which devices a piece of software should be given, and the settings of its own that make it use what works and avoid
/// what failed. What each setting means was read in that software's documentation or source: docs/advise.md names
/// where.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peerlane/machine.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

enum class Software { nccl, vllm, sglang, torch };
const char* to_string(Software software);
std::optional<Software> parse_software(std::string_view word);

/// How two devices stand to each other, both ways, in the order in which software should be given them. no_peer: by
/// design, data goes through the host. part: right, but less than claimed, or slower than through the host. wrong: a
/// check of a claimed pair failed. cut_off: not even the host's path is right.
enum class Standing { right, no_peer, part, wrong, cut_off };

struct Neighbours {
    int a = 0, b = 0;  ///< a < b
    Standing standing = Standing::right;
    PathClass path = PathClass::unknown;
    double gbs = 0;         ///< of the route to use, the slower direction; 0 where not known
    std::string trouble{};  ///< "0:1 store wrong (flip)"; empty when right or without peer access
};

struct AdvisedSetting {
    enum class Kind { variable, flag };
    Kind kind = Kind::variable;
    std::string name, value{};  ///< a flag may have no value
    std::string reason;
    std::string limit{};  ///< what it gives up, or does not reach; may be empty
    friend bool operator==(const AdvisedSetting&, const AdvisedSetting&) = default;
};

struct Advice {
    Software software = Software::nccl;
    std::vector<int> devices{};       ///< in the order to name them in
    std::vector<int> left_out{};      ///< ascending
    std::vector<Neighbours> pairs{};  ///< of the chosen, sorted by a, b
    std::vector<AdvisedSetting> settings{};
    std::vector<std::string> refuses{};  ///< what the software itself will not do on these devices
    std::vector<std::string> notes{};    ///< what no setting changes
    std::optional<int> clean_devices{};  ///< most devices without trouble among them, where fewer than chosen
    /// Name and content of the file in which the software keeps which device reaches which; the folder is its own.
    std::optional<std::pair<std::string, std::string>> access_cache{};

    /// Nothing failed among the chosen, so that nothing had to be avoided.
    [[nodiscard]] bool clean() const;
};

/// Advice for `devices` of the machine (all when empty count: 0). Verdicts are of this machine, in its numbers. Throws
/// std::invalid_argument when there are fewer than `count` devices.
Advice advise(const Machine& machine, const Verdicts& verdicts, Software software, int count);

/// How every two devices stand, in the machine's order of devices.
std::vector<Neighbours> neighbours_of(const Machine& machine, const Verdicts& verdicts);

/// The document `peerlane.advice/1`.
std::string write_advice(const Advice& advice, bool simulated);

}  // namespace peerlane
