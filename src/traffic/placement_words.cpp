// Why a set of devices is fast or slow.

#include <map>

#include <fmt/format.h>
#include <peerlane/simulation.hpp>

#include "traffic/text.hpp"

namespace peerlane::traffic {
namespace {

/// -1 unknown.
int socket_of(const Device& device, const Graph& graph) {
    auto const node = device.numa ? graph.numa_node(*device.numa) : -1;
    return node < 0 ? -1 : graph.nodes[static_cast<std::size_t>(node)].socket;
}

std::string pairs(int count, int all) {
    return count == all ? (all == 1 ? std::string("The pair") : fmt::format("Each of the {} pairs", all))
                        : fmt::format("{} of {} pairs", count, all);
}

}  // namespace

std::string what_joins(const std::vector<int>& devices, const Machine& machine) {
    int all = 0, fabric = 0, refused = 0, crossing = 0;
    std::map<int, int> on_socket;
    for (auto const a : devices) {
        auto const* const device = machine.device(a);
        auto const socket = device == nullptr ? -1 : socket_of(*device, machine.graph);
        ++on_socket[socket];
        for (auto const b : devices) {
            auto const* const other = machine.device(b);
            auto const* const pair = machine.pair(a, b);
            if (a >= b || pair == nullptr || other == nullptr) {
                continue;
            }
            ++all;
            fabric += pair->path == PathClass::nv || pair->path == PathClass::xgmi ? 1 : 0;
            refused += pair->claim == false ? 1 : 0;
            crossing += socket != socket_of(*other, machine.graph) ? 1 : 0;
        }
    }
    std::string text;
    if (fabric != 0) {
        text +=
            fmt::format(" {} {} joined by a fabric.", pairs(fabric, all), fabric == 1 || fabric == all ? "is" : "are");
    }
    if (refused != 0) {
        text += fmt::format(" {} {} no peer access and {} through host memory.", pairs(refused, all),
                            refused == 1 || refused == all ? "has" : "have",
                            refused == 1 || refused == all ? "goes" : "go");
    }
    if (on_socket.count(-1) == 0 && fabric != all) {
        text += on_socket.size() == 1 ? fmt::format(" All of them hang on socket {}: nothing crosses to another.",
                                                    on_socket.begin()->first)
                                      : fmt::format(" {} {} from one socket to another.", pairs(crossing, all),
                                                    crossing == 1 || crossing == all ? "crosses" : "cross");
    }
    return text;
}

}  // namespace peerlane::traffic
