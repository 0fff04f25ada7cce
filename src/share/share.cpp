#include <peerlane/share.hpp>

#include <cstring>
#include <stdexcept>

#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "share/ledger.hpp"

namespace peerlane {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

Marker marker_of(std::uint64_t key) {
    Marker marker{};
    write_pattern({key, 0}, marker.data(), marker.size());
    return marker;
}

const char* cure_of_export(int refused) {
    return refused == code::not_supported ? "share plain memory, virtual memory allocated exportable, memory of a pool "
                                            "that was made exportable, or "
                                            "host memory of Share::allocate_host"
           : refused == code::invalid_value
               ? "virtual memory must have been allocated exportable, and the address must lie in memory of a device"
               : "ask peerlane doctor what this machine lets processes share";
}

}  // namespace

Share::Share(Driver& driver, const ShareOptions& options) : ledger_(std::make_shared<Ledger>(driver, options)) {}

Share::~Share() {
    Lock const lock(ledger_->mutex);
    ledger_->over = true;
    auto const tried = [](auto&& call) {
        try {
            call();
        } catch (const std::exception&) {  // after a device error nothing can be given back
        }
    };
    for (auto& entry : ledger_->exports) {
        tried([&] { ledger_->restore(entry.second); });
    }
    for (auto& entry : ledger_->imports) {
        tried([&] { ledger_->unmap(entry.second); });
    }
    ledger_->imports.clear();
    for (auto& entry : ledger_->segments) {
        if (entry.second.registered) {
            tried([&] { ledger_->driver.unregister_host(entry.first); });
        }
    }
    ledger_->segments.clear();
    ledger_->scratch = {};
}

Driver& Share::driver() const {
    return ledger_->driver;
}

void* Share::allocate_host(std::uint64_t bytes) {
    Ledger::Segment segment{HostSegment(bytes)};
    auto* const data = segment.memory.data();
    if (!ledger_->driver.simulated()) {  // a simulated device sees no memory of the real host
        ledger_->driver.register_host(address_of(data), bytes);
        segment.registered = true;
    }
    Lock const lock(ledger_->mutex);
    ledger_->segments.emplace(address_of(data), std::move(segment));
    return data;
}

void Share::free_host(void* data) {
    Lock const lock(ledger_->mutex);
    auto const found = ledger_->segments.find(address_of(data));
    if (found == ledger_->segments.end()) {
        throw std::invalid_argument("share: free_host takes what allocate_host gave");
    }
    if (ledger_->exporting.count(found->first) != 0) {
        throw std::invalid_argument("share: this host memory is exported: withdraw it first");
    }
    if (found->second.registered) {
        ledger_->driver.unregister_host(found->first);
    }
    ledger_->segments.erase(found);
}

SharedRange Share::export_range(const void* at, std::uint64_t bytes, bool marker) {
    if (bytes == 0) {
        throw std::invalid_argument("share: 0 bytes");
    }
    Lock const lock(ledger_->mutex);
    auto& driver = ledger_->driver;
    SharedRange range;
    auto& handle = range.handle;
    if (auto* const segment = ledger_->segment_of(address_of(at))) {
        handle.kind = MemoryKind::registered;
        handle.process = ::getpid();
        handle.owner = -1;
        handle.base = address_of(segment->memory.data());
        handle.bytes = segment->memory.bytes();
        handle.offset = address_of(at) - handle.base;
        handle.descriptor = segment->memory.descriptor();
        range.host = true;
    } else {
        auto outcome = driver.export_memory(address_of(at));
        if (!outcome.usable()) {
            throw Error({outcome.code, "export_memory", -1, -1, cure_of_export(outcome.code)});
        }
        handle = std::move(outcome.handle);
        range.owner = device_name(driver.machine(), handle.owner);
    }
    if (bytes > handle.bytes - handle.offset) {
        throw std::invalid_argument(fmt::format("share: {} bytes at offset {} reach outside an allocation of {}", bytes,
                                                handle.offset, handle.bytes));
    }
    Ledger::Export exported{address_of(at), handle.base, bytes, 0, {}, {}, 0};
    if (!range.host) {
        exported.device = handle.owner;
    }
    range.bytes = bytes;
    range.exporter = ledger_->self;
    range.id = ledger_->last_id + 1;
    if (marker && bytes >= marker_bytes) {
        range.marker_key = mix64(ledger_->self + range.id) | 1;
        auto const wanted = marker_of(range.marker_key);
        exported.hidden.emplace();
        if (exported.device) {
            ledger_->read(*exported.device, exported.at, exported.hidden->data(), marker_bytes);
            ledger_->write(*exported.device, exported.at, wanted.data(), marker_bytes);
        } else {
            std::memcpy(exported.hidden->data(), at, marker_bytes);
            std::memcpy(pointer_to(exported.at), wanted.data(), marker_bytes);
        }
    }
    auto& allocation = ledger_->exporting[handle.base];
    if (allocation.number == 0 || allocation.bytes != handle.bytes) {  // or freed without being withdrawn
        allocation = {++ledger_->last_allocation, handle.bytes, 0};
    }
    ++allocation.exports;
    exported.allocation = range.allocation = allocation.number;
    ledger_->exports.emplace(++ledger_->last_id, exported);
    return range;
}

