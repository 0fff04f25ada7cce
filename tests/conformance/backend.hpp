#pragma once
/// A driver under test. Each instance file (`*_instance.cpp`) names one and instantiates every suite with it.

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include <peerlane/driver.hpp>

namespace peerlane::conformance {

/// Machines that cases ask for.
enum class Rig : std::uint8_t {
    pair,            ///< any machine; cases that need two devices skip where there is one
    eight_slots,     ///< ten devices, each of which can map eight peers
    refused_mapping  ///< a pair whose mapping 0:1 is refused with code 205 although the driver claims it
};

/// Either a driver or the reason why there is none.
struct Opened {
    std::unique_ptr<Driver> driver;
    std::string why_not;
};

struct Backend {
    const char* name;
    Opened (*open)(Rig rig);
};

/// The name alone: test listings must not differ from run to run.
inline void PrintTo(const Backend& backend, std::ostream* out) {
    *out << backend.name;
}
inline std::string name_of(const testing::TestParamInfo<Backend>& info) {
    return info.param.name;
}

}  // namespace peerlane::conformance
