// Proves a pair of devices, plans, and moves bytes in the order of a stream. On real devices the first two lines are
// peerlane::open_cuda() and peerlane::prove::child_host().
#include <iostream>

#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/named.hpp>
#include <peerlane/prove.hpp>

using namespace peerlane;

int main() {
    auto const simulated = load_machine("dgx-1v");  // or a file: nvidia-smi topo -m, NCCL or hwloc XML, ...
    auto const driver = open_simulated(simulated);
    auto const prober = prove::in_process_host({.open = [&] { return open_simulated(simulated); }});

    auto const& machine = simulated.machine();
    auto const verdicts = prove::prove(*prober, machine, {.pairs = {{0, 6}, {6, 0}}, .simulated = true});
    Mover mover(*driver, {machine, verdicts});

    Allocation const from(*driver, {.place = gpu(0), .bytes = 256_MiB});
    Allocation const to(*driver, {.place = gpu(6), .bytes = 256_MiB});
    Stream const stream(*driver, 0);
    auto const choice = mover.choose(gpu(0), gpu(6), 256_MiB);
    mover.carry_out(choice, to.location(), from.location(), stream.view());  // returns at once
    driver->synchronize(stream.view());

    std::cout << Plan{{gpu(0), gpu(6), {256_MiB}}, {choice}}.explain();
}
