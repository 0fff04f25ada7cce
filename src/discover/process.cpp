/// What surrounds this process: settings, container, other processes, the kernel's log.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "discover/files.hpp"
#include "discover/read_host.hpp"
#include "machine/read/text.hpp"

namespace peerlane {
namespace {

/// Whether a variable hides, orders or forces something. What may hold a secret is never taken.
bool of_interest(std::string_view name) {
    constexpr std::array secrets{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"};
    constexpr std::array starts{"CUDA_",          "NCCL_",          "RCCL_",      "HIP_VISIBLE", "ROCR_VISIBLE",
                                "NVIDIA_VISIBLE", "NVIDIA_DRIVER_", "NVIDIA_MIG", "PEERLANE_"};
    for (auto const* secret : secrets) {
        if (name.find(secret) != std::string_view::npos) {
            return false;
        }
    }
    return name.find("P2P") != std::string_view::npos ||
           std::any_of(starts.begin(), starts.end(), [&](const char* start) { return name.rfind(start, 0) == 0; });
}

std::vector<Setting> environment(const DiscoverRoots& roots) {
    std::vector<Setting> settings;
    auto const all = files::bytes(roots.proc + "/self/environ").value_or("");
    for (std::size_t at = 0; at < all.size();) {
        auto const end = std::min(all.find('\0', at), all.size());
        auto const entry = std::string_view(all).substr(at, end - at);
        auto const equals = entry.find('=');
        if (equals != std::string_view::npos && of_interest(entry.substr(0, equals))) {
            settings.push_back(
                {std::string(entry.substr(0, equals)), read::as_utf8(entry.substr(equals + 1)), "environment"});
        }
        at = end + 1;
    }
    std::sort(settings.begin(), settings.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
    return settings;
}

void read_shared_memory(ProcessFacts& process, const std::string& folder) {
    struct statvfs sizes {};
    struct stat file {};
    if (::statvfs(folder.c_str(), &sizes) == 0) {
        auto const unit = static_cast<std::uint64_t>(sizes.f_frsize);
        process.shm_bytes = unit * sizes.f_blocks;
        process.shm_free_bytes = unit * sizes.f_bavail;
    }
    if (::stat(folder.c_str(), &file) == 0) {
        process.shm_device = fmt::format("{}:{}", major(file.st_dev), minor(file.st_dev));
    }
}

std::vector<Setting> namespaces(const std::string& folder) {
    std::vector<Setting> found;
    for (auto const* name : {"ipc", "mnt", "pid"}) {
        if (auto value = files::link_name(folder + "/" + name); !value.empty()) {
            found.push_back({name, std::move(value), "/proc/self/ns"});
        }
    }
    return found;
}

/// The smallest limit on the way from this process's control group up.
std::optional<std::uint64_t> memory_limit(const DiscoverRoots& roots, const std::string& group) {
    std::optional<std::uint64_t> least;
    auto const take = [&](const std::string& file) {
        auto const value = files::number(file);
        // Version 1 prints a page below 2^63 for "none".
        if (value && *value > 0 && *value < (std::int64_t{1} << 60U)) {
            least = std::min(least.value_or(static_cast<std::uint64_t>(*value)), static_cast<std::uint64_t>(*value));
        }
    };
    auto const top = roots.sysfs + "/fs/cgroup";
    take(top + "/memory/memory.limit_in_bytes");
    for (auto path = group; !path.empty() && path != "/"; path.erase(path.rfind('/'))) {
        take(top + path + "/memory.max");
    }
    take(top + "/memory.max");
    return least;
}

/// Path of the unified hierarchy; of the memory controller's where there is none.
std::string control_group(const std::string& text) {
    std::string found;
    for (auto const line : read::cells(text, '\n')) {
        auto const second = line.find(':') == std::string_view::npos ? line.npos : line.find(':', line.find(':') + 1);
        if (second == std::string_view::npos) {
            continue;
        }
        if (line.rfind("0::", 0) == 0) {
            return std::string(line.substr(second + 1));
        }
        if (line.substr(0, second).find("memory") != std::string_view::npos) {
            found = line.substr(second + 1);
        }
    }
    return found;
}

bool concerns_devices(std::string_view line) {
    constexpr std::array words{"NVRM:", "IO_PAGE_FAULT", "DMAR:", "AER:", "nvidia", "arm-smmu", "pcieport", "amdgpu"};
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return line.find(word) != std::string_view::npos; });
}

/// "6,1234,567890,-;text" and continuation lines " KEY=value" of the log device; plain lines as they are.
void take_record(std::string_view record, std::vector<std::string>& lines) {
    auto const semicolon = record.find(';');
    auto const head = record.substr(0, semicolon);
    auto const device_form = semicolon != std::string_view::npos && std::count(head.begin(), head.end(), ',') >= 3 &&
                             record.front() >= '0' && record.front() <= '9';
    auto text = device_form ? record.substr(semicolon + 1) : record;
    text = read::trimmed(text.substr(0, text.find('\n')));
    if (text.empty() || !concerns_devices(text)) {
        return;
    }
    std::string line = read::as_utf8(text);
    if (device_form) {
        auto const second = head.find(',', head.find(',') + 1);
        auto const time = head.substr(second + 1, head.find(',', second + 1) - second - 1);
        line = fmt::format("[{:.6f}] {}", std::strtod(std::string(time).c_str(), nullptr) / 1e6, line);
    }
    lines.push_back(std::move(line));
}

/// Never waits: the device is read until it has no more records.
std::optional<std::vector<std::string>> kernel_log(const std::string& path, std::string& why) {
    constexpr std::size_t most_kept = 400, most_records = 400'000;
    std::vector<std::string> lines;
    if (auto const content = files::bytes(path, 16U << 20U)) {
        for (auto const line : read::cells(*content, '\n')) {
            take_record(line, lines);
        }
    } else {
        auto const file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (file < 0) {
            why = std::strerror(errno);
            return std::nullopt;
        }
        std::array<char, 8192> record{};
        for (std::size_t i = 0; i < most_records; ++i) {
            auto const got = ::read(file, record.data(), record.size());
            if (got <= 0) {
                if (got < 0 && (errno == EPIPE || errno == EINTR)) {
                    continue;  // records were overwritten while we read: go on with the next
                }
                if (got < 0 && errno != EAGAIN && i == 0) {
                    why = std::strerror(errno);
                    ::close(file);
                    return std::nullopt;
                }
                break;
            }
            take_record({record.data(), static_cast<std::size_t>(got)}, lines);
        }
        ::close(file);
    }
    if (lines.size() > most_kept) {
        lines.erase(lines.begin(), lines.end() - most_kept);
    }
    return lines;
}

/// Without a view of all processes, one that is not seen may still run.
std::optional<bool> runs(const DiscoverRoots& roots, std::string_view name, std::optional<bool> sees_all) {
    for (auto const& entry : files::names(roots.proc)) {
        if (read::all_digits(entry) && files::text(roots.proc + "/" + entry + "/comm") == name) {
            return true;
        }
    }
    return sees_all.value_or(false) ? std::optional(false) : std::nullopt;
}

/// Version of the fabric manager's package, "550.90.07".
std::string installed_manager(const std::string& list) {
    auto const all = files::bytes(list, 64U << 20U).value_or("");
    for (auto at = all.find("\nPackage: nvidia-fabric"); at != std::string::npos;
         at = all.find("\nPackage: nvidia-fabric", at + 1)) {
        auto const entry = std::string_view(all).substr(at + 1, std::min(all.find("\n\n", at), all.size()) - at - 1);
        auto const name = files::value_of(entry, "Package");
        if (name.rfind("nvidia-fabricmanager", 0) != 0 || name.find("dev") != std::string::npos ||
            files::value_of(entry, "Status") != "install ok installed") {
            continue;
        }
        auto version = files::value_of(entry, "Version");
        if (auto const epoch = version.find(':'); epoch != std::string::npos) {
            version.erase(0, epoch + 1);
        }
        return version.substr(0, version.find('-'));
    }
    return {};
}

}  // namespace

int own_process() {
    return static_cast<int>(::getpid());
}

ProcessFacts read_process(const DiscoverRoots& roots, const NvmlFacts& nvml, std::vector<Unread>& unread) {
    ProcessFacts process;
    process.settings = environment(roots);
    for (auto const& name : files::names(roots.proc + "/driver/nvidia/gpus")) {
        if (auto bus = read::bus_address(name)) {
            process.driver_gpus.push_back(std::move(*bus));
        }
    }
    if (files::exists(roots.dev)) {
        auto& found = process.device_files.emplace();
        for (auto const& name : files::names(roots.dev)) {
            if (name.rfind("nvidia", 0) == 0) {
                found.push_back(name);
            }
        }
    }
    read_shared_memory(process, roots.dev + "/shm");
    process.namespaces = namespaces(roots.proc + "/self/ns");
    process.cgroup = control_group(files::text(roots.proc + "/self/cgroup"));
    process.memory_limit_bytes = memory_limit(roots, process.cgroup);
    // Process 2 of a kernel is its own; elsewhere it is anything.
    if (auto const first = files::text(roots.proc + "/1/comm"); !first.empty()) {
        process.sees_all_processes = files::text(roots.proc + "/2/comm") == "kthreadd";
    }
    std::string why;
    process.kernel_log = kernel_log(roots.dev + "/kmsg", why);
    if (!process.kernel_log) {
        unread.push_back({"kernel log", roots.dev + "/kmsg", why, true});
    }
    process.fabric_manager = runs(roots, "nv-fabricmanage", process.sees_all_processes);  // the kernel keeps 15 letters
    if (process.fabric_manager.value_or(false)) {
        process.fabric_manager_version = installed_manager(roots.packages);
    }
    if (files::text(roots.proc + "/devices").find("nvidia-caps-imex-channels") != std::string::npos) {
        process.imex_channels = static_cast<int>(files::names(roots.dev + "/nvidia-caps-imex-channels").size());
    }
    for (auto const& device : nvml.devices) {
        for (auto const& user : device.users.value_or(std::vector<NvmlUser>{})) {
            if (user.process != own_process()) {
                process.device_users.push_back({device.bus, user.process, user.kind});
            }
        }
    }
    return process;
}

std::optional<std::vector<std::string>> read_kernel_log(const DiscoverRoots& roots) {
    std::string why;
    return kernel_log(roots.dev + "/kmsg", why);
}

void note_unread(Discovery& discovery) {
    auto& unread = discovery.unread;
    auto const& host = discovery.host;
    if (!host.pci_tree) {
        unread.push_back({"PCI tree", "/sys/bus/pci/devices", "absent", false});
    }
    auto const hidden = std::count_if(host.pci.begin(), host.pci.end(), [](const PciFunction& one) {
        return one.class_code && *one.class_code >> 8U == 0x0604 && one.config_bytes && *one.config_bytes < 256;
    });
    if (hidden > 0) {
        unread.push_back({fmt::format("access control of {} bridges", hidden), "/sys/bus/pci/devices/<bus>/config",
                          "only 64 bytes are readable", true});
    }
    auto const grouped = std::any_of(host.pci.begin(), host.pci.end(),
                                     [](const PciFunction& one) { return one.iommu_group && one.iommu_type.empty(); });
    if (grouped) {
        unread.push_back({"mode of the IOMMU", "/sys/kernel/iommu_groups/<n>/type", "not readable", true});
    }
    if (discovery.nvml.state != NvmlFacts::State::ok) {
        unread.push_back({"management library", "libnvidia-ml.so.1", discovery.nvml.reason, false});
    }
    if (!discovery.process.sees_all_processes.value_or(false)) {
        unread.push_back({"other processes", "/proc", "a process namespace of its own", false});
    }
}

}  // namespace peerlane
