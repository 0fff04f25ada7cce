#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <peerlane/watch.hpp>

namespace peerlane {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string escaped(const std::string& text) {
    std::string out;
    for (auto const c : text) {
        if (c == '\n') {
            out += "\\n";
        } else {
            out += c == '\\' || c == '"' ? std::string{'\\', c} : std::string(1, c);
        }
    }
    return out;
}

/// Metrics come one after the other, each with all its samples.
class Metrics {
  public:
    void begin(const char* name, const char* type, const char* help) {
        name_ = std::string("peerlane_") + name;
        head_ = fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
    }
    void sample(const Labels& labels, double value) {
        text_ += std::exchange(head_, {});  // a metric without samples is not named
        std::string inside;
        for (auto const& [key, word] : labels) {
            inside += fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", key, escaped(word));
        }
        text_ += fmt::format("{}{} {}\n", name_, inside.empty() ? "" : "{" + inside + "}", value);
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::string name_, head_, text_;
};

class Writer {
  public:
    Writer(const Machine& machine, const Verdicts& verdicts, const Facts& facts)
        : machine_(machine), verdicts_(verdicts), facts_(facts) {}

    std::string write(const WatchedRun& run) {
        about(run);
        devices();
        pairs();
        findings();
        counters();
        return metrics_.text();
    }

  private:
    [[nodiscard]] std::string bus(int device) const {
        auto const* const known = machine_.device(device);
        return known == nullptr ? "" : known->bus.value_or("");
    }
    [[nodiscard]] std::string uuid(int device) const {
        auto const* const known = machine_.device(device);
        if (known != nullptr && known->uuid) {
            return *known->uuid;
        }
        auto const* const managed = facts_.nvml.device(bus(device));
        return managed == nullptr ? "" : managed->uuid;
    }
    [[nodiscard]] Labels device_labels(int device) const {
        return {{"gpu", fmt::to_string(device)}, {"bus", bus(device)}, {"uuid", uuid(device)}};
    }
    [[nodiscard]] Labels pair_labels(const char* first, int a, const char* second, int b) const {
        return {{first, fmt::to_string(a)},
                {std::string(first) + "_bus", bus(a)},
                {std::string(first) + "_uuid", uuid(a)},
                {second, fmt::to_string(b)},
                {std::string(second) + "_bus", bus(b)},
                {std::string(second) + "_uuid", uuid(b)}};
    }

    void about(const WatchedRun& run) {
        metrics_.begin("build_info", "gauge", "The version that wrote this.");
        metrics_.sample({{"version", run.version}}, 1);
        metrics_.begin("last_run_timestamp_seconds", "gauge", "When the last run ended, since 1970.");
        metrics_.sample({}, run.ended_s);
        if (run.seconds) {
            metrics_.begin("last_run_duration_seconds", "gauge", "How long the last run took.");
            metrics_.sample({}, *run.seconds);
        }
        metrics_.begin("last_run_passive", "gauge", "1: nothing was moved, claims and counters were read.");
        metrics_.sample({}, run.passive ? 1 : 0);
        metrics_.begin("simulated", "gauge", "1: of a simulated machine.");
        metrics_.sample({}, verdicts_.simulated ? 1 : 0);
        metrics_.begin("status", "gauge", "1 for what the last run came to.");
        for (auto const status : {Status::healthy, Status::degraded, Status::broken, Status::inconclusive}) {
            metrics_.sample({{"status", to_string(status)}}, verdicts_.status == status ? 1 : 0);
        }
    }

    void devices() {
        metrics_.begin("devices", "gauge", "Devices of the machine.");
        metrics_.sample({}, static_cast<double>(machine_.devices.size()));
        metrics_.begin("device_info", "gauge", "What a device is.");
        for (auto const& device : machine_.devices) {
            auto labels = device_labels(device.id);
            labels.emplace_back("model", device.model.value_or(""));
            metrics_.sample(labels, 1);
        }
    }

    void pairs() {
        metrics_.begin("pair_claimed", "gauge", "1 where the driver says that the accessor may reach the owner.");
        for (auto const& pair : verdicts_.pairs) {
            auto const claim = pair[Check::claim].result;
            if (claim == Result::ok || claim == Result::no) {
                metrics_.sample(pair_labels("accessor", pair.accessor, "owner", pair.owner), claim == Result::ok);
            }
        }
        metrics_.begin("pair_checks", "gauge", "Checks of a directed pair by their result.");
        for (auto const& pair : verdicts_.pairs) {
            std::map<Result, int> counts{{Result::ok, 0}, {Result::wrong, 0}, {Result::hang, 0}, {Result::error, 0}};
            for (auto const& check : pair.checks) {
                ++counts[check.result];
            }
            for (auto const& [result, count] : counts) {
                if (result == Result::skipped || result == Result::no) {
                    continue;
                }
                auto labels = pair_labels("accessor", pair.accessor, "owner", pair.owner);
                labels.emplace_back("result", to_string(result));
                metrics_.sample(labels, count);
            }
        }
        metrics_.begin("route_direct", "gauge", "1 where data should go directly, 0 where through the host or not.");
        for (auto const& route : verdicts_.routes) {
            if (route.use != RouteVerdict::Use::none) {
                metrics_.sample(pair_labels("source", route.source, "destination", route.destination),
                                route.use == RouteVerdict::Use::direct);
            }
        }
        rates("route_direct_bytes_per_second", "Rate of one direct transfer alone.", &RouteVerdict::direct_gbs);
        rates("route_staged_bytes_per_second", "The same through the host.", &RouteVerdict::staged_gbs);
    }

