#pragma once
/// The names of fact:NAME=VALUE and what each does, in tables by subject. docs/findings/facts.md lists the same names.

#include <span>

#include "diagnose/fact_words.hpp"

namespace peerlane::fact_words {

struct Known {
    const char* head;
    void (*apply)(Facts&, const Word&);  ///< refuses (InputError) a value that the name does not take
};

std::span<const Known> words_of_platform();
std::span<const Known> words_of_device();
std::span<const Known> words_of_fabric();
std::span<const Known> words_of_process();

}  // namespace peerlane::fact_words
