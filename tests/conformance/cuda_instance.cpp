/// The devices of this machine as drivers under test. Without one every case is skipped and says why.

#include <peerlane/open.hpp>

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

Opened open_cuda_rig(Rig rig) {
    if (rig != Rig::pair) {
        return {nullptr, "real devices cannot be told to refuse mappings; the simulator plays this"};
    }
    auto const available = cuda_availability();
    if (available.devices == 0) {
        return {nullptr, available.reason};
    }
    return {open_cuda(), ""};
}

}  // namespace

PEERLANE_CONFORMS(Cuda, Backend{"devices", open_cuda_rig});

}  // namespace peerlane::conformance
