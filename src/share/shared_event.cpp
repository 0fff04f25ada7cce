#include <algorithm>
#include <array>
#include <utility>

#include <peerlane/error.hpp>
#include <peerlane/share.hpp>

namespace peerlane {

SharedEvent::SharedEvent(Driver& driver, int device) : driver_(&driver) {
    auto const outcome = driver.create_shared_event(device);
    if (outcome.usable()) {
        event_ = outcome.event;
        token_.assign(outcome.token.begin(), outcome.token.end());
    }
}

SharedEvent::SharedEvent(Driver& driver, int device, std::string_view token) : driver_(&driver), token_(token) {
    if (token.empty()) {
        return;
    }
    std::array<std::uint8_t, 64> bytes{};
    if (token.size() != bytes.size()) {
        throw InputError("token of an event", 0, "has not 64 bytes");
    }
    std::copy(token.begin(), token.end(), bytes.begin());
    auto const outcome = driver.import_event(bytes, device);
    if (!outcome.usable()) {
        throw Error({outcome.code, "import_event", device, -1, "its owner has ended, or this process is its owner"});
    }
    event_ = outcome.event;
}

SharedEvent::SharedEvent(SharedEvent&& other) noexcept
    : driver_(other.driver_), event_(std::exchange(other.event_, std::nullopt)), token_(std::move(other.token_)) {}

SharedEvent& SharedEvent::operator=(SharedEvent&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(event_, other.event_);
    std::swap(token_, other.token_);
    return *this;
}

SharedEvent::~SharedEvent() {
    if (event_) {
        try {
            driver_->destroy_event(*event_);
        } catch (const std::exception&) {  // after a device error nothing can be given back
        }
    }
}

void SharedEvent::record(StreamView stream) {
    if (event_) {
        driver_->record(*event_, stream);
    } else {
        driver_->synchronize(stream);
    }
}

void SharedEvent::wait(StreamView stream) {
    if (event_) {
        driver_->wait(stream, *event_);
    }
}

}  // namespace peerlane
