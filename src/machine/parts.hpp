#pragma once
/// Names of parts by their PCI ids.

#include <optional>
#include <string>

namespace peerlane {

/// "NVIDIA H200" of 0x10de, 0x2335. Empty when the pair is not in our short list: an id that is not listed is no error.
std::optional<std::string> model_of_pci_id(int vendor, int device);
/// The reverse: 0x10de and 0x2335 of "NVIDIA H200"; 0 and 0 when not listed.
struct PciId {
    int vendor = 0, device = 0;
};
PciId pci_id_of_model(const std::string& model);

}  // namespace peerlane
