#include "move/reach.hpp"

#include <algorithm>

#include <peerlane/error.hpp>

#include "plan/trust.hpp"

namespace peerlane::move {

bool may_use(const Ready& ready, const Leg& leg) {
    return plan::trust_of(ready.machine, ready.verdicts, ready.trust_claimed, leg).refusal.empty();
}

bool reaches(const Provenance& memory, int issuer) {
    return !memory.place.is_device() || memory.place.index == issuer || memory.kind == MemoryKind::managed ||
           std::count(memory.kernel_access.begin(), memory.kernel_access.end(), issuer) != 0;
}

void grant_reach(Driver& driver, int issuer, Address at, const Provenance& memory, const char* call) {
    if (memory.kind == MemoryKind::virtual_memory) {
        static_cast<void>(driver.grant(at, issuer, Access::read_write));
    } else if (memory.pool) {
        static_cast<void>(driver.grant(*memory.pool, issuer, Access::read_write));
    }
    if (!reaches(driver.provenance(at), issuer)) {
        throw Error({code::illegal_address, call, issuer, memory.place.index,
                     "kernels cannot reach this memory and it cannot be granted: allocate it otherwise"});
    }
}

}  // namespace peerlane::move
