#include <stdexcept>

#include <fmt/format.h>
#include <peerlane/courier.hpp>

#include "move/carrier.hpp"

namespace peerlane {

Courier::Courier(Driver& driver, const Ready& ready, int device, const CourierOptions& options)
    : carrier_(std::make_unique<move::Carrier>(driver, ready, device, options)) {}
Courier::Courier(Courier&&) noexcept = default;
Courier& Courier::operator=(Courier&&) noexcept = default;
Courier::~Courier() = default;

namespace {

move::MessageEnds checked(move::Carrier& carrier, void* to, const void* from, std::uint64_t bytes,
                          const MessageOptions& options) {
    move::MessageEnds const ends{address_of(to), address_of(from), bytes};
    carrier.check_ends(ends);
    if (bytes != 0) {
        carrier.check_range(ends.to, bytes, true);
        carrier.check_range(ends.from, bytes, false);
    }
    if (options.then_set) {
        carrier.check_flag(*options.then_set);
    }
    return ends;
}

}  // namespace

Message Courier::post(void* to, const void* from, std::uint64_t bytes, const MessageOptions& options) {
    return carrier_->post(checked(*carrier_, to, from, bytes, options), options);
}

Message Courier::post(StreamView stream, void* to, const void* from, std::uint64_t bytes,
                      const MessageOptions& options) {
    return carrier_->post_in(stream, checked(*carrier_, to, from, bytes, options), options);
}

Channel Courier::channel(void* to, std::uint64_t to_bytes, const void* from, std::uint64_t from_bytes) {
    carrier_->check_range(address_of(to), to_bytes, true);
    carrier_->check_range(address_of(from), from_bytes, false);
    Channel made;
    made.carrier_ = carrier_.get();
    made.to_ = address_of(to);
    made.from_ = address_of(from);
    made.to_bytes_ = to_bytes;
    made.from_bytes_ = from_bytes;
    return made;
}

Message Channel::post(std::uint64_t to_offset, std::uint64_t from_offset, std::uint64_t bytes,
                      const MessageOptions& options) {
    if (carrier_ == nullptr) {
        throw std::invalid_argument("channel: it belongs to no courier");
    }
    auto const inside = [bytes](std::uint64_t offset, std::uint64_t room) {
        return bytes <= room && offset <= room - bytes;
    };
    if (!inside(to_offset, to_bytes_) || !inside(from_offset, from_bytes_)) {
        throw std::invalid_argument(fmt::format("message: {} bytes leave the channel's ranges", bytes));
    }
    move::MessageEnds const ends{to_ + to_offset, from_ + from_offset, bytes};
    carrier_->check_ends(ends);
    if (options.then_set && options.then_set != flag_) {
        carrier_->check_flag(*options.then_set);
        flag_ = options.then_set;
    }
    return carrier_->post(ends, options);
}

void Courier::start() {
    carrier_->start();
}
void Courier::leave() {
    carrier_->leave();
}
DeviceRing* Courier::device_ring() const {
    return carrier_->device_ring();
}
int Courier::device() const {
    return carrier_->device();
}
Courier::Counters Courier::counters() const {
    return carrier_->counters();
}

bool Message::done() const {
    return carrier_ == nullptr || carrier_->done(*this);
}
bool Message::wait(double seconds) const {
    return carrier_ == nullptr || carrier_->wait(*this, seconds);
}
void Message::wait_in(StreamView stream) const {
    if (carrier_ != nullptr) {
        carrier_->wait_in(*this, stream);
    }
}

}  // namespace peerlane
