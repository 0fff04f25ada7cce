#include "machine/read/nvlink_status.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/units.hpp>

#include "machine/read/gpu_line.hpp"

namespace peerlane::read {
namespace {

constexpr int most_links = 256;

struct LinkLine {
    int link = 0;
    std::string_view answer;  ///< "26.562 GB/s", "<inactive>"
};

std::optional<LinkLine> link_line(std::string_view text) {
    text = trimmed(text);
    auto const colon = text.find(':');
    if (text.substr(0, 5) != "Link " || colon == std::string_view::npos) {
        return std::nullopt;
    }
    auto const number = small_number(trimmed(text.substr(5, colon - 5)));
    return number ? std::optional(LinkLine{*number, trimmed(text.substr(colon + 1))}) : std::nullopt;
}

bool rate_or_state(std::string_view answer) {
    return parse_rate_gbs(answer) || contains_word(answer, "inactive");
}

struct Query {
    const Source& source;
    Machine machine;
    std::vector<int> seen;              ///< links of the current device
    std::map<int, int> first_inactive;  ///< device to line

    void link(const Line& line, const LinkLine& link, Device& device);
    bool sentence(const Line& line, Device& device);
};

void Query::link(const Line& line, const LinkLine& link, Device& device) {
    if (link.link >= most_links || std::find(seen.begin(), seen.end(), link.link) != seen.end()) {
        refuse(source, line.number, fmt::format("link {} of GPU {} comes twice, or is absurd", link.link, device.id));
    }
    seen.push_back(link.link);
    if (contains_word(link.answer, "inactive")) {
        device.inactive_nvlinks.push_back(link.link);
        first_inactive.emplace(device.id, line.number);
        device.nvlinks = device.nvlinks.value_or(0);
        device.nvlink_state = *device.nvlinks > 0 ? "active" : "inactive";
        return;
    }
    auto const rate = parse_rate_gbs(link.answer);
    if (!rate) {
        refuse(source, line.number, fmt::format("\"{}\" is neither a rate nor <inactive>", link.answer.substr(0, 40)));
    }
    device.nvlinks = device.nvlinks.value_or(0) + 1;
    device.nvlink_state = "active";
    if (device.nvlink_gbs && *device.nvlink_gbs != *rate) {
        add_notice(machine, source, "link-rates-differ", line.number,
                   fmt::format("link {} of GPU {} runs at {} GB/s, another at {}", link.link, device.id, *rate,
                               *device.nvlink_gbs));
    }
    device.nvlink_gbs = std::min(device.nvlink_gbs.value_or(*rate), *rate);
}

/// The answers in words. False when the line is none of them.
bool Query::sentence(const Line& line, Device& device) {
    if (!contains_word(line.text, "nvlink")) {
        return false;
    }
    if (contains_word(line.text, "mig mode")) {
        device.nvlink_state = "refused-mig";
        device.mig = true;
        add_notice(machine, source, "mig-hidden", line.number,
                   fmt::format("GPU {} is partitioned: its links are not told", device.id));
    } else if (contains_word(line.text, "inactive")) {
        device.nvlink_state = "inactive";
        device.nvlinks = 0;
    } else if (contains_word(line.text, "not have or support") || contains_word(line.text, "not supported")) {
        device.nvlink_state = "unsupported";
        device.nvlinks = 0;
    } else {
        add_notice(machine, source, "nvlink-query-failed", line.number, std::string(trimmed(line.text).substr(0, 200)));
    }
    return true;
}

}  // namespace

bool recognizes_nvlink_status(std::string_view text) {
    LineScanner scanner(text);
    bool gpu = false;
    for (Line line; scanner.next(line);) {
        if (gpu_line(line)) {
            gpu = true;
        } else if (gpu) {
            auto const link = link_line(line.text);
            if ((link && rate_or_state(link->answer)) ||
                (!link && contains_word(line.text, "nvlink") &&
                 (contains_word(line.text, "inactive") || contains_word(line.text, "support") ||
                  contains_word(line.text, "unable")))) {
                return true;
            }
        }
    }
    return false;
}

Machine read_nvlink_status(const Source& source) {
    auto const lines = plain_lines(source);
    Query query{source, {}, {}, {}};
    int current = -1;
    std::map<int, int> unanswered;  ///< device to line
    for (auto const& line : lines) {
        if (auto const gpu = gpu_line(line)) {
            auto const known = static_cast<int>(query.machine.devices.size());
            if (gpu->id < known && query.machine.devices[static_cast<std::size_t>(gpu->id)].nvlink_state) {
                add_notice(query.machine, source, "two-tables", line.number,
                           fmt::format("GPU {} is listed again; the first list is used", gpu->id));
                break;
            }
            device_of(source, line, *gpu, query.machine);
            current = gpu->id;
            unanswered.emplace(gpu->id, line.number);
            query.seen.clear();
            continue;
        }
        if (line.blank()) {
            continue;
        }
        auto* device = current < 0 ? nullptr : &query.machine.devices[static_cast<std::size_t>(current)];
        if (auto const link = link_line(line.text)) {
            if (device == nullptr) {
                refuse(source, line.number, "a link before any GPU");
            }
            query.link(line, *link, *device);
            unanswered.erase(current);
        } else if (device != nullptr && query.sentence(line, *device)) {
            unanswered.erase(current);
        }
    }
    for (auto const& device : query.machine.devices) {
        if (device.nvlinks.value_or(0) > 0 && !device.inactive_nvlinks.empty()) {
            add_notice(query.machine, source, "links-inactive", query.first_inactive[device.id],
                       fmt::format("link {} of GPU {} inactive, {} of {} up", fmt::join(device.inactive_nvlinks, ", "),
                                   device.id, *device.nvlinks,
                                   *device.nvlinks + static_cast<int>(device.inactive_nvlinks.size())));
        }
    }
    for (auto const& [id, line] : unanswered) {
        add_notice(query.machine, source, "truncated", line, fmt::format("no answer below GPU {}", id));
    }
    if (query.machine.devices.empty()) {
        refuse(source, 0, "no line \"GPU 0: ...\"");
    }
    note_undescribed(source, query.machine);
    note_wrapping(lines, 0, lines.size(), source, query.machine);
    complete_pairs(query.machine);
    return std::move(query.machine);
}

}  // namespace peerlane::read
