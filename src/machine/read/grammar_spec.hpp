#pragma once
/// What one line of the grammar says, before it becomes a machine.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/machine.hpp>

namespace peerlane::read {

struct PcieLink {
    int generation = 4;
    int width = 16;
    friend bool operator==(const PcieLink&, const PcieLink&) = default;
};

struct GrammarFabric {
    enum class Shape { none, pairs, ring, mesh, cube, center, list } shape = Shape::none;
    bool xgmi = false;
    int links = 1;  ///< of one connection; of one device for `center`
    struct Edge {
        int a = 0, b = 0, links = 1;
        friend bool operator==(const Edge&, const Edge&) = default;
    };
    std::vector<Edge> edges;  ///< of `list`
    std::optional<double> link_gbs;
    friend bool operator==(const GrammarFabric&, const GrammarFabric&) = default;
};

struct GrammarSpec {
    int gpus = 0;
    std::optional<std::string> model;
    int sockets = 1;
    int numas = 1;     ///< of the whole machine, as all numbers here
    int hosts = 1;     ///< host bridges
    int switches = 0;  ///< PCIe switches; 0: devices hang on host bridges
    PcieLink link, uplink;
    GrammarFabric fabric;
    std::optional<bool> peer_access;
    friend bool operator==(const GrammarSpec&, const GrammarSpec&) = default;
};

/// Throws InputError.
GrammarSpec parse_grammar(std::string_view text);
std::string print_grammar(const GrammarSpec& spec);
/// Edges of the fabric between devices; none for Shape::center.
std::vector<GrammarFabric::Edge> fabric_edges(const GrammarSpec& spec);

}  // namespace peerlane::read
