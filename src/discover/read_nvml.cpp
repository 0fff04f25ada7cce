#include "discover/read_nvml.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "discover/nvml_api.hpp"
#include "machine/read/text.hpp"

namespace peerlane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double slow_s = 1;
constexpr int most_listed = most_devices;

double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
}

/// What the asking thread and the waiting one share. Outlives whichever ends last.
struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    NvmlFacts facts;   ///< answers so far, in whole devices
    std::string call;  ///< under way; empty between calls
    int device = -1;
    Clock::time_point since;
    bool done = false;
};

/// Runs in the thread that may be left behind.
class Questions {
  public:
    Questions(std::shared_ptr<const NvmlApi> api, std::shared_ptr<Shared> shared, NvmlQuestions what)
        : api_(std::move(api)), shared_(std::move(shared)), what_(what) {}

    void run() {
        try {
            auto const code = ask("nvmlInit", -1, api_->start);
            if (code == nvml_code::success) {
                facts_.state = NvmlFacts::State::ok;
                ask_system();
                ask("nvmlShutdown", -1, api_->stop);
            } else {
                refused(code);
            }
        } catch (const std::exception& error) {
            facts_.state = NvmlFacts::State::failed;
            facts_.reason = error.what();
        }
        std::lock_guard const lock(shared_->mutex);
        shared_->facts = std::move(facts_);
        shared_->done = true;
        shared_->changed.notify_all();
    }

  private:
    template <class... Parameters, class... Arguments>
    int ask(const char* name, int device, const std::function<int(Parameters...)>& function, Arguments&&... arguments) {
        if (!function) {
            return nvml_code::function_not_found;
        }
        auto const since = Clock::now();
        {
            std::lock_guard const lock(shared_->mutex);
            shared_->call = name;
            shared_->device = device;
            shared_->since = since;
        }
        // Every call wakes the waiter, since the bound of the first is longer than those of the others.
        shared_->changed.notify_all();
        auto const code = function(std::forward<Arguments>(arguments)...);
        auto const seconds = seconds_since(since);
        std::lock_guard const lock(shared_->mutex);
        shared_->call.clear();
        if (seconds > slow_s) {
            facts_.slow.push_back({name, device, seconds});
        }
        return code;
    }

    /// The answer, or empty. `before` are the arguments that stand before the result.
    template <class Value, class Function, class... Before>
    std::optional<Value> value(const char* name, int device, const Function& function, Before... before) {
        Value answer{};
        return ask(name, device, function, before..., answer) == nvml_code::success ? std::optional(answer)
                                                                                    : std::nullopt;
    }

    void refused(int code) {
        facts_.state = code == nvml_code::library_not_found ? NvmlFacts::State::absent : NvmlFacts::State::failed;
        facts_.code = code;
        auto const words = api_->words ? api_->words(code) : std::string();
        facts_.reason = code == nvml_code::library_not_found ? "libnvidia-ml.so.1 is not installed"
                        : words.empty()                      ? fmt::format("nvmlInit answered {}", code)
                                                             : fmt::format("nvmlInit answered {}: {}", code, words);
    }

    void publish() {
        std::lock_guard const lock(shared_->mutex);
        shared_->facts = facts_;
    }

    void ask_system() {
        facts_.driver_version = value<std::string>("nvmlSystemGetDriverVersion", -1, api_->driver_version).value_or("");
        facts_.library_version = value<std::string>("nvmlSystemGetNVMLVersion", -1, api_->library_version).value_or("");
        facts_.cuda_version = value<int>("nvmlSystemGetCudaDriverVersion", -1, api_->cuda_version);
        auto const count = value<int>("nvmlDeviceGetCount", -1, api_->device_count).value_or(0);
        publish();
        for (int index = 0; index < std::min(count, most_listed); ++index) {
            ask_device(index);
            publish();
        }
        if (what_ != NvmlQuestions::everything) {
            return;
        }
        for (auto const& a : std::vector(facts_.devices)) {
            for (auto const& b : facts_.devices) {
                if (a.index != b.index) {
                    ask_pair(a, b);
                }
            }
            publish();
        }
    }

