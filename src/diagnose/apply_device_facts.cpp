/// Facts in words: devices and their links to the host.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "diagnose/apply_facts.hpp"

namespace peerlane::fact_words {
namespace {

void display(Facts& facts, const Word& word) {
    auto const kind = word.one_of<int>({{"boot-console", 2}, {"active", 1}, {"none", 0}});
    for (auto const& bus : buses(facts, word, word.subject)) {
        function(facts, bus).boot_display = kind == 2;
        if (auto* const device = managed(facts, bus)) {
            device->display_active = kind == 1;
        }
    }
}

void mig(Facts& facts, const Word& word) {
    auto const on = word.one_of<bool>({{"on", true}, {"off", false}});
    for (auto const& bus : buses(facts, word, word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->mig = on;
            device->mig_instances = on ? std::max(device->mig_instances, 1) : 0;
        }
    }
}

void bar1(Facts& facts, const Word& word) {
    auto const bytes = word.bytes();
    for (auto const& bus : buses(facts, word, word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->window_bytes = bytes;
            device->memory_bytes = device->memory_bytes.value_or(24ULL << 30U);
        }
        function(facts, bus).largest_window_bytes = bytes;
    }
}

/// Both ends can this much where the machine does not tell.
constexpr PciRate usual{4, 16};

void link(Facts& facts, const Word& word) {
    auto const rate = word.link_rate();
    auto const idle = word.subject == "idle";
    auto const everywhere = idle || word.subject == "load";
    for (auto const& bus : buses(facts, word, everywhere ? "any" : word.subject)) {
        auto& own = function(facts, bus);
        auto* const device = managed(facts, bus);
        auto most = own.most;
        most.generation = std::max(most.generation.value_or(*usual.generation), rate.generation.value_or(1));
        most.width = std::max(most.width.value_or(*usual.width), rate.width.value_or(1));
        PciRate const now{rate.generation ? rate.generation : most.generation, rate.width ? rate.width : most.width};
        own.most = most;
        own.current = now;
        if (device != nullptr) {
            device->most = most;
            device->current = now;
        }
        auto& loaded = facts.run.loaded;
        if (!idle) {
            loaded.erase(std::remove_if(loaded.begin(), loaded.end(), [&](auto const& one) { return one.bus == bus; }),
                         loaded.end());
            loaded.push_back({bus, now});
        }
    }
}

void slot(Facts& facts, const Word& word) {
    auto const rate = word.link_rate();
    for (auto const& bus : buses(facts, word, word.subject)) {
        give_port(facts, bus);
        auto& own = function(facts, bus);
        own.most.width = own.most.width.value_or(*usual.width);
        function(facts, function(facts, bus).above.front()).most.width = rate.width;
    }
}

void aer(Facts& facts, const Word& word) {
    auto const kind = word.one_of<int>({{"correctable", 0}, {"nonfatal", 1}, {"fatal", 2}});
    for (auto const& bus : buses(facts, word, word.subject)) {
        facts.run.errors_before.push_back({bus, 0, 0, 0});
        facts.run.errors_after.push_back({bus, kind == 0 ? 14U : 0U, kind == 1 ? 2U : 0U, kind == 2 ? 1U : 0U});
    }
}

void model(Facts& facts, const Word& word) {
    for (auto const& bus : buses(facts, word, word.subject.empty() ? "any" : word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->name = word.value;
        }
    }
}

void capability(Facts& facts, const Word& word) {
    for (auto const& bus : buses(facts, word, word.subject.empty() ? "any" : word.subject)) {
        if (auto* const device = managed(facts, bus)) {
            device->compute_capability = word.count();
        }
    }
}

void users(Facts& facts, const Word& word) {
    auto const count = word.count();
    auto const kind = word.head.substr(0, word.head.find('-'));
    for (auto const& bus : buses(facts, word, word.subject)) {
        for (int i = 0; i < count; ++i) {
            facts.process.device_users.push_back({bus, 1000 + i, kind});
        }
    }
}

void busy(Facts& facts, const Word& word) {
    auto const percent = word.number(word.value, 100);
    for (auto const& bus : buses(facts, word, word.subject)) {
        for (double const after : {2.0, 5.0}) {
            facts.run.activity.push_back({bus, percent, percent >= 95 ? 120.0 : 20.0, 0, after});
        }
    }
}

constexpr std::array known{
    Known{"link", link},
    Known{"slot", slot},
    Known{"aer", aer},
    Known{"display", display},
    Known{"bar1", bar1},
    Known{"mig", mig},
    Known{"model", model},
    Known{"capability", capability},
    Known{"graphics-processes", users},
    Known{"compute-processes", users},
    Known{"busy", busy},
};

}  // namespace

std::span<const Known> words_of_device() {
    return known;
}

}  // namespace peerlane::fact_words
