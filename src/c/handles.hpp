#pragma once
/// What the opaque handles of the C interface hold, and how failures leave it.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <peerlane/peerlane.h>
#include <peerlane/driver.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/peering.hpp>
#include <peerlane/planner.hpp>
#include <peerlane/share.hpp>

namespace peerlane::c {

/// Handles keep each other alive through these; members go in the reverse order.
struct Sharing {
    explicit Sharing(std::shared_ptr<Driver> d) : driver(std::move(d)), share(*driver) {}
    std::shared_ptr<Driver> driver;
    Share share;
};

/// Keeps what the exception that is being handled says for the calling thread.
peerlane_status keep_failure() noexcept;
/// A status without an exception.
peerlane_status fail(peerlane_status status, const char* text) noexcept;

/// Runs `call`; nothing that it throws leaves.
template <class Call>
peerlane_status guarded(Call&& call) noexcept {
    try {
        call();
        return PEERLANE_OK;
    } catch (...) {
        return keep_failure();
    }
}

/// Throws std::invalid_argument for a null pointer.
template <class T>
T& given(T* pointer, const char* what) {
    if (pointer == nullptr) {
        throw std::invalid_argument(std::string(what) + " is NULL");
    }
    return *pointer;
}

inline StreamView view(peerlane_stream stream) {
    return {stream.device, stream.handle == 0 ? StreamView::legacy : stream.handle};
}

/// Throws std::invalid_argument for what is no place.
Place place_of(const char* text);

}  // namespace peerlane::c

struct peerlane_driver {
    std::shared_ptr<peerlane::Driver> driver;
};
struct peerlane_mover {
    std::shared_ptr<peerlane::Driver> driver;
    peerlane::Mover mover;
    peerlane::Planner planner;
};
struct peerlane_share {
    std::shared_ptr<peerlane::c::Sharing> sharing;
};
struct peerlane_imported {
    std::shared_ptr<peerlane::c::Sharing> sharing;
    peerlane::Imported imported;
};
struct peerlane_listener {
    peerlane::Listener listener;
};
struct peerlane_peer {
    std::shared_ptr<peerlane::c::Sharing> sharing;
    int process;
    peerlane::Peering peering;
};
