// Traces against the rules of the Trace Event Format: what Perfetto and chrome://tracing need to draw them.

#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <peerlane/named.hpp>
#include <peerlane/simulation.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

using Json = nlohmann::json;
using Track = std::pair<std::int64_t, std::int64_t>;

/// Every rule that an event breaks, in words.
class Validator {
  public:
    std::vector<std::string> check(const Json& document) {
        if (!document.is_object() || !document.contains("traceEvents") || !document["traceEvents"].is_array()) {
            return {"no array traceEvents"};
        }
        for (auto const& event : document["traceEvents"]) {
            one(event);
            ++index_;
        }
        for (auto const& [track, open] : open_) {
            need(open.empty(), "a B without its E");
        }
        for (auto const& track : used_) {
            need(named_threads_.count(track) == 1, fmt::format("thread {} has no name", track.second));
        }
        for (auto const process : processes_) {
            need(named_processes_.count(process) == 1, fmt::format("process {} has no name", process));
        }
        return std::move(broken_);
    }

  private:
    void need(bool holds, const std::string& rule) {
        if (!holds) {
            broken_.push_back(fmt::format("event {}: {}", index_, rule));
        }
    }

    void one(const Json& event) {
        auto const has = [&](const char* key, auto is) { return event.contains(key) && (event[key].*is)(); };
        need(has("ph", &Json::is_string) && has("name", &Json::is_string), "ph and name are words");
        need(
            has("ts", &Json::is_number) && has("pid", &Json::is_number_integer) && has("tid", &Json::is_number_integer),
            "ts, pid and tid are numbers");
        if (!broken_.empty()) {
            return;
        }
        auto const ph = event["ph"].get<std::string>(), name = event["name"].get<std::string>();
        auto const ts = event["ts"].get<double>();
        Track const track{event["pid"], event["tid"]};
        need(std::isfinite(ts) && ts >= 0, "ts is a time");
        processes_.insert(track.first);
        if (ph == "M") {
            metadata(event, name, track);
        } else if (ph == "X") {
            need(has("dur", &Json::is_number) && event["dur"].get<double>() >= 0, "X has a dur");
            used_.insert(track);
        } else if (ph == "B") {
            used_.insert(track);
            open_[track].push_back(ts);
        } else if (ph == "E") {
            need(!open_[track].empty() && open_[track].back() <= ts, "E without its B");
            if (!open_[track].empty()) {
                open_[track].pop_back();
            }
        } else if (ph == "C") {
            auto const key = std::pair(track.first, name);
            auto const before = counters_.find(key);
            need(before == counters_.end() || before->second <= ts, "times of a counter go back: " + name);
            counters_[key] = ts;
            need(has("args", &Json::is_object) && !event["args"].empty(), "C has args");
            for (auto const& value : event["args"]) {
                need(value.is_number(), "values of a counter are numbers");
            }
        } else {
            need(false, "no such ph here: " + ph);
        }
    }

    void metadata(const Json& event, const std::string& name, Track track) {
        need(event.contains("args") && event["args"].is_object(), "M has args");
        if (name == "process_name" || name == "thread_name") {
            need(event["args"]["name"].is_string() && !event["args"]["name"].get<std::string>().empty(), "a name");
            if (name == "process_name") {
                need(named_processes_.insert(track.first).second, "a process is named twice");
            } else {
                need(named_threads_.insert(track).second, "a thread is named twice");
            }
        } else {
            need(name == "thread_sort_index" && event["args"]["sort_index"].is_number_integer(), "M of a known kind");
        }
    }

    std::vector<std::string> broken_{};
    std::size_t index_ = 0;
    std::set<std::int64_t> processes_{}, named_processes_{};
    std::set<Track> used_{}, named_threads_{};
    std::map<Track, std::vector<double>> open_{};
    std::map<std::pair<std::int64_t, std::string>, double> counters_{};
};

TEST(TraceRules, FindWhatIsBroken) {
    auto const broken = [](const char* events) {
        return Validator().check(Json::parse(fmt::format(R"({{"traceEvents": [{}]}})", events))).size();
    };
    EXPECT_EQ(broken(""), 0U);
    EXPECT_EQ(broken(R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "dur": 1})"), 1U) << "no ts";
    EXPECT_GE(broken(R"({"ph": "E", "name": "a", "pid": 1, "tid": 1, "ts": 1})"), 1U);
    EXPECT_EQ(broken(R"({"ph": "M", "name": "process_name", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "p"}},
                        {"ph": "C", "name": "c", "ts": 2, "pid": 1, "tid": 0, "args": {"v": 1}},
                        {"ph": "C", "name": "c", "ts": 1, "pid": 1, "tid": 0, "args": {"v": 1}})"),
              1U);
}

TEST(TraceRules, HoldForEveryKindOfTrace) {
    for (auto const* pattern : {"all-to-all", "random:60,9", "host-to-all"}) {
        auto const machine = load_machine("rtx4090-8-dual-epyc");
        auto const flows = pattern_flows(pattern, machine.machine(), {0, 1, 2, 3, 4, 5, 6, 7},
                                         {.bytes = 1 * MiB, .step_s = 3e-6, .phases = 2});
        for (auto const strategy : {Strategy::driver, Strategy::library, Strategy::peerlane}) {
            auto const simulation = simulate(machine, flows, {.strategy = strategy, .relief = false, .loads = true});
            auto const document = Json::parse(simulation_trace(simulation));
            EXPECT_EQ(Validator().check(document), std::vector<std::string>{}) << pattern << to_string(strategy);
            EXPECT_GT(document["traceEvents"].size(), flows.size());
        }
    }
    auto const machine = load_machine("h200-pair");
    auto const hang =
        simulate(machine, {{gpu(0), gpu(1), 4096}}, {.faults = {parse_fault("push:0:1=hang")}, .loads = true});
    EXPECT_EQ(Validator().check(Json::parse(simulation_trace(hang))), std::vector<std::string>{});
}

}  // namespace
}  // namespace peerlane
