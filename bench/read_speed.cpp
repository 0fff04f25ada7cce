// How long reading a description of a machine takes: read_speed FILE... prints the median of 21 readings of each.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <peerlane/named.hpp>

#include "machine/read/reader.hpp"

int main(int argc, char** argv) {
    try {
        for (int i = 1; i < argc; ++i) {
            auto const text = peerlane::read_input(argv[i]);
            std::vector<double> ms;
            std::size_t devices = 0;
            for (int round = 0; round < 21; ++round) {
                auto const start = std::chrono::steady_clock::now();
                devices = peerlane::read::read_machine({argv[i], text}).devices.size();
                ms.push_back(
                    std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
            }
            std::nth_element(ms.begin(), ms.begin() + 10, ms.end());
            std::printf("%8.3f ms  %2zu devices  %zu bytes  %s\n", ms[10], devices, text.size(), argv[i]);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "read_speed: %s\n", error.what());
        return 1;
    }
}
