#pragma once
/// NCCL's send and receive between two devices of this process, where the library is found at run time.

#include <cstdint>
#include <memory>
#include <string>

#include <peerlane/driver/order_types.hpp>

namespace peerlane::bench {

class Nccl {
  public:
    /// Empty where there is no libnccl.so.2 or it does not start; `reason` says why.
    static std::unique_ptr<Nccl> open(int from, int to, std::string& reason);
    Nccl(const Nccl&) = delete;
    Nccl& operator=(const Nccl&) = delete;
    ~Nccl();
    /// Both halves of one transfer, queued in a stream of either device.
    void send(Address to, Address from, std::uint64_t bytes, StreamView sender, StreamView receiver);
    [[nodiscard]] int version() const;

  private:
    struct Library;
    explicit Nccl(std::unique_ptr<Library> library);
    std::unique_ptr<Library> library_;
};

}  // namespace peerlane::bench
