// The C interface: devices, memory, plans and copies.

#include <algorithm>
#include <cstring>
#include <vector>

#include <peerlane/error.hpp>
#include <peerlane/named.hpp>
#include <peerlane/open.hpp>
#include <peerlane/prepare.hpp>
#include <peerlane/simulated.hpp>

#include "c/handles.hpp"

namespace {

using namespace peerlane;
using c::given;
using c::guarded;

std::string text_or_empty(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

AllocationRequest request_of(const char* place, std::uint64_t bytes, peerlane_memory kind) {
    AllocationRequest request{c::place_of(place), bytes, MemoryKind::plain};
    switch (kind) {
        case PEERLANE_PLAIN:
            return request;
        case PEERLANE_POOL:
            request.kind = MemoryKind::pool;
            return request;
        case PEERLANE_VIRTUAL_EXPORTABLE:
            request.exportable = true;
            request.kind = MemoryKind::virtual_memory;
            return request;
        case PEERLANE_VIRTUAL:
            request.kind = MemoryKind::virtual_memory;
            return request;
        case PEERLANE_MANAGED:
            request.kind = MemoryKind::managed;
            return request;
        case PEERLANE_PINNED:
            request.kind = MemoryKind::pinned;
            return request;
    }
    throw std::invalid_argument("this kind of memory is not known");
}

PrepareOptions options_of(const peerlane_prepare_options& from) {
    if (from.size < sizeof from) {
        throw std::invalid_argument("peerlane_prepare_options: `size` is not that of the struct");
    }
    PrepareOptions options;
    options.cache = text_or_empty(from.cache);
    options.prober = text_or_empty(from.prober);
    options.when_missing = from.refuse_missing != 0 ? Missing::refuse : Missing::prove;
    if (from.measure < 0 || from.measure > 2) {
        throw std::invalid_argument("peerlane_prepare_options: `measure` is 0, 1 or 2");
    }
    options.measure = static_cast<Measuring>(from.measure);
    options.wait_s = from.wait_s > 0 ? from.wait_s : options.wait_s;
    options.depends_on = text_or_empty(from.depends_on);
    for (std::size_t i = 0; i < from.device_count; ++i) {
        auto const* const all = &given(from.devices, "devices");
        std::string const name = &given(all[i], "a device");
        options.devices.push_back(name.find(':') == std::string::npos ? DeviceName{name, ""} : DeviceName{"", name});
    }
    if (from.progress != nullptr) {
        options.progress = [call = from.progress, user = from.user](const PrepareProgress& progress) {
            call(user, progress.waiting ? 1 : 0, progress.seconds, progress.what.c_str());
        };
    }
    return options;
}

std::unique_ptr<peerlane_mover> mover_of(const std::shared_ptr<Driver>& driver, const Ready& ready) {
    PlannerOptions options;
    options.trust_claimed = ready.trust_claimed;
    return std::unique_ptr<peerlane_mover>(new peerlane_mover{
        driver, Mover(*driver, ready), Planner(ready.machine, ready.verdicts, ready.profile, options)});
}

Plan plan_of(const peerlane_mover* mover, const char* from, const char* to, std::uint64_t bytes) {
    return given(mover, "the mover").planner.plan({c::place_of(from), c::place_of(to), {bytes}});
}

void put_text(const std::string& text, char* out, std::size_t room, std::size_t* needed) {
    if (needed != nullptr) {
        *needed = text.size() + 1;
    }
    if (room > 0) {
        auto const part = std::min(text.size(), room - 1);
        std::memcpy(&given(out, "out"), text.data(), part);
        out[part] = '\0';
    }
}

}  // namespace

const char* peerlane_version(void) {
    return PEERLANE_C_VERSION;
}

peerlane_status peerlane_open_cuda(peerlane_driver** out) {
    return guarded([&] {
        auto& made = given(out, "out");  // before anything is made that would be lost
        made = new peerlane_driver{open_cuda()};
    });
}

peerlane_status peerlane_open_simulated(const char* machine, const char* const* faults, size_t fault_count,
                                        peerlane_driver** out) {
    return guarded([&] {
        SimOptions options;
        for (std::size_t i = 0; i < fault_count; ++i) {
            auto const* const* const all = &given(faults, "faults");
            options.faults.push_back(parse_fault(&given(all[i], "a fault")));
        }
        auto& made = given(out, "out");  // before anything is made that would be lost
        made = new peerlane_driver{open_simulated(load_machine(&given(machine, "the machine")), options)};
    });
}

void peerlane_close(peerlane_driver* driver) {
    delete driver;
}

int peerlane_device_count(const peerlane_driver* driver) {
    return driver == nullptr ? 0 : driver->driver->device_count();
}

peerlane_status peerlane_stream_create(peerlane_driver* driver, int device, peerlane_stream* out) {
    return guarded([&] {
        auto& into = given(out, "out");
        auto const stream = given(driver, "the driver").driver->create_stream(device);
        into = {stream.device, stream.handle};
    });
}

peerlane_status peerlane_stream_destroy(peerlane_driver* driver, peerlane_stream stream) {
    return guarded([&] { given(driver, "the driver").driver->destroy_stream(c::view(stream)); });
}

peerlane_status peerlane_stream_synchronize(peerlane_driver* driver, peerlane_stream stream) {
    return guarded([&] { given(driver, "the driver").driver->synchronize(c::view(stream)); });
}

peerlane_status peerlane_allocate(peerlane_driver* driver, const char* place, uint64_t bytes, peerlane_memory kind,
                                  void** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        into = pointer_to(given(driver, "the driver").driver->allocate(request_of(place, bytes, kind)));
    });
}