    /// A number that the library gives as unsigned; 0 and "all ones" mean that it does not know.
    std::optional<int> positive(const char* name, int device, const NvmlApi::Call<int, int&>& function) {
        auto const answer = value<int>(name, device, function, device);
        return answer && *answer > 0 ? answer : std::nullopt;
    }

    std::optional<bool> yes(const char* name, int device, const NvmlApi::Call<int, int&>& function) {
        auto const answer = value<int>(name, device, function, device);
        return answer ? std::optional(*answer != 0) : std::nullopt;
    }

    void ask_device(int index) {
        NvmlDevice device;
        device.index = index;
        auto const bus = value<std::string>("nvmlDeviceGetPciInfo", index, api_->bus, index);
        auto const address = read::bus_address(bus.value_or(""));
        if (!address) {
            return;  // nothing of it could be joined with anything else
        }
        device.bus = *address;
        if (what_ == NvmlQuestions::counters) {
            ask_counters(device);
            return;
        }
        ask_activity(device);
        if (what_ == NvmlQuestions::activity) {
            facts_.devices.push_back(std::move(device));
            return;
        }
        device.uuid = value<std::string>("nvmlDeviceGetUUID", index, api_->uuid, index).value_or("");
        device.name = value<std::string>("nvmlDeviceGetName", index, api_->name, index).value_or("");
        device.memory_bytes = value<std::uint64_t>("nvmlDeviceGetMemoryInfo", index, api_->memory_bytes, index);
        device.window_bytes = value<std::uint64_t>("nvmlDeviceGetBAR1MemoryInfo", index, api_->window_bytes, index);
        int major = 0;
        int minor = 0;
        if (ask("nvmlDeviceGetCudaComputeCapability", index, api_->compute_capability, index, major, minor) ==
            nvml_code::success) {
            device.compute_capability = major * 10 + minor;
        }
        device.current = {positive("nvmlDeviceGetCurrPcieLinkGeneration", index, api_->generation),
                          positive("nvmlDeviceGetCurrPcieLinkWidth", index, api_->width)};
        device.most = {positive("nvmlDeviceGetMaxPcieLinkGeneration", index, api_->most_generation),
                       positive("nvmlDeviceGetMaxPcieLinkWidth", index, api_->most_width)};
        if (auto const mode = value<int>("nvmlDeviceGetMigMode", index, api_->mig_mode, index)) {
            device.mig = *mode != 0;
        }
        if (device.mig.value_or(false)) {
            device.mig_instances =
                value<int>("nvmlDeviceGetMigDeviceHandleByIndex", index, api_->mig_instances, index).value_or(0);
        }
        device.fabric_state = value<int>("nvmlDeviceGetGpuFabricInfo", index, api_->fabric_state, index);
        if (device.fabric_state == 3) {
            device.fabric_status = value<int>("nvmlDeviceGetGpuFabricInfo", index, api_->fabric_status, index);
        }
        device.display_attached = yes("nvmlDeviceGetDisplayMode", index, api_->display_attached);
        device.display_active = yes("nvmlDeviceGetDisplayActive", index, api_->display_active);
        device.window_used_bytes =
            value<std::uint64_t>("nvmlDeviceGetBAR1MemoryInfo", index, api_->window_used_bytes, index);
        device.virtualization = value<int>("nvmlDeviceGetVirtualizationMode", index, api_->virtualization, index);
        ask_links(device);
        facts_.devices.push_back(std::move(device));
    }

    void ask_activity(NvmlDevice& device) {
        device.busy_percent =
            value<int>("nvmlDeviceGetUtilizationRates", device.index, api_->busy_percent, device.index);
        if (auto const power = value<int>("nvmlDeviceGetPowerUsage", device.index, api_->milliwatts, device.index)) {
            device.watts = *power / 1000.0;
        }
        ask_users(device, "graphics", "nvmlDeviceGetGraphicsRunningProcesses", api_->graphics_processes);
        ask_users(device, "compute", "nvmlDeviceGetComputeRunningProcesses", api_->compute_processes);
    }

