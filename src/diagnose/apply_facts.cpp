/// Faults of the form fact:NAME=VALUE, said of facts.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diagnose/apply_facts.hpp"

namespace peerlane::fact_words {
namespace {

const Known* known(const std::string& head) {
    for (auto const& table : {words_of_platform(), words_of_device(), words_of_fabric(), words_of_process()}) {
        for (auto const& one : table) {
            if (head == one.head) {
                return &one;
            }
        }
    }
    return nullptr;
}

}  // namespace

std::vector<std::string> heads() {
    std::vector<std::string> all;
    for (auto const& table : {words_of_platform(), words_of_device(), words_of_fabric(), words_of_process()}) {
        for (auto const& one : table) {
            all.emplace_back(one.head);
        }
    }
    return all;
}

}  // namespace peerlane::fact_words

namespace peerlane {

Facts apply_facts(Facts facts, std::span<const Fault> faults) {
    for (auto const& fault : faults) {
        if (fault.what != Fault::What::fact) {
            continue;
        }
        fact_words::Word const word(fault);
        auto const* const found = fact_words::known(word.head);
        if (found == nullptr) {
            word.refuse(fmt::format("is no known fact; known are {}", fmt::join(fact_words::heads(), ", ")));
        }
        found->apply(facts, word);
    }
    return facts;
}

}  // namespace peerlane
