#pragma once
/// How bytes go from one place to another, as a value that can say why. JSON form `peerlane.plan/1`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <peerlane/place.hpp>

namespace peerlane {

/// copy: a DMA engine of the issuing device. kernel: its multiprocessors.
enum class Engine : std::uint8_t { copy, kernel };

/// One transfer between two places by one engine of `issuer`. Of two devices, `from` issuing is a push, `to` issuing a
/// pull.
struct Leg {
    Place from;
    Place to;
    Engine engine = Engine::copy;
    Place issuer;
    friend bool operator==(const Leg&, const Leg&) = default;
};

/// Legs in sequence through bounded buffers at the places between them, chunk by chunk.
struct Route {
    double share = 1.0;       ///< part of the bytes, 0 < share <= 1
    std::vector<Leg> legs{};  ///< legs[i].to == legs[i + 1].from
    std::uint64_t chunk = 0;  ///< bytes a chunk; 0: the whole share at once (one leg only)
    int buffers = 0;          ///< chunks in flight at each place between two legs
    friend bool operator==(const Route&, const Route&) = default;
};

struct Rejected {
    std::vector<Route> routes{};
    std::optional<double> predicted_s{};  ///< empty when the alternative may not be used at all
    std::string reason{};
    friend bool operator==(const Rejected&, const Rejected&) = default;
};

/// Why, and because of what.
struct Reason {
    std::string text{};
    std::vector<Reason> because{};
    friend bool operator==(const Reason&, const Reason&) = default;
};

struct Choice {
    std::uint64_t bytes = 0;
    std::vector<Route> routes{};
    double predicted_s = 0;
    double predicted_gbs = 0;
    std::string access = "copy";
    std::optional<double> margin{};  ///< how much longer the next best takes, as a part of predicted_s
    std::vector<Reason> reasons{};
    std::vector<std::string> why{};  ///< the same, a line each, what is because of it indented by two blanks
    std::vector<Rejected> rejected{};
    friend bool operator==(const Choice&, const Choice&) = default;
};

struct PlanRequest {
    Place from;
    Place to;
    std::vector<std::uint64_t> sizes{};
    friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};

struct Plan {
    PlanRequest request;
    std::vector<Choice> choices{};  ///< one a size, in the order asked
    [[nodiscard]] std::string explain() const;
    friend bool operator==(const Plan&, const Plan&) = default;
};

const char* to_string(Engine engine);
/// "direct, pushed by gpu0", "staged through host:0, 4 MiB chunks", for people.
std::string describe(const Route& route);
std::string describe(const Leg& leg);
/// "67 % relayed through gpu1, 33 % ..."; one route as describe(route).
std::string describe(const std::vector<Route>& routes);
/// The same in few words, without issuers, chunks and buffers: "89 % direct + 11 % staged host:0".
std::string brief(const std::vector<Route>& routes);

}  // namespace peerlane
