#pragma once
/// Machines written down as text and laid out as the system's files in a temporary folder.
///
///   root pci0000:00                      a host bridge; what follows hangs below it, two blanks a level
///     0000:00:01.0 class=0x060400 ...    a function: key=value. Short keys: now=SPEED/WIDTH, best=SPEED/WIDTH, numa,
///     cpus,
///                                        driver, net, ib, physfn, iommu=GROUP:TYPE, config=TYPE:ACS (hex, written as
///                                        bytes)
///   node 0 cpus=0-31 kb=1024 distance=10,21 socket=0
///   xgmi 1 0000:01:00.0 to=2,3 mbs=64000  a node of AMD's compute driver
///   file proc/cpuinfo                    followed by lines "| text"
///   file sys/x/y text                    the same in one line

#include <string>

#include <peerlane/discover.hpp>

namespace peerlane::testing_discover {

class Fixture {
  public:
    /// Of tests/unit/discover/fixtures/NAME.txt.
    explicit Fixture(const std::string& name);
    ~Fixture();
    Fixture(const Fixture&) = delete;
    Fixture& operator=(const Fixture&) = delete;
    [[nodiscard]] DiscoverRoots roots() const;
    [[nodiscard]] const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
};

}  // namespace peerlane::testing_discover
