#include <new>

#include <peerlane/error.hpp>
#include <peerlane/named.hpp>
#include <peerlane/rendezvous.hpp>

#include "c/handles.hpp"

namespace peerlane::c {
namespace {

struct Failure {
    std::string text;
    int code = 0;
};
thread_local Failure last;

peerlane_status status_of(int of_driver) {
    switch (of_driver) {
        case code::no_device:
            return PEERLANE_NO_DEVICE;
        case code::launch_timeout:
            return PEERLANE_TIMEOUT;
        case code::not_ready:
            return PEERLANE_MISSING;
        case code::out_of_memory:
            return PEERLANE_NO_MEMORY;
        default:
            return PEERLANE_FAILED;
    }
}

peerlane_status keep(peerlane_status status, const char* text, int of_driver = 0) noexcept {
    last.code = of_driver;
    try {
        last.text = text;
    } catch (const std::bad_alloc&) {
        last.text.clear();
    }
    return status;
}

}  // namespace

peerlane_status fail(peerlane_status status, const char* text) noexcept {
    return keep(status, text);
}

peerlane_status keep_failure() noexcept {
    try {
        throw;
    } catch (const Error& error) {
        return keep(status_of(error.code()), error.what(), error.code());
    } catch (const PeerGone& gone) {
        return keep(PEERLANE_PEER_GONE, gone.what());
    } catch (const InputError& error) {
        return keep(PEERLANE_INPUT, error.what());
    } catch (const NoSuchMachine& none) {
        return keep(PEERLANE_INPUT, none.what());
    } catch (const std::logic_error& error) {
        return keep(PEERLANE_INVALID, error.what());
    } catch (const std::bad_alloc&) {
        return keep(PEERLANE_NO_MEMORY, "no host memory", code::out_of_memory);
    } catch (const std::exception& error) {
        return keep(PEERLANE_INTERNAL, error.what());
    } catch (...) {
        return keep(PEERLANE_INTERNAL, "an exception of no known kind");
    }
}

Place place_of(const char* text) {
    auto const place = parse_place(&given(text, "a place"));
    if (!place) {
        throw std::invalid_argument(std::string("\"") + text + "\" is no place: gpu0, host, host:1");
    }
    return *place;
}

}  // namespace peerlane::c

const char* peerlane_last_error(void) {
    return peerlane::c::last.text.c_str();
}

int peerlane_last_code(void) {
    return peerlane::c::last.code;
}