    void rates(const char* name, const char* help, std::optional<double> RouteVerdict::*gbs) {
        metrics_.begin(name, "gauge", help);
        for (auto const& route : verdicts_.routes) {
            if (auto const& rate = route.*gbs) {
                metrics_.sample(pair_labels("source", route.source, "destination", route.destination), *rate * 1e9);
            }
        }
    }

    void findings() {
        metrics_.begin("findings", "gauge", "Causes that were found, by code and severity.");
        std::map<std::pair<std::string, std::string>, int> counts;
        for (auto const& finding : verdicts_.findings) {
            ++counts[{finding.code, to_string(finding.severity)}];
        }
        for (auto const& [key, count] : counts) {
            metrics_.sample({{"code", key.first}, {"severity", key.second}}, count);
        }
    }

    void counters() {
        auto const& errors = facts_.run.errors_after.empty() ? facts_.run.errors_before : facts_.run.errors_after;
        metrics_.begin("pcie_errors_total", "counter", "PCI Express errors that a function has counted.");
        for (auto const& one : errors) {
            for (auto const& [kind, count] : {std::pair("correctable", one.correctable),
                                              std::pair("nonfatal", one.nonfatal), std::pair("fatal", one.fatal)}) {
                if (count) {
                    metrics_.sample({{"bus", one.bus}, {"kind", kind}}, static_cast<double>(*count));
                }
            }
        }
        device_counters();
        links("nvlinks", "NVLinks that a device has.", [](const NvmlDevice& device) -> std::optional<double> {
            return device.links.empty() ? std::nullopt : std::optional(static_cast<double>(device.links.size()));
        });
        links("nvlinks_active", "NVLinks of a device that are up.",
              [](const NvmlDevice& device) -> std::optional<double> {
                  if (device.links.empty()) {
                      return std::nullopt;
                  }
                  return static_cast<double>(std::count_if(device.links.begin(), device.links.end(),
                                                           [](const NvmlLink& link) { return link.active; }));
              });
        links("pcie_lanes", "Lanes of a device's link to the host, as it is.",
              [](const NvmlDevice& device) -> std::optional<double> { return device.current.width; });
        links("pcie_lanes_max", "Lanes of a device's link to the host at best.",
              [](const NvmlDevice& device) -> std::optional<double> { return device.most.width; });
    }

    void device_counters() {
        using Number = std::optional<std::uint64_t>;
        auto const& run = facts_.run;
        auto const& all = run.counters_after.empty() ? run.counters_before : run.counters_after;
        auto const each = [&](const char* name, const char* type, const char* help, const char* label, auto values) {
            metrics_.begin(name, type, help);
            for (auto const& device : machine_.devices) {
                auto const found = std::find_if(all.begin(), all.end(), [&](const DeviceCounters& one) {
                    return device.bus && one.bus == *device.bus;
                });
                if (found == all.end()) {
                    continue;
                }
                for (auto const& [word, value] : values(*found)) {
                    if (value) {
                        auto labels = device_labels(device.id);
                        if (label != nullptr) {
                            labels.emplace_back(label, word);
                        }
                        metrics_.sample(labels, static_cast<double>(*value));
                    }
                }
            }
        };
        each("nvlink_errors_total", "counter", "Errors of a device's NVLinks since the driver was loaded.", "kind",
             [](const DeviceCounters& one) {
                 return std::vector<std::pair<const char*, Number>>{{"replay", one.nvlink_replays},
                                                                    {"recovery", one.nvlink_recoveries},
                                                                    {"crc", one.nvlink_crc_errors}};
             });
        each("ecc_errors_total", "counter", "Errors of a device's memory since the driver was loaded.", "kind",
             [](const DeviceCounters& one) {
                 return std::vector<std::pair<const char*, Number>>{{"corrected", one.ecc_corrected},
                                                                    {"uncorrected", one.ecc_uncorrected}};
             });
        each("temperature_celsius", "gauge", "Of a device.", nullptr, [](const DeviceCounters& one) {
            return std::vector<std::pair<const char*, std::optional<int>>>{{"", one.celsius}};
        });
        each("clock_hertz", "gauge", "Of a device's multiprocessors and memory.", "clock",
             [](const DeviceCounters& one) {
                 auto const hertz = [](std::optional<int> mhz) {
                     return mhz ? std::optional(*mhz * 1e6) : std::nullopt;
                 };
                 return std::vector<std::pair<const char*, std::optional<double>>>{{"sm", hertz(one.sm_mhz)},
                                                                                   {"memory", hertz(one.memory_mhz)}};
             });
    }

    template <class Value>
    void links(const char* name, const char* help, Value value) {
        metrics_.begin(name, "gauge", help);
        for (auto const& device : machine_.devices) {
            auto const* const managed = facts_.nvml.device(device.bus.value_or(""));
            auto const number = managed == nullptr ? std::nullopt : value(*managed);
            if (number) {
                metrics_.sample(device_labels(device.id), *number);
            }
        }
    }

    const Machine& machine_;
    const Verdicts& verdicts_;
    const Facts& facts_;
    Metrics metrics_{};
};

}  // namespace

std::string prometheus_text(const WatchedRun& run, const Machine& machine, const Verdicts& verdicts,
                            const Facts& facts) {
    return Writer(machine, verdicts, facts).write(run);
}

}  // namespace peerlane
