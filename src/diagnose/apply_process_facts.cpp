/// Facts in words: this process, the one beside it, and former runs.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "diagnose/apply_facts.hpp"

namespace peerlane::fact_words {
namespace {

void environment(Facts& facts, const Word& word) {
    auto& settings = facts.process.settings;
    settings.erase(
        std::remove_if(settings.begin(), settings.end(), [&](const Setting& one) { return one.name == word.subject; }),
        settings.end());
    if (word.subject.empty()) {
        word.refuse("names no variable: fact:env:NAME=VALUE");
    }
    if (word.value != "unset") {
        settings.push_back({word.subject, word.value, "environment"});
    }
}

NeighbourProcess& neighbour(Facts& facts) {
    auto& all = facts.process.neighbours;
    if (all.empty()) {
        all.push_back({"B", true, std::nullopt, std::nullopt, {}, ""});
    }
    return all.front();
}

void shm(Facts& facts, const Word& word) {
    if (word.subject == "device") {
        facts.process.shm_device = "0:24";
        neighbour(facts).shm_device = word.one_of<bool>({{"same", true}, {"different", false}}) ? "0:24" : "0:57";
    } else if (word.subject == "free") {
        facts.process.shm_free_bytes = word.bytes();
    } else {
        facts.process.shm_bytes = word.bytes();
        facts.process.shm_free_bytes = facts.process.shm_bytes;
    }
}

void namespaces(Facts& facts, const Word& word) {
    if (word.subject != "ipc" && word.subject != "pid" && word.subject != "mnt") {
        word.refuse("knows ns:ipc, ns:pid and ns:mnt");
    }
    auto const same = word.one_of<bool>({{"same", true}, {"different", false}});
    facts.process.namespaces.push_back({word.subject, word.subject + ":[4026531839]", "/proc/self/ns"});
    neighbour(facts).namespaces.push_back(
        {word.subject, word.subject + (same ? ":[4026531839]" : ":[4026532407]"), "/proc/B/ns"});
}

void visible(Facts& facts, const Word& word) {
    facts.process.runtime_order = word.list_of_buses(facts);
}

void other_visible(Facts& facts, const Word& word) {
    if (word.subject != "visible") {
        word.refuse("knows A.visible and B.visible");
    }
    auto& seen = word.head == "A" ? facts.process.runtime_order : neighbour(facts).visible.emplace();
    seen = word.list_of_buses(facts);
}

void host_devices(Facts& facts, const Word& word) {
    auto const count = word.count();
    auto& known = facts.process.driver_gpus;
    if (known.empty()) {
        known = all_buses(facts);
    }
    for (int i = 1; static_cast<int>(known.size()) < count; ++i) {
        known.push_back(fmt::format("0000:{:02x}:00.0", 0xe0 - i));
    }
    known.resize(static_cast<std::size_t>(count));
}

void key(Facts& facts, const Word& word) {
    auto const arrow = word.value.find('>');
    if (word.subject.empty() || arrow == std::string::npos) {
        word.refuse("takes THEN>NOW, as in fact:key:driver=550.54.15>550.90.07");
    }
    auto& stored = facts.run.key ? *facts.run.key : facts.run.key.emplace();
    stored.in_use = word.head == "changed";
    stored.then.push_back({word.subject, word.value.substr(0, arrow), "stored verdict"});
    stored.now.push_back({word.subject, word.value.substr(arrow + 1), "now"});
}

void open_step(Facts& facts, const Word& word) {
    OpenStep step;
    step.file = "record";
    step.step = word.value;
    auto const colon = word.value.find(':');
    auto const blank = word.value.find_first_of(" :", colon == std::string::npos ? colon : colon + 1);
    if (colon == std::string::npos || blank == std::string::npos) {
        word.refuse("takes a step, as in fact:open-step=0:1:store");
    }
    step.accessor = word.number(word.value.substr(0, colon), most_devices);
    step.owner = word.number(word.value.substr(colon + 1, blank - colon - 1), most_devices);
    step.step = fmt::format("{}:{} {}", step.accessor, step.owner, word.value.substr(blank + 1));
    step.process_alive = false;
    facts.run.open_step = step;
}

constexpr std::array known{
    Known{"env", environment},
    Known{"runtime", visible},
    Known{"visible", visible},
    Known{"host-devices", host_devices},
    Known{"A", other_visible},
    Known{"B", other_visible},
    Known{"same-host",
          [](Facts& facts, const Word& word) {
              neighbour(facts).same_host = word.one_of<bool>({{"yes", true}, {"no", false}});
          }},
    Known{"import", [](Facts& facts, const Word& word) { neighbour(facts).import_code = word.error_code(); }},
    Known{"shm", shm},
    Known{"ns", namespaces},
    Known{"open-step", open_step},
    Known{"key", key},
    Known{"changed", key},
};

}  // namespace

std::span<const Known> words_of_process() {
    return known;
}

}  // namespace peerlane::fact_words