void Share::restore(std::uint64_t id) {
    Lock const lock(ledger_->mutex);
    ledger_->restore(ledger_->known(id));
}

void Share::opened_elsewhere(std::uint64_t id) {
    Lock const lock(ledger_->mutex);
    ++ledger_->known(id).open_elsewhere;
}

void Share::closed_elsewhere(std::uint64_t id) {
    Lock const lock(ledger_->mutex);
    auto& exported = ledger_->known(id);
    if (exported.open_elsewhere == 0) {
        throw std::invalid_argument(fmt::format("share: export {} is not open elsewhere", id));
    }
    --exported.open_elsewhere;
}

int Share::open_elsewhere(std::uint64_t id) const {
    Lock const lock(ledger_->mutex);
    return ledger_->known(id).open_elsewhere;
}

bool Share::withdraw(std::uint64_t id, bool even_if_open) {
    Lock const lock(ledger_->mutex);
    auto& exported = ledger_->known(id);
    if (exported.open_elsewhere > 0 && !even_if_open) {
        return false;
    }
    ledger_->restore(exported);
    auto const allocation = ledger_->exporting.find(exported.base);
    if (allocation != ledger_->exporting.end() && allocation->second.number == exported.allocation &&
        --allocation->second.exports == 0) {
        ledger_->exporting.erase(allocation);
    }
    ledger_->exports.erase(id);
    return true;
}

std::optional<Finding> Share::check_free(const void* at) const {
    Lock const lock(ledger_->mutex);
    Finding finding{"stale-mapping", Finding::Severity::error, {}, {}, {}};
    auto const address = address_of(at);
    for (auto const& [id, exported] : ledger_->exports) {
        auto const allocation = ledger_->exporting.find(exported.base);
        auto const whole = allocation == ledger_->exporting.end() ? exported.at - exported.base + exported.bytes
                                                                  : allocation->second.bytes;
        if (exported.open_elsewhere > 0 && address >= exported.base && address - exported.base < whole) {
            finding.evidence.push_back(fmt::format("export {}: {} bytes at {:#x} are open in other processes {} time{}",
                                                   id, exported.bytes, static_cast<std::uint64_t>(exported.at),
                                                   exported.open_elsewhere, exported.open_elsewhere == 1 ? "" : "s"));
        }
    }
    if (finding.evidence.empty()) {
        return std::nullopt;
    }
    finding.cure = "close the imports first: touching one of them afterwards ends their process's use of its devices";
    return finding;
}

std::vector<Finding> Share::findings() const {
    Lock const lock(ledger_->mutex);
    std::vector<Finding> all;
    for (auto const& [key, mapping] : ledger_->imports) {
        all.push_back({"leaked-mapping",
                       Finding::Severity::warn,
                       {},
                       {fmt::format("{} bytes of process {} are mapped at {:#x}, imported {} time{}", mapping.bytes,
                                    mapping.process, static_cast<std::uint64_t>(mapping.base), mapping.uses,
                                    mapping.uses == 1 ? "" : "s")},
                       "close the import before its owner frees the memory"});
    }
    std::map<Address, bool> told;
    for (auto const& entry : ledger_->exports) {
        if (!told[entry.second.base]) {
            if (auto finding = check_free(pointer_to(entry.second.base))) {
                told[entry.second.base] = true;
                all.push_back(*std::move(finding));
            }
        }
    }
    return all;
}

}  // namespace peerlane
