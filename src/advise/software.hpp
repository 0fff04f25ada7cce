#pragma once
/// What each piece of software is told. Each reads the chosen pairs and adds to the advice; sources in docs/advise.md.

#include <string>
#include <vector>

#include <peerlane/advise.hpp>

namespace peerlane::advising {

/// The chosen devices, and how they stand to each other.
struct Chosen {
    const Machine& machine;
    const Verdicts& verdicts;
    std::vector<int> devices{};       ///< in order
    std::vector<Neighbours> pairs{};  ///< among them
};

bool in_trouble(const Neighbours& pair);
/// "0:3 store wrong (flip) and 2 more".
std::string troubles_text(const std::vector<Neighbours>& pairs);
/// "1 pair", "3 pairs".
std::string pairs_text(std::size_t count);
/// "0,2,3", as CUDA_VISIBLE_DEVICES takes it.
std::string visible_devices(const std::vector<int>& devices);

/// Order and visibility, for everything on the CUDA runtime.
void add_visibility(const Chosen& chosen, Advice& advice);
void add_nccl(const Chosen& chosen, Advice& advice);
void add_vllm(const Chosen& chosen, Advice& advice);
void add_sglang(const Chosen& chosen, Advice& advice);
void add_torch(const Chosen& chosen, Advice& advice);

}  // namespace peerlane::advising
