/// The real management library. Its header is not in every distribution, so the few functions are declared here; their
/// binary interface is fixed by the version suffixes.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <peerlane/discover.hpp>

#include "discover/nvml_api.hpp"

namespace peerlane {
namespace {

using Handle = void*;

struct PciInfo {
    std::array<char, 16> legacy_bus;
    unsigned domain, bus, device, ids, subsystem_ids;
    std::array<char, 32> bus_text;
    std::array<char, 64> beyond;  // in case a library writes more than its version promises
};

struct Memory {
    unsigned long long total, free, used;
};

struct FabricInfo {
    std::array<unsigned char, 16> cluster;
    int status;
    unsigned clique;
    unsigned char state;
    std::array<char, 64> beyond;
};

struct ProcessInfo {
    unsigned process;
    unsigned long long used_memory;
    unsigned instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct FieldValue {
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type;
    int code;
    union {
        double real;
        int signed_int;
        unsigned unsigned_int;
        unsigned long unsigned_long;
        unsigned long long unsigned_long_long;
        long long signed_long_long;
        unsigned short unsigned_short;
    } value;
};
static_assert(sizeof(FieldValue) == 40);

constexpr unsigned field_link_speed = 164;        // of the link named by the scope, MB/s
constexpr unsigned field_common_link_speed = 90;  // of all active links, MB/s; older drivers know only this one

double number_of(const FieldValue& field) {
    switch (field.type) {
        case 0:
            return field.value.real;
        case 1:
            return field.value.unsigned_int;
        case 2:
            return static_cast<double>(field.value.unsigned_long);
        case 3:
            return static_cast<double>(field.value.unsigned_long_long);
        case 4:
            return static_cast<double>(field.value.signed_long_long);
        case 5:
            return field.value.signed_int;
        case 6:
            return field.value.unsigned_short;
        default:
            return 0;
    }
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& buffer) {
    return {buffer.data(), strnlen(buffer.data(), N)};
}

/// The loaded library and the handles of its devices. Never unloaded: a call that hangs may still be inside.
class Library {
  public:
    int load() {
        if (library_ == nullptr) {
            library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        }
        handles_.clear();  // those of an earlier start are not good any more
        return library_ == nullptr ? nvml_code::library_not_found : nvml_code::success;
    }

    /// Calls a function by name with the arguments of its C signature.
    template <class... Arguments>
    int call(const char* name, Arguments... arguments) const {
        auto* const found = library_ == nullptr ? nullptr : dlsym(library_, name);
        return found == nullptr ? nvml_code::function_not_found
                                : reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
    }

    std::string words(int code) const {
        auto* const found = library_ == nullptr ? nullptr : dlsym(library_, "nvmlErrorString");
        auto const* const text = found == nullptr ? nullptr : reinterpret_cast<const char* (*)(int)>(found)(code);
        return text == nullptr ? std::string() : text;
    }