    void ask_counters(const NvmlDevice& device) {
        auto const index = device.index;
        DeviceCounters all;
        all.bus = device.bus;
        all.ecc_corrected = value<std::uint64_t>("nvmlDeviceGetTotalEccErrors", index, api_->ecc_corrected, index);
        all.ecc_uncorrected = value<std::uint64_t>("nvmlDeviceGetTotalEccErrors", index, api_->ecc_uncorrected, index);
        all.celsius = value<int>("nvmlDeviceGetTemperature", index, api_->celsius, index);
        all.sm_mhz = positive("nvmlDeviceGetClockInfo", index, api_->sm_mhz);
        all.memory_mhz = positive("nvmlDeviceGetClockInfo", index, api_->memory_mhz);
        auto const add = [&](std::optional<std::uint64_t>& sum, int link, int kind) {
            std::uint64_t count = 0;
            if (ask("nvmlDeviceGetNvLinkErrorCounter", index, api_->link_errors, index, link, kind, count) ==
                nvml_code::success) {
                sum = sum.value_or(0) + count;
            }
        };
        for (int link = 0; link < nvml_most_links; ++link) {
            int active = 0;
            auto const code = ask("nvmlDeviceGetNvLinkState", index, api_->link_state, index, link, active);
            if (code == nvml_code::success) {
                add(all.nvlink_replays, link, nvml_link_error::replay);
                add(all.nvlink_recoveries, link, nvml_link_error::recovery);
                add(all.nvlink_crc_errors, link, nvml_link_error::crc_of_flits);
                add(all.nvlink_crc_errors, link, nvml_link_error::crc_of_data);
            } else if (code != nvml_code::not_supported || link == 0) {
                break;
            }
        }
        facts_.counters.push_back(std::move(all));
    }

    void ask_users(NvmlDevice& device, const char* kind, const char* name,
                   const NvmlApi::Call<int, std::vector<int>&>& function) {
        if (auto const found = value<std::vector<int>>(name, device.index, function, device.index)) {
            if (!device.users) {
                device.users.emplace();
            }
            for (auto const process : *found) {
                device.users->push_back({process, kind});
            }
        }
    }

    void ask_links(NvmlDevice& device) {
        for (int number = 0; number < nvml_most_links; ++number) {
            int active = 0;
            auto const code =
                ask("nvmlDeviceGetNvLinkState", device.index, api_->link_state, device.index, number, active);
            if (code != nvml_code::success) {
                if (number == 0) {
                    device.links_code = code;
                }
                if (code == nvml_code::not_supported && number > 0) {
                    continue;  // this number is not fitted, a higher one may be
                }
                if (code == nvml_code::not_supported || code == nvml_code::invalid_argument ||
                    code == nvml_code::function_not_found) {
                    return;
                }
                continue;
            }
            NvmlLink link;
            link.number = number;
            link.active = active != 0;
            ask_link(device.index, link);
            device.links.push_back(std::move(link));
        }
    }

    void ask_link(int device, NvmlLink& link) {
        constexpr std::array generations{0, 1, 2, 2, 3, 3, 4, 5, 6};  // the library counts 2.0 and 2.2 apart
        auto const version = value<int>("nvmlDeviceGetNvLinkVersion", device, api_->link_version, device, link.number);
        if (version && *version > 0 && static_cast<std::size_t>(*version) < generations.size()) {
            link.generation = generations[static_cast<std::size_t>(*version)];
        }
        if (!link.active) {
            return;
        }
        auto const gbs = value<double>("nvmlDeviceGetFieldValues", device, api_->link_gbs, device, link.number);
        if (gbs && *gbs > 0) {
            link.gbs = gbs;
        }
        switch (value<int>("nvmlDeviceGetNvLinkRemoteDeviceType", device, api_->link_remote_type, device, link.number)
                    .value_or(255)) {
            case 0:
                link.remote = NvmlLink::Remote::device;
                break;
            case 1:
                link.remote = NvmlLink::Remote::cpu;
                break;
            case 2:
                link.remote = NvmlLink::Remote::nvswitch;
                break;
            default:
                break;
        }
        auto const far =
            value<std::string>("nvmlDeviceGetNvLinkRemotePciInfo", device, api_->link_remote_bus, device, link.number);
        auto const bus = read::bus_address(far.value_or(""));
        // A far end that this system does not show has the address FFFFFFFF:FF:FF.0.
        if (bus && bus->find(":ff:ff.") == std::string::npos) {
            link.remote_bus = *bus;
        }
    }

