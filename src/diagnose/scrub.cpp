/// What identifies people and machines is taken out of facts before they are shown to others.

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include <peerlane/facts.hpp>

namespace peerlane {
namespace {

bool is_hex(char letter) {
    return std::isxdigit(static_cast<unsigned char>(letter)) != 0;
}

/// Replaces identifiers in any text, always by the same stand-in.
class Scrubber {
  public:
    explicit Scrubber(const Facts& facts) {
        for (auto const& device : facts.nvml.devices) {
            if (!device.uuid.empty()) {
                uuids_.emplace(device.uuid, fmt::format("GPU-{}", uuids_.size() + 1));
            }
        }
    }

    void text(std::string& text) const {
        uuids(text);
        paths(text);
        addresses(text);
    }
    void settings(std::vector<Setting>& settings) const {
        for (auto& setting : settings) {
            text(setting.value);
            text(setting.origin);
        }
    }

  private:
    /// "GPU-" or "MIG-" and 8-4-4-4-12 hexadecimal digits. Shortened ones (a variable may name the first letters) match
    /// the device that begins so.
    void uuids(std::string& text) const {
        for (std::size_t at = 0; at + 4 < text.size(); ++at) {
            auto const prefix = text.substr(at, 4);
            if (prefix != "GPU-" && prefix != "MIG-") {
                continue;
            }
            auto end = at + 4;
            while (end < text.size() && (is_hex(text[end]) || text[end] == '-' || text.compare(end, 4, "GPU-") == 0)) {
                end += text.compare(end, 4, "GPU-") == 0 ? 4 : 1;
            }
            if (end - at < 8) {
                continue;
            }
            auto const found = std::find_if(uuids_.begin(), uuids_.end(), [&](auto const& known) {
                return known.first.compare(0, end - at, text, at, end - at) == 0;
            });
            auto const instead = found != uuids_.end() ? found->second : prefix + "x";
            text.replace(at, end - at, instead);
            at += instead.size() - 1;
        }
    }

    /// The name behind "/home/" or "/Users/".
    static void paths(std::string& text) {
        for (auto const* folder : {"/home/", "/Users/", "/users/"}) {
            std::string const start = folder;
            for (auto at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
                auto const begin = at + start.size();
                auto const end = std::min(text.find_first_of("/ \t,:;\"'", begin), text.size());
                text.replace(begin, end - begin, "user");
            }
        }
    }

    /// "builder@host.example": who built a module, and where.
    static void addresses(std::string& text) {
        auto const part_of_name = [](char letter) {
            return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '-' ||
                   letter == '_';
        };
        for (auto at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
            auto begin = at;
            auto end = at + 1;
            while (begin > 0 && part_of_name(text[begin - 1])) {
                --begin;
            }
            while (end < text.size() && part_of_name(text[end])) {
                ++end;
            }
            if (begin < at) {
                text.replace(begin, end - begin, "user@host");
                at = begin + 4;
            }
        }
    }

    std::map<std::string, std::string> uuids_;
};

/// The kernel log may begin its lines with time, host and process: "Jan 02 03:04:05 host kernel: text".
void without_host(std::string& line) {
    auto const kernel = line.find(" kernel: ");
    if (kernel == std::string::npos || line.empty() || line.front() == '[') {
        return;
    }
    auto const host = line.rfind(' ', kernel - 1);
    if (host != std::string::npos && kernel > 0) {
        line.replace(host + 1, kernel - host - 1, "host");
    }
}

/// "root=UUID=...", "ip=...", keys and host names of the kernel's command line: only what concerns devices is kept.
std::string kept_arguments(const std::string& line) {
    std::string kept;
    bool left_out = false;
    for (std::size_t at = 0; at < line.size();) {
        auto const end = std::min(line.find(' ', at), line.size());
        auto const word = line.substr(at, end - at);
        auto const concerns = [&](const char* text) { return word.find(text) != std::string::npos; };
        if (concerns("iommu") || word.rfind("pci", 0) == 0 || word.rfind("nvidia", 0) == 0 || concerns("NVreg") ||
            concerns("amdgpu") || concerns("vfio") || concerns("nomodeset") || concerns("acs")) {
            kept += (kept.empty() ? "" : " ") + word;
        } else {
            left_out = left_out || !word.empty();
        }
        at = end + 1;
    }
    return left_out ? kept + (kept.empty() ? "..." : " ...") : kept;
}

}  // namespace

Facts scrub(Facts facts) {
    Scrubber const scrubber(facts);
    facts.host.boot_id.clear();
    facts.host.kernel_command_line = kept_arguments(facts.host.kernel_command_line);
    scrubber.text(facts.host.driver_text);
    for (auto& parameter : facts.host.module_parameters) {
        scrubber.text(parameter.second);
    }
    if (facts.host.module_signer) {
        scrubber.text(*facts.host.module_signer);
    }
    for (auto& device : facts.nvml.devices) {
        scrubber.text(device.uuid);
        int user_number = 0;
        if (device.users) {
            for (auto& user : *device.users) {
                user.process = ++user_number;
            }
        }
    }
    auto& process = facts.process;
    scrubber.settings(process.settings);
    process.cgroup.clear();  // names of users, sessions and containers
    if (process.kernel_log) {
        for (auto& line : *process.kernel_log) {
            without_host(line);
            scrubber.text(line);
        }
    }
    int number = 0;
    for (auto& user : process.device_users) {
        user.process = ++number;
    }
    number = 0;
    for (auto& neighbour : process.neighbours) {
        neighbour.name = fmt::format("process {}", ++number);
        if (neighbour.visible) {
            for (auto& device : *neighbour.visible) {
                scrubber.text(device);
            }
        }
    }
    auto& run = facts.run;
    if (run.open_step) {
        scrubber.text(run.open_step->file);
        run.open_step->boot_id.clear();
    }
    for (auto& former : run.former_runs) {
        scrubber.text(former.file);
    }
    if (run.key) {
        for (auto* side : {&run.key->then, &run.key->now}) {
            scrubber.settings(*side);
            side->erase(std::remove_if(side->begin(), side->end(),
                                       [](const Setting& one) { return one.name == "boot" || one.name == "machine"; }),
                        side->end());
        }
    }
    return facts;
}

}  // namespace peerlane
