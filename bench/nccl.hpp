#pragma once
/// NCCL's grouped send and receive among all devices of this process, where the library is found at run time.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <peerlane/driver/order_types.hpp>

namespace peerlane::bench {

struct NcclSend {
    int from = 0, to = 0;  ///< devices
    Address source = Address::null, destination = Address::null;
    std::uint64_t bytes = 0;
};

class NcclGroup {
  public:
    /// Empty where there is no libnccl.so.2 or it does not start for `devices` devices; `reason` says why.
    static std::unique_ptr<NcclGroup> open(int devices, std::string& reason);
    NcclGroup(const NcclGroup&) = delete;
    NcclGroup& operator=(const NcclGroup&) = delete;
    ~NcclGroup();
    /// All of them as one group, queued in a stream of each device. Throws std::runtime_error with NCCL's words.
    void send(const std::vector<NcclSend>& sends, const std::vector<StreamView>& streams);
    /// As NCCL numbers its releases: 22803 is 2.28.3.
    [[nodiscard]] int version() const;

  private:
    struct Library;
    explicit NcclGroup(std::unique_ptr<Library> library);
    std::unique_ptr<Library> library_;
};

}  // namespace peerlane::bench
