#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "share/ledger.hpp"

namespace peerlane {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

const char* cure_of_import(int refused) {
    return refused == code::peer_access_unsupported || refused == code::invalid_device
               ? "the device cannot reach the owner's memory: exchange through host memory (Share::allocate_host)"
           : refused == code::invalid_context ? "memory of the process itself needs no import"
           : refused == code::invalid_value   ? "its owner has ended, or freed the memory, or the handle is damaged"
                                            : "run peerlane doctor: its way import_legacy or import_virtual says more";
}

}  // namespace

Imported Share::import_range(const SharedRange& range, int device) {
    auto const& handle = range.handle;
    if (range.bytes == 0 || handle.offset >= handle.bytes || range.bytes > handle.bytes - handle.offset) {
        throw std::invalid_argument("share: the range reaches outside its allocation");
    }
    auto& driver = ledger_->driver;
    if (device < 0 || device >= driver.device_count()) {
        throw std::invalid_argument(fmt::format("share: this process has no device {}", device));
    }
    Lock const lock(ledger_->mutex);
    Ledger::Key const key{range.exporter, range.allocation, range.host ? -1 : device};
    auto& mapping = ledger_->imports[key];
    auto const drop_new = [&] {
        if (mapping.uses == 0) {
            ledger_->imports.erase(key);
        }
    };
    if (mapping.uses == 0) {
        try {
            if (range.host) {
                mapping.host.emplace(handle.descriptor, handle.bytes);
                mapping.base = address_of(mapping.host->data());
                if (!driver.simulated()) {
                    driver.register_host(mapping.base, handle.bytes);
                }
            } else {
                auto const outcome = driver.import_memory(handle, device);
                if (!outcome.usable()) {
                    throw Error({outcome.code, "import_memory", device,
                                 find_device(driver.machine(), range.owner).value_or(-1),
                                 cure_of_import(outcome.code)});
                }
                mapping.closed_by = outcome.at;
                mapping.base = Address{outcome.at - Address{handle.offset}};
            }
        } catch (...) {
            drop_new();
            throw;
        }
        mapping.bytes = handle.bytes;
        mapping.process = handle.process;
    }
    if (mapping.bytes != handle.bytes) {
        throw Error({code::invalid_value, "import_range", device, -1,
                     "its allocation is mapped here with another size: close that import first"});
    }
    ++mapping.uses;
    Imported imported;
    imported.state_ = std::make_shared<Imported::State>();
    auto& state = *imported.state_;
    state.ledger = ledger_;
    state.key = key;
    state.base = mapping.base;
    state.at = mapping.base + handle.offset;
    state.bytes = range.bytes;
    state.whole = handle.bytes;
    state.id = range.id;
    state.owner = range.host ? std::nullopt : find_device(driver.machine(), range.owner);
    if (range.marker_key != 0) {
        Marker wanted{}, seen{};
        write_pattern({range.marker_key, 0}, wanted.data(), wanted.size());
        if (range.host) {
            std::memcpy(seen.data(), pointer_to(state.at), seen.size());
        } else {
            ledger_->read(device, state.at, seen.data(), seen.size());
        }
        if (seen != wanted) {  // `imported` closes what was opened
            throw Error({code::invalid_value, "import_range", device, state.owner.value_or(-1),
                         fmt::format("the bytes at offset {} are not the marker that the owner put there: the memory "
                                     "is another one by now, or the marker is gone (restored or overwritten)",
                                     handle.offset)});
        }
    }
    return imported;
}

Imported& Imported::operator=(Imported&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

Imported::~Imported() {
    try {
        close();
    } catch (const std::exception&) {  // after a device error nothing can be given back
    }
}

void Imported::close() {
    if (auto const state = std::exchange(state_, nullptr)) {
        Lock const lock(state->ledger->mutex);
        if (!state->ledger->over) {
            state->ledger->release(state->key);
        }
    }
}

void* Imported::data() const {
    return state_ ? pointer_to(state_->at) : nullptr;
}
void* Imported::base() const {
    return state_ ? pointer_to(state_->base) : nullptr;
}
std::uint64_t Imported::bytes() const {
    return state_ ? state_->bytes : 0;
}
std::uint64_t Imported::whole_bytes() const {
    return state_ ? state_->whole : 0;
}
std::uint64_t Imported::id() const {
    return state_ ? state_->id : 0;
}
std::optional<int> Imported::owner() const {
    return state_ ? state_->owner : std::nullopt;
}

}  // namespace peerlane