peerlane_status peerlane_free(peerlane_driver* driver, void* memory) {
    return guarded([&] { given(driver, "the driver").driver->free(address_of(memory)); });
}

peerlane_status peerlane_write_host(peerlane_driver* driver, void* to, const void* from, uint64_t bytes) {
    return guarded([&] { given(driver, "the driver").driver->write_host(address_of(to), from, bytes); });
}

peerlane_status peerlane_read_host(peerlane_driver* driver, const void* from, void* to, uint64_t bytes) {
    return guarded([&] { given(driver, "the driver").driver->read_host(address_of(from), to, bytes); });
}

peerlane_status peerlane_prepare(peerlane_driver* driver, const peerlane_prepare_options* options,
                                 peerlane_mover** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        auto const& opened = given(driver, "the driver").driver;
        into =
            mover_of(opened, prepare(*opened, options == nullptr ? PrepareOptions() : options_of(*options))).release();
    });
}

peerlane_status peerlane_trust_claimed(peerlane_driver* driver, peerlane_mover** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        auto const& opened = given(driver, "the driver").driver;
        Ready ready;
        ready.machine = known_machine(*opened);
        ready.trust_claimed = true;
        into = mover_of(opened, ready).release();
    });
}

void peerlane_mover_close(peerlane_mover* mover) {
    delete mover;
}

peerlane_status peerlane_plan_text(const peerlane_mover* mover, const char* from, const char* to, uint64_t bytes,
                                   char* out, size_t room, size_t* needed) {
    return guarded([&] { put_text(plan_of(mover, from, to, bytes).explain(), out, room, needed); });
}

peerlane_status peerlane_plan_json(const peerlane_mover* mover, const char* from, const char* to, uint64_t bytes,
                                   char* out, size_t room, size_t* needed) {
    return guarded([&] { put_text(plan_json(plan_of(mover, from, to, bytes)), out, room, needed); });
}

peerlane_status peerlane_copy(peerlane_mover* mover, void* to, const void* from, uint64_t bytes,
                              peerlane_stream stream) {
    return guarded([&] { given(mover, "the mover").mover.copy(to, from, bytes, c::view(stream)); });
}

peerlane_status peerlane_copy_pages(peerlane_mover* mover, const peerlane_pages* pages, peerlane_stream stream) {
    return guarded([&] {
        auto const& from = given(pages, "the pages");
        if (from.size < sizeof from) {
            throw std::invalid_argument("peerlane_pages: `size` is not that of the struct");
        }
        auto const indices = [&](const void* at) {
            PageIndices numbers;
            numbers.at = at;
            numbers.bytes = from.index_bytes == 0 && at == nullptr ? 8 : from.index_bytes;
            return numbers;
        };
        PageCopy copy;
        copy.dst = from.dst;
        copy.src = from.src;
        copy.page_bytes = from.page_bytes;
        copy.dst_index = indices(from.dst_index);
        copy.src_index = indices(from.src_index);
        copy.count = from.count;
        copy.dst_pitch = from.dst_pitch;
        copy.src_pitch = from.src_pitch;
        given(mover, "the mover").mover.copy_pages(copy, c::view(stream));
    });
}

peerlane_status peerlane_synchronize(peerlane_mover* mover) {
    return guarded([&] { given(mover, "the mover").mover.synchronize(); });
}
