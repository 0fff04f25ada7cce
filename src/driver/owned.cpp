#include <peerlane/driver/owned.hpp>

#include <exception>

namespace peerlane {
namespace {

/// Giving back must not throw: after a sticky device error every call fails, and there is nothing left to give back.
template <class F>
void quietly(F&& give_back) noexcept {
    try {
        give_back();
    } catch (const std::exception&) {
    }
}

}  // namespace

Stream::~Stream() {
    if (driver_ != nullptr) {
        quietly([this] { driver_->destroy_stream(view_); });
    }
}

Stream& Stream::operator=(Stream&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(view_, other.view_);
    return *this;
}

Event::~Event() {
    if (driver_ != nullptr) {
        quietly([this] { driver_->destroy_event(view_); });
    }
}

Event& Event::operator=(Event&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(view_, other.view_);
    return *this;
}

Allocation::~Allocation() {
    if (driver_ != nullptr) {
        quietly([this] { driver_->free(at_.address); });
    }
}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

const char* to_string(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::plain:
            return "plain";
        case MemoryKind::pool:
            return "pool";
        case MemoryKind::virtual_memory:
            return "virtual";
        case MemoryKind::managed:
            return "managed";
        case MemoryKind::pinned:
            return "pinned";
        case MemoryKind::registered:
            return "registered";
        case MemoryKind::pageable:
            return "pageable";
    }
    return "unknown";
}

}  // namespace peerlane
