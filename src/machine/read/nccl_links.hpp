#pragma once
/// The `nvlink` and `xgmi` elements of a topology XML. Used by nccl_xml.cpp only.

#include <pugixml.hpp>

#include <map>
#include <string>
#include <vector>

#include "machine/read/text.hpp"

namespace peerlane::read {

struct NcclGpu {
    Device device;
    int graph_node = -1;
    int line = 0;
    std::optional<int> number;  ///< the file's own
    pugi::xml_node element;     ///< `gpu`, empty where there is none
};

/// Adds the links of all GPUs to the graph of the machine; its devices must be there.
class FabricLinks {
  public:
    FabricLinks(const Source& source, Machine& machine) : source_(source), lines_(source.text), machine_(machine) {}
    void add(const std::vector<NcclGpu>& gpus);

  private:
    struct Joint {
        LinkKind kind = LinkKind::nvlink;
        std::optional<int> width = 0;
        pugi::xml_node node;
    };
    void read_gpu(const std::vector<NcclGpu>& gpus, std::size_t from);
    void read_link(std::size_t from, const pugi::xml_node& node, LinkKind kind);
    void mirror();
    void compare_uplinks(const std::vector<NcclGpu>& gpus);
    void push(int from, int to, const Joint& joint, const NcclGpu& gpu);
    int switch_node(const std::string& name, const std::string& bus);

    int line(const pugi::xml_node& node);

    const Source& source_;
    LineCounter lines_;
    Machine& machine_;
    std::map<std::string, std::size_t, std::less<>> by_bus_;
    std::map<std::pair<std::size_t, std::size_t>, Joint> direct_;  ///< GPU to GPU, by position in the vector
    std::map<std::pair<std::size_t, std::string>, Joint> up_;      ///< GPU to switch, by its name
    std::map<std::pair<std::size_t, int>, Joint> host_;            ///< GPU to a processor's node
};

}  // namespace peerlane::read
