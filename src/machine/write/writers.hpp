#pragma once
/// Machine in, text out. Each text ends with a line end. The same machine gives the same bytes.

#include <string>
#include <vector>

#include <peerlane/machine.hpp>

namespace peerlane::write {

/// The document `peerlane.machine/1`, one line for each device, pair, node and link. Reading it back gives an equal
/// machine.
std::string json(const Machine& machine);

struct TableOptions {
    bool color = false;  ///< escape codes by path class
    bool notices = true;
    bool markdown = false;  ///< tables with pipes, without colours
};
/// The matrix of path classes, each with its measured GB/s, else its nominal one in brackets; devices with their bus
/// addresses; the driver's claims where known; notices.
std::string table(const Machine& machine, const TableOptions& options = {});

/// Devices, bridges and NICs under their host bridges and NUMA nodes, then the fabric. A machine without a graph gets a
/// derived one, and the text says so.
std::string tree(const Machine& machine);

/// Graphviz source of the same graph.
std::string dot(const Machine& machine);

/// NCCL's topology XML. Notice xml-too-large-for-nccl with the count when it has more nodes than NCCL's reader takes
/// (256), derived-graph when the input had no graph, and not-expressible for what that format cannot say.
std::string nccl_xml(const Machine& machine, std::vector<Notice>& notices);

}  // namespace peerlane::write
