#pragma once
/// Host memory that several processes can map. The file behind it has no name, so that nothing is left however its
/// processes end.

#include <cstdint>

#include <peerlane/driver/sharing.hpp>

namespace peerlane {

/// Move-only; unmaps in its destructor. The memory lives as long as any process maps it or holds its descriptor.
class HostSegment {
  public:
    HostSegment() = default;
    /// Fresh memory, zeroed. Throws std::invalid_argument for 0 bytes, Error (code 2) when there is not enough.
    explicit HostSegment(std::uint64_t bytes);
    /// The memory behind a descriptor that another process sent; the descriptor is not kept. Throws Error (code 1) when
    /// it is not host memory of exactly `bytes` bytes that can be mapped.
    HostSegment(const Descriptor& descriptor, std::uint64_t bytes);
    HostSegment(HostSegment&& other) noexcept;
    HostSegment& operator=(HostSegment&& other) noexcept;
    ~HostSegment();

    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    /// A descriptor for another process. Throws Error (code 2) when this process may open no more.
    [[nodiscard]] Descriptor descriptor() const;

  private:
    void map();
    Descriptor file_{};
    void* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace peerlane
