#pragma once
/// The main program of a benchmark on two devices: NAME [--simulated MACHINE] [OUT.json].

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include <peerlane/named.hpp>
#include <peerlane/open.hpp>

#include "bench_report.hpp"

namespace peerlane::bench {

/// Opens what is asked for, runs `run(driver)`, prints the table and writes the document. The exit status.
template <class Run>
int main_of(const char* name, int argc, char** argv, Run&& run) {
    try {
        std::string command = name, out;
        std::unique_ptr<Driver> driver;
        for (int i = 1; i < argc; ++i) {
            command.append(" ").append(argv[i]);
            if (std::strcmp(argv[i], "--simulated") == 0 && i + 1 < argc) {
                command.append(" ").append(argv[i + 1]);
                driver = open_simulated(load_machine(argv[++i]));
            } else {
                out = argv[i];
            }
        }
        if (!driver) {
            driver = open_cuda();
        }
        if (driver->device_count() < 2) {
            throw std::runtime_error("two devices are needed");
        }
        Report report = run(*driver);
        report.command = command;
        std::fputs(report.table().c_str(), stdout);
        if (!out.empty() && !(std::ofstream(out) << report.json())) {
            throw std::runtime_error("cannot write " + out);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return 1;
    }
}

}  // namespace peerlane::bench