    std::optional<std::string> claim(const NvmlDevice& accessor, const NvmlDevice& owner, NvmlP2p what) {
        constexpr std::array words{"OK", "CNS", "GNS", "TNS", "DR", "NS", "U"};
        auto const status =
            value<int>("nvmlDeviceGetP2PStatus", accessor.index, api_->p2p_status, accessor.index, owner.index, what);
        return status && *status >= 0 && static_cast<std::size_t>(*status) < words.size()
                   ? std::optional<std::string>(words[static_cast<std::size_t>(*status)])
                   : std::nullopt;
    }

    void ask_pair(const NvmlDevice& accessor, const NvmlDevice& owner) {
        NvmlPair pair;
        pair.accessor = accessor.bus;
        pair.owner = owner.bus;
        pair.claims.read = claim(accessor, owner, NvmlP2p::read);
        pair.claims.write = claim(accessor, owner, NvmlP2p::write);
        pair.claims.nvlink = claim(accessor, owner, NvmlP2p::nvlink);
        pair.claims.atomics = claim(accessor, owner, NvmlP2p::atomics);
        pair.claims.pcie = claim(accessor, owner, NvmlP2p::pcie);
        pair.ancestor = value<int>("nvmlDeviceGetTopologyCommonAncestor", accessor.index, api_->common_ancestor,
                                   accessor.index, owner.index);
        facts_.pairs.push_back(std::move(pair));
    }

    std::shared_ptr<const NvmlApi> api_;
    std::shared_ptr<Shared> shared_;
    NvmlQuestions what_;
    NvmlFacts facts_;
};

Clock::time_point after(Clock::time_point then, double seconds) {
    return then + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

NvmlFacts read_nvml(const std::shared_ptr<const NvmlApi>& api, NvmlBounds bounds, NvmlQuestions what) {
    NvmlFacts none;
    if (!api || !api->start) {
        none.reason = "not asked";
        return none;
    }
    auto const shared = std::make_shared<Shared>();
    auto const begin = Clock::now();
    try {
        std::thread([questions = Questions(api, shared, what)]() mutable { questions.run(); }).detach();
    } catch (const std::system_error& error) {
        none.state = NvmlFacts::State::failed;
        none.reason = fmt::format("no thread to ask it from: {}", error.what());
        return none;
    }
    std::unique_lock lock(shared->mutex);
    while (!shared->done) {
        auto end = after(begin, bounds.total_s);
        if (!shared->call.empty()) {
            auto const bound = shared->call == "nvmlInit" ? bounds.start_s : bounds.call_s;
            end = std::min(end, after(shared->since, bound));
        }
        if (Clock::now() >= end) {
            auto facts = shared->facts;
            facts.state = NvmlFacts::State::hung;
            auto const name = shared->call.empty() ? std::string("all questions together") : shared->call;
            auto const waited = seconds_since(shared->call.empty() ? begin : shared->since);
            facts.hung = NvmlCall{name, shared->device, waited};
            facts.reason = fmt::format("{} did not return within {:.3g} s", name, waited);
            return facts;
        }
        shared->changed.wait_until(lock, end);
    }
    return shared->facts;
}

const NvmlDevice* NvmlFacts::device(const std::string& bus) const {
    auto const found = std::find_if(devices.begin(), devices.end(), [&](auto const& one) { return one.bus == bus; });
    return found == devices.end() ? nullptr : &*found;
}

const NvmlPair* NvmlFacts::pair(const std::string& accessor, const std::string& owner) const {
    auto const found = std::find_if(pairs.begin(), pairs.end(),
                                    [&](auto const& one) { return one.accessor == accessor && one.owner == owner; });
    return found == pairs.end() ? nullptr : &*found;
}

}  // namespace peerlane
