#include "share/ledger.hpp"

#include <cstring>
#include <stdexcept>

#include <sys/random.h>
#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

namespace peerlane {
namespace {

/// Not zero, and not that of another process.
std::uint64_t drawn() {
    std::uint64_t value = 0;
    if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
        value = mix64(static_cast<std::uint64_t>(::getpid()) << 32 | reinterpret_cast<std::uintptr_t>(&value));
    }
    return value | 1;
}

}  // namespace

Share::Ledger::Ledger(Driver& d, const ShareOptions& o) : driver(d), options(o), self(drawn()) {}

void Share::Ledger::move(int device, Location to, Location from, std::uint64_t bytes) {
    Stream stream(driver, device);
    Event done(driver, device);
    driver.copy(stream.view(), {to, from, bytes});
    driver.record(done.view(), stream.view());
    if (!driver.wait_for(done.view(), options.seconds)) {
        // Giving anything of it back would wait for the copy that hangs.
        static_cast<void>(stream.release());
        static_cast<void>(new Event(std::move(done)));
        static_cast<void>(scratch.release());
        scratch = {};
        throw Error({code::launch_timeout, "copy of the marker", device, -1,
                     fmt::format("it is not done after {:.0f} s: run peerlane doctor", options.seconds)});
    }
}

void Share::Ledger::read(int device, Address from, void* to, std::uint64_t bytes) {
    if (scratch.bytes() == 0) {
        scratch = Allocation(driver, {host(), marker_bytes, MemoryKind::pinned});
    }
    move(device, scratch.location(), {gpu(device), from}, bytes);
    driver.read_host(scratch.address(), to, bytes);
}

void Share::Ledger::write(int device, Address to, const void* from, std::uint64_t bytes) {
    if (scratch.bytes() == 0) {
        scratch = Allocation(driver, {host(), marker_bytes, MemoryKind::pinned});
    }
    driver.write_host(scratch.address(), from, bytes);
    move(device, {gpu(device), to}, scratch.location(), bytes);
}

void Share::Ledger::restore(Export& exported) {
    if (!exported.hidden) {
        return;
    }
    if (exported.device) {
        write(*exported.device, exported.at, exported.hidden->data(), marker_bytes);
    } else {
        std::memcpy(pointer_to(exported.at), exported.hidden->data(), marker_bytes);
    }
    exported.hidden.reset();
}

void Share::Ledger::unmap(Mapping& mapping) {
    if (!mapping.host) {
        driver.close_import(mapping.closed_by);
        return;
    }
    if (!driver.simulated()) {
        driver.unregister_host(mapping.base);
    }
    mapping.host.reset();
}

void Share::Ledger::release(const Key& key) {
    auto const found = imports.find(key);
    if (found == imports.end() || --found->second.uses > 0) {
        return;
    }
    auto mapping = std::move(found->second);
    imports.erase(found);
    unmap(mapping);
}

Share::Ledger::Export& Share::Ledger::known(std::uint64_t id) {
    auto const found = exports.find(id);
    if (found == exports.end()) {
        throw std::invalid_argument(fmt::format("share: {} is no export of this process", id));
    }
    return found->second;
}

Share::Ledger::Segment* Share::Ledger::segment_of(Address at) {
    auto const after = segments.upper_bound(at);
    if (after == segments.begin()) {
        return nullptr;
    }
    auto& segment = std::prev(after)->second;
    return at - std::prev(after)->first < segment.memory.bytes() ? &segment : nullptr;
}

}  // namespace peerlane
