#include "machine/read/gpu_line.hpp"

#include <fmt/format.h>

namespace peerlane::read {

std::optional<GpuLine> gpu_line(const Line& line) {
    auto text = trimmed(line.text);
    if (text.substr(0, 4) != "GPU ") {
        return std::nullopt;
    }
    auto const colon = text.find(':');
    auto const id = colon == std::string_view::npos ? std::nullopt : small_number(trimmed(text.substr(4, colon - 4)));
    if (!id) {
        return std::nullopt;
    }
    GpuLine gpu{.id = *id, .model = {}, .uuid = {}};
    text = trimmed(text.substr(colon + 1));
    if (auto const open = text.find("(UUID:"); open != std::string_view::npos) {
        auto const rest = text.substr(open + 6);
        auto const close = rest.find(')');
        if (close != std::string_view::npos) {
            gpu.uuid = std::string(trimmed(rest.substr(0, close)));
        }
        text = trimmed(text.substr(0, open));
    }
    gpu.model = std::string(text);
    return gpu;
}

Device& device_of(const Source& source, const Line& line, const GpuLine& gpu, Machine& machine) {
    if (gpu.id >= most_devices) {
        refuse(source, line.number, fmt::format("GPU {}: no host has so many", gpu.id));
    }
    while (static_cast<int>(machine.devices.size()) <= gpu.id) {
        machine.devices.push_back({.id = static_cast<int>(machine.devices.size())});
    }
    auto& device = machine.devices[static_cast<std::size_t>(gpu.id)];
    if ((device.uuid && gpu.uuid && device.uuid != gpu.uuid) || (device.model && device.model != gpu.model)) {
        refuse(source, line.number, fmt::format("GPU {} is another device than the GPU {} above", gpu.id, gpu.id));
    }
    if (!gpu.model.empty()) {
        device.model = gpu.model;
    }
    if (gpu.uuid && !gpu.uuid->empty()) {
        device.uuid = gpu.uuid;
    }
    return device;
}

void note_undescribed(const Source& source, Machine& machine) {
    std::string missing;
    for (auto const& device : machine.devices) {
        if (!device.model && !device.uuid) {
            missing += fmt::format("{}{}", missing.empty() ? "" : ", ", device.id);
        }
    }
    if (!missing.empty()) {
        add_notice(machine, source, "devices-left-out", 0, "nothing is said about devices " + missing);
    }
}

}  // namespace peerlane::read
