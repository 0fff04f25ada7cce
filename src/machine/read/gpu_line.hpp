#pragma once
/// The line "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)" with which nvidia-smi opens every list about one device.

#include <optional>
#include <string>

#include "machine/read/text.hpp"

namespace peerlane::read {

struct GpuLine {
    int id = 0;
    std::string model;
    std::optional<std::string> uuid;
};

/// Empty when the line is none.
std::optional<GpuLine> gpu_line(const Line& line);

/// The device of that line, added when it is new; devices before it that the text leaves out are added without facts,
/// because ids say that they exist. Throws InputError when the id is absurd, or is listed again as another device.
Device& device_of(const Source& source, const Line& line, const GpuLine& gpu, Machine& machine);

/// Notice for devices that the text names only by leaving them out.
void note_undescribed(const Source& source, Machine& machine);

}  // namespace peerlane::read
