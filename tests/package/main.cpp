/// Asks this machine for devices, as a user's first program would: either there are some, or there is a reason.

#include <cstdio>
#include <peerlane/error.hpp>
#include <peerlane/open.hpp>
#include <peerlane/place.hpp>

int main() {
    auto const available = peerlane::cuda_availability();
    try {
        auto const driver = peerlane::open_cuda();
        std::printf("%s\n", driver->description().c_str());
        return driver->device_count() == available.devices ? 0 : 1;
    } catch (const peerlane::Error& error) {
        std::printf("%s\n", error.what());
        auto const explained = available.devices == 0 && error.code() == peerlane::code::no_device &&
                               !available.reason.empty() && peerlane::parse_place("gpu1") == peerlane::gpu(1);
        return explained ? 0 : 1;
    }
}
