#include "machine/read/nvidia_smi_list.hpp"

#include <fmt/format.h>

#include "machine/read/gpu_line.hpp"

namespace peerlane::read {
namespace {

/// "  MIG 3g.40gb     Device  0: (UUID: MIG-...)"
bool is_instance(std::string_view text) {
    text = trimmed(text);
    return text.substr(0, 4) == "MIG " && text.find("Device") != std::string_view::npos &&
           text.find(':') != std::string_view::npos;
}

}  // namespace

bool recognizes_nvidia_smi_list(std::string_view text) {
    // `nvlink -s` and `-R` open with the same line; theirs is followed by links or a sentence about them.
    LineScanner scanner(text);
    bool open = false;
    for (Line line; scanner.next(line);) {
        if (line.blank()) {
            continue;
        }
        if (auto const gpu = gpu_line(line)) {
            if (open) {
                return true;
            }
            open = gpu->uuid.has_value();
        } else if (open) {
            if (!contains_word(line.text, "nvlink") && trimmed(line.text).substr(0, 5) != "Link ") {
                return true;
            }
            open = false;
        }
    }
    return open;
}

Machine read_nvidia_smi_list(const Source& source) {
    auto const lines = plain_lines(source);
    Machine machine;
    Device* current = nullptr;
    int instances = 0, first_instance = 0;
    for (auto const& line : lines) {
        if (auto const gpu = gpu_line(line)) {
            if (gpu->id < static_cast<int>(machine.devices.size()) &&
                machine.devices[static_cast<std::size_t>(gpu->id)].model) {
                add_notice(machine, source, "two-tables", line.number,
                           fmt::format("GPU {} is listed again; the first list is used", gpu->id));
                break;
            }
            current = &device_of(source, line, *gpu, machine);
            current->mig = false;
        } else if (is_instance(line.text)) {
            if (current == nullptr) {
                refuse(source, line.number, "a MIG instance before any GPU");
            }
            current->mig = true;
            ++current->mig_instances;
            first_instance = instances++ == 0 ? line.number : first_instance;
        }
    }
    if (machine.devices.empty()) {
        refuse(source, 0, "no line \"GPU 0: ...\"");
    }
    if (instances > 0) {
        add_notice(machine, source, "mig-hidden", first_instance,
                   fmt::format("{} MIG instances: they have no peers, not even on one device, and no matrix shows them",
                               instances));
    }
    note_undescribed(source, machine);
    note_wrapping(lines, 0, lines.size(), source, machine);
    complete_pairs(machine);
    return machine;
}

}  // namespace peerlane::read
