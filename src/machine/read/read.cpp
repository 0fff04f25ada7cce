#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "machine/read/hwloc_console.hpp"
#include "machine/read/hwloc_xml.hpp"
#include "machine/read/nccl_xml.hpp"
#include "machine/read/nvbandwidth_json.hpp"
#include "machine/read/nvbandwidth_text.hpp"
#include "machine/read/nvidia_smi_list.hpp"
#include "machine/read/nvlink_remote.hpp"
#include "machine/read/nvlink_status.hpp"
#include "machine/read/own_json.hpp"
#include "machine/read/p2p_bandwidth.hpp"
#include "machine/read/paste.hpp"
#include "machine/read/reader.hpp"
#include "machine/read/record.hpp"
#include "machine/read/text.hpp"
#include "machine/read/topo_matrix.hpp"
#include "machine/read/topo_p2p.hpp"
#include "machine/read/unwrap.hpp"

namespace peerlane::read {

// One line each: { format, recognizes, read, in_pastes }. The order matters only where two formats share a word; the
// more special first.
const std::vector<Reader>& readers() {
    static const std::vector<Reader> table{
        {"peerlane.record/1", is_record, read_recorded_machine},
        {"peerlane.machine/1", is_own_json, read_own_json},
        {"NCCL or RCCL topology XML", is_nccl_xml, read_nccl_xml},
        {"hwloc XML", recognizes_hwloc_xml, read_hwloc_xml},
        {"nvbandwidth JSON", recognizes_nvbandwidth_json, read_nvbandwidth_json},
        {"nvidia-smi topo -m", is_topo_matrix, read_topo_matrix, true},
        {"nvidia-smi topo -p2p", recognizes_topo_p2p, read_topo_p2p, true},
        {"p2pBandwidthLatencyTest", recognizes_p2p_bandwidth, read_p2p_bandwidth, true},
        {"nvbandwidth", recognizes_nvbandwidth_text, read_nvbandwidth_text, true},
        {"nvidia-smi nvlink -R", recognizes_nvlink_remote, read_nvlink_remote, true},
        {"nvidia-smi nvlink -s", recognizes_nvlink_status, read_nvlink_status, true},
        {"nvidia-smi -L", recognizes_nvidia_smi_list, read_nvidia_smi_list, true},
        {"lstopo text", recognizes_hwloc_console, read_hwloc_console},
    };
    return table;
}

namespace {

/// A file written by a shell that saves UTF-16 is turned into UTF-8; anything beyond ASCII becomes '?': no table needs
/// it.
std::string from_utf16(std::string_view text, bool big_endian) {
    std::string out;
    out.reserve(text.size() / 2);
    for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
        auto const low = static_cast<unsigned char>(text[at + (big_endian ? 1 : 0)]);
        auto const high = static_cast<unsigned char>(text[at + (big_endian ? 0 : 1)]);
        out += high == 0 && low < 0x80 ? static_cast<char>(low) : '?';
    }
    return out;
}

}  // namespace

namespace {

/// By the first reader that knows the text; empty when none does.
std::optional<Machine> read_known(const Source& source) {
    for (auto const& reader : readers()) {
        if (reader.recognizes(source.text)) {
            auto machine = with_other_outputs(source, reader, reader.read(source));
            if (machine.origin.kind.empty()) {
                machine.origin.kind = "file";
            }
            if (machine.origin.files.empty()) {
                machine.origin.files.emplace_back(source.name);
            }
            return machine;
        }
    }
    return std::nullopt;
}

}  // namespace

Machine read_machine(const Source& source) {
    if (source.text.substr(0, 2) == "\xff\xfe" || source.text.substr(0, 2) == "\xfe\xff") {
        auto const text = from_utf16(source.text, source.text[0] == '\xfe');
        return read_machine({source.name, text});
    }
    if (source.text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        refuse(source, 0, "the file is empty");
    }
    if (auto const nul = source.text.substr(0, 65536).find('\0'); nul != std::string_view::npos) {
        refuse(source, line_at(source.text, nul), "this is binary data, not a description of a machine");
    }
    if (!is_utf8(source.text)) {
        auto const text = as_utf8(source.text);
        return read_machine({source.name, text});
    }
    if (source.text.find('\n') == std::string_view::npos && source.text.find('\r') != std::string_view::npos) {
        std::string text(source.text);  // lines that end as on old systems
        std::replace(text.begin(), text.end(), '\r', '\n');
        return read_machine({source.name, text});
    }
    if (auto machine = read_known(source)) {
        return *std::move(machine);
    }
    if (auto const document = unwrapped_document(source)) {
        if (auto machine = read_known({source.name, document->text})) {
            note_wrapping(document->marks, 0, document->marks.size(), source, *machine);
            return *std::move(machine);
        }
    }
    std::string known;
    for (auto const& reader : readers()) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", reader.format);
    }
    refuse(source, 0, "no known description of a machine; looked for: " + known);
}

}  // namespace peerlane::read