    int handle(int device, Handle& handle) {
        auto const at = static_cast<std::size_t>(device);
        if (at >= handles_.size()) {
            handles_.resize(at + 1, nullptr);
        }
        int code = nvml_code::success;
        if (handles_[at] == nullptr) {
            code = call("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(device), &handles_[at]);
        }
        handle = handles_[at];
        return code;
    }

    /// A function whose first argument is the device.
    template <class... Arguments>
    int call_on(int device, const char* name, Arguments... arguments) {
        Handle on = nullptr;
        auto const code = handle(device, on);
        return code != nvml_code::success ? code : call(name, on, arguments...);
    }

  private:
    void* library_ = nullptr;
    std::vector<Handle> handles_;
};

using Shared = std::shared_ptr<Library>;

NvmlApi::Call<int, int&> unsigned_query(Shared library, const char* name) {
    return [library = std::move(library), name](int device, int& value) {
        unsigned answer = 0;
        auto const code = library->call_on(device, name, &answer);
        value = static_cast<int>(answer);
        return code;
    };
}

NvmlApi::Call<int, int, int&> link_query(Shared library, const char* name) {
    return [library = std::move(library), name](int device, int link, int& value) {
        unsigned answer = 0;
        auto const code = library->call_on(device, name, static_cast<unsigned>(link), &answer);
        value = static_cast<int>(answer);
        return code;
    };
}

NvmlApi::Call<int, std::string&> text_query(Shared library, const char* name) {
    return [library = std::move(library), name](int device, std::string& value) {
        std::array<char, 96> buffer{};
        auto const code = library->call_on(device, name, buffer.data(), static_cast<unsigned>(buffer.size()));
        value = text_of(buffer);
        return code;
    };
}

NvmlApi::Call<std::string&> system_text_query(Shared library, const char* name) {
    return [library = std::move(library), name](std::string& value) {
        std::array<char, 96> buffer{};
        auto const code = library->call(name, buffer.data(), static_cast<unsigned>(buffer.size()));
        value = text_of(buffer);
        return code;
    };
}

int speed_of_link(Library& library, int device, int link, double& gbs) {
    int code = nvml_code::not_supported;
    for (auto const id : {field_link_speed, field_common_link_speed}) {
        FieldValue field{};
        field.field = id;
        field.scope = id == field_link_speed ? static_cast<unsigned>(link) : 0;
        code = library.call_on(device, "nvmlDeviceGetFieldValues", 1, &field);
        code = code == nvml_code::success ? field.code : code;
        gbs = number_of(field) / 1000;
        if (code == nvml_code::success && gbs > 0) {
            return code;
        }
    }
    return code == nvml_code::success ? nvml_code::not_supported : code;
}

int count_instances(Library& library, int device, int& count) {
    unsigned most = 0;
    auto const code = library.call_on(device, "nvmlDeviceGetMaxMigDeviceCount", &most);
    count = 0;
    for (unsigned i = 0; code == nvml_code::success && i < most; ++i) {
        Handle instance = nullptr;
        if (library.call_on(device, "nvmlDeviceGetMigDeviceHandleByIndex", i, &instance) == nvml_code::success) {
            ++count;
        }
    }
    return code;
}

NvmlApi::Call<int, std::vector<int>&> process_query(Shared library, const char* name) {
    return [library = std::move(library), name](int device, std::vector<int>& processes) {
        std::array<ProcessInfo, 128> found{};
        auto count = static_cast<unsigned>(found.size());
        auto const code = library->call_on(device, name, &count, found.data());
        for (unsigned i = 0; code == nvml_code::success && i < std::min<std::size_t>(count, found.size()); ++i) {
            processes.push_back(static_cast<int>(found[i].process));
        }
        return code;
    };
}

void add_link_queries(NvmlApi& api, const Shared& library) {
    api.link_state = link_query(library, "nvmlDeviceGetNvLinkState");
    api.link_version = link_query(library, "nvmlDeviceGetNvLinkVersion");
    api.link_remote_type = link_query(library, "nvmlDeviceGetNvLinkRemoteDeviceType");
    api.link_remote_bus = [library](int device, int link, std::string& bus) {
        PciInfo info{};
        auto const code =
            library->call_on(device, "nvmlDeviceGetNvLinkRemotePciInfo_v2", static_cast<unsigned>(link), &info);
        bus = text_of(info.bus_text);
        return code;
    };
    api.link_gbs = [library](int device, int link, double& gbs) { return speed_of_link(*library, device, link, gbs); };
}

void add_pair_queries(NvmlApi& api, const Shared& library) {
    api.p2p_status = [library](int accessor, int owner, NvmlP2p what, int& status) {
        Handle other = nullptr;
        auto const code = library->handle(owner, other);
        return code != nvml_code::success
                   ? code
                   : library->call_on(accessor, "nvmlDeviceGetP2PStatus", other, static_cast<int>(what), &status);
    };
    api.common_ancestor = [library](int a, int b, int& level) {
        Handle other = nullptr;
        auto const code = library->handle(b, other);
        return code != nvml_code::success ? code
                                          : library->call_on(a, "nvmlDeviceGetTopologyCommonAncestor", other, &level);
    };
}

/// The library's words for what is asked: temperature of the device itself, clocks, errors since it was loaded.
void add_counter_queries(NvmlApi& api, const Shared& library) {
    auto const number = [library](const char* name, unsigned which) {
        return [library, name, which](int device, int& value) {
            unsigned answer = 0;
            auto const code = library->call_on(device, name, which, &answer);
            value = static_cast<int>(answer);
            return code;
        };
    };
    api.celsius = number("nvmlDeviceGetTemperature", 0);
    api.sm_mhz = number("nvmlDeviceGetClockInfo", 1);
    api.memory_mhz = number("nvmlDeviceGetClockInfo", 2);
    auto const ecc = [library](unsigned kind) {
        return [library, kind](int device, std::uint64_t& count) {
            unsigned long long answer = 0;
            constexpr unsigned since_loaded = 0;
            auto const code = library->call_on(device, "nvmlDeviceGetTotalEccErrors", kind, since_loaded, &answer);
            count = answer;
            return code;
        };
    };
    api.ecc_corrected = ecc(0);
    api.ecc_uncorrected = ecc(1);
    api.link_errors = [library](int device, int link, int kind, std::uint64_t& count) {
        unsigned long long answer = 0;
        auto const code = library->call_on(device, "nvmlDeviceGetNvLinkErrorCounter", static_cast<unsigned>(link),
                                           static_cast<unsigned>(kind), &answer);
        count = answer;
        return code;
    };
}

void add_device_queries(NvmlApi& api, const Shared& library) {
    api.bus = [library](int device, std::string& bus) {
        PciInfo info{};
        auto const code = library->call_on(device, "nvmlDeviceGetPciInfo_v3", &info);
        bus = text_of(info.bus_text);
        return code;
    };
    api.uuid = text_query(library, "nvmlDeviceGetUUID");
    api.name = text_query(library, "nvmlDeviceGetName");
    api.memory_bytes = [library](int device, std::uint64_t& bytes) {
        Memory memory{};
        auto const code = library->call_on(device, "nvmlDeviceGetMemoryInfo", &memory);
        bytes = memory.total;
        return code;
    };
    api.window_bytes = [library](int device, std::uint64_t& bytes) {
        Memory memory{};
        auto const code = library->call_on(device, "nvmlDeviceGetBAR1MemoryInfo", &memory);
        bytes = memory.total;
        return code;
    };
    api.compute_capability = [library](int device, int& major, int& minor) {
        return library->call_on(device, "nvmlDeviceGetCudaComputeCapability", &major, &minor);
    };
    api.generation = unsigned_query(library, "nvmlDeviceGetCurrPcieLinkGeneration");
    api.width = unsigned_query(library, "nvmlDeviceGetCurrPcieLinkWidth");
    api.most_generation = unsigned_query(library, "nvmlDeviceGetMaxPcieLinkGeneration");
    api.most_width = unsigned_query(library, "nvmlDeviceGetMaxPcieLinkWidth");
    api.virtualization = unsigned_query(library, "nvmlDeviceGetVirtualizationMode");
    api.mig_mode = [library](int device, int& mode) {
        unsigned current = 0;
        unsigned pending = 0;
        auto const code = library->call_on(device, "nvmlDeviceGetMigMode", &current, &pending);
        mode = static_cast<int>(current);
        return code;
    };
    api.mig_instances = [library](int device, int& count) { return count_instances(*library, device, count); };
    api.fabric_state = [library](int device, int& state) {
        FabricInfo info{};
        auto const code = library->call_on(device, "nvmlDeviceGetGpuFabricInfo", &info);
        state = info.state;
        return code;
    };
    api.fabric_status = [library](int device, int& status) {
        FabricInfo info{};
        auto const code = library->call_on(device, "nvmlDeviceGetGpuFabricInfo", &info);
        status = info.status;
        return code;
    };
    api.display_attached = unsigned_query(library, "nvmlDeviceGetDisplayMode");
    api.display_active = unsigned_query(library, "nvmlDeviceGetDisplayActive");
    api.window_used_bytes = [library](int device, std::uint64_t& bytes) {
        Memory memory{};
        auto const code = library->call_on(device, "nvmlDeviceGetBAR1MemoryInfo", &memory);
        bytes = memory.used;
        return code;
    };
    api.busy_percent = [library](int device, int& percent) {
        std::array<unsigned, 2> rates{};  // of the device, of its memory
        auto const code = library->call_on(device, "nvmlDeviceGetUtilizationRates", rates.data());
        percent = static_cast<int>(rates[0]);
        return code;
    };
    api.milliwatts = unsigned_query(library, "nvmlDeviceGetPowerUsage");
    api.graphics_processes = process_query(library, "nvmlDeviceGetGraphicsRunningProcesses_v3");
    api.compute_processes = process_query(library, "nvmlDeviceGetComputeRunningProcesses_v3");
}

}  // namespace

std::shared_ptr<const NvmlApi> system_nvml() {
    auto const library = std::make_shared<Library>();
    auto api = std::make_shared<NvmlApi>();
    api->start = [library] {
        auto const code = library->load();
        return code != nvml_code::success ? code : library->call("nvmlInit_v2");
    };
    api->stop = [library] { return library->call("nvmlShutdown"); };
    api->words = [library](int code) { return library->words(code); };
    api->driver_version = system_text_query(library, "nvmlSystemGetDriverVersion");
    api->library_version = system_text_query(library, "nvmlSystemGetNVMLVersion");
    api->cuda_version = [library](int& version) {
        return library->call("nvmlSystemGetCudaDriverVersion_v2", &version);
    };
    api->device_count = [library](int& count) {
        unsigned answer = 0;
        auto const code = library->call("nvmlDeviceGetCount_v2", &answer);
        count = static_cast<int>(answer);
        return code;
    };
    add_device_queries(*api, library);
    add_link_queries(*api, library);
    add_counter_queries(*api, library);
    add_pair_queries(*api, library);
    return api;
}

}  // namespace peerlane
