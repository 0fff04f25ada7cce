#include "machine/parts.hpp"

#include <array>
#include <string_view>

namespace peerlane {
namespace {

constexpr int nvidia = 0x10de, amd = 0x1002;

struct Part {
    int vendor, device;
    std::string_view model;
};

/// From the public list of PCI ids (pci-ids.ucw.cz); the names are those that `nvidia-smi` and `rocm-smi` print.
constexpr std::array<Part, 38> parts{{
    {nvidia, 0x15f9, "Tesla P100-SXM2-16GB"},
    {nvidia, 0x1db1, "Tesla V100-SXM2-16GB"},
    {nvidia, 0x1db5, "Tesla V100-SXM2-32GB"},
    {nvidia, 0x1db8, "Tesla V100-SXM3-32GB"},
    {nvidia, 0x1db4, "Tesla V100-PCIE-16GB"},
    {nvidia, 0x1db6, "Tesla V100-PCIE-32GB"},
    {nvidia, 0x1eb8, "Tesla T4"},
    {nvidia, 0x20b0, "NVIDIA A100-SXM4-40GB"},
    {nvidia, 0x20b2, "NVIDIA A100-SXM4-80GB"},
    {nvidia, 0x20b5, "NVIDIA A100 80GB PCIe"},
    {nvidia, 0x20f1, "NVIDIA A100-PCIE-40GB"},
    {nvidia, 0x20b7, "NVIDIA A30"},
    {nvidia, 0x20f3, "NVIDIA A800-SXM4-80GB"},
    {nvidia, 0x20f5, "NVIDIA A800 80GB PCIe"},
    {nvidia, 0x2204, "NVIDIA GeForce RTX 3090"},
    {nvidia, 0x2230, "NVIDIA RTX A6000"},
    {nvidia, 0x2235, "NVIDIA A40"},
    {nvidia, 0x2236, "NVIDIA A10"},
    {nvidia, 0x2237, "NVIDIA A10G"},
    {nvidia, 0x2321, "NVIDIA H100 NVL"},
    {nvidia, 0x2322, "NVIDIA H800 PCIe"},
    {nvidia, 0x2324, "NVIDIA H800"},
    {nvidia, 0x2329, "NVIDIA H20"},
    {nvidia, 0x2330, "NVIDIA H100 80GB HBM3"},
    {nvidia, 0x2331, "NVIDIA H100 PCIe"},
    {nvidia, 0x2335, "NVIDIA H200"},
    {nvidia, 0x233b, "NVIDIA H200 NVL"},
    {nvidia, 0x2684, "NVIDIA GeForce RTX 4090"},
    {nvidia, 0x26b1, "NVIDIA RTX 6000 Ada Generation"},
    {nvidia, 0x26b5, "NVIDIA L40"},
    {nvidia, 0x26b9, "NVIDIA L40S"},
    {nvidia, 0x27b8, "NVIDIA L4"},
    {nvidia, 0x2901, "NVIDIA B200"},
    {nvidia, 0x2b85, "NVIDIA GeForce RTX 5090"},
    {amd, 0x738c, "AMD Instinct MI100"},
    {amd, 0x740c, "AMD Instinct MI250X"},
    {amd, 0x740f, "AMD Instinct MI210"},
    {amd, 0x74a1, "AMD Instinct MI300X"},
}};

}  // namespace

std::optional<std::string> model_of_pci_id(int vendor, int device) {
    for (auto const& part : parts) {
        if (part.vendor == vendor && part.device == device) {
            return std::string(part.model);
        }
    }
    return std::nullopt;
}

PciId pci_id_of_model(const std::string& model) {
    for (auto const& part : parts) {
        if (part.model == model) {
            return {part.vendor, part.device};
        }
    }
    return {};
}

}  // namespace peerlane
