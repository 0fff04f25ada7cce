#include "play.hpp"

#include <algorithm>
#include <map>

#include <peerlane/driver/owned.hpp>
#include <peerlane/simulated.hpp>

#include "kernels/copy.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::validation {
namespace {

constexpr double giga = 1e9;

double gbs(const Transfer& transfer, double seconds) {
    return static_cast<double>(transfer.bytes) / seconds / giga;
}

/// One buffer to read and one to write for each place.
class Buffers {
  public:
    explicit Buffers(Driver& driver) : driver_(driver) {}
    Location at(Place place, bool written, std::uint64_t bytes) {
        auto& buffer = buffers_[{place, written}];
        if (buffer.bytes() < bytes) {
            buffer = Allocation(driver_, {place, bytes, place.is_host() ? MemoryKind::pinned : MemoryKind::plain});
        }
        return buffer.location();
    }

  private:
    Driver& driver_;
    std::map<std::pair<Place, bool>, Allocation> buffers_;
};

}  // namespace

std::unique_ptr<Driver> open_for(const SimulatedMachine& machine, bool access) {
    auto driver = open_simulated(machine);
    auto const devices = static_cast<int>(machine.machine().devices.size());
    for (int a = 0; access && a < devices; ++a) {
        for (int b = 0; b < devices; ++b) {
            if (a != b && driver->can_access(a, b)) {
                driver->enable_access({a, b});
            }
        }
    }
    return driver;
}

std::vector<double> play(Driver& driver, std::vector<Transfer> transfers) {
    std::map<int, int> copies;
    for (auto const& transfer : transfers) {
        copies[transfer.issuer] += transfer.kernel ? 0 : 1;
    }
    for (auto& transfer : transfers) {
        transfer.kernel =
            transfer.kernel || copies[transfer.issuer] > driver.capabilities(transfer.issuer).copy_engines;
    }
    Buffers buffers(driver);
    for (auto const& transfer : transfers) {  // before anything is queued: freeing waits for work that uses the memory
        buffers.at(transfer.to, true, transfer.bytes);
        buffers.at(transfer.from, false, transfer.bytes);
    }
    Allocation const gate(driver, {host(), 4, MemoryKind::pinned});
    std::uint32_t value = 0;
    driver.write_host(gate.address(), &value, 4);
    std::vector<Stream> streams;
    std::vector<Event> begins, ends;
    for (auto const& transfer : transfers) {
        auto const& stream = streams.emplace_back(driver, transfer.issuer);
        auto const& begin = begins.emplace_back(driver, transfer.issuer, true);
        auto const& end = ends.emplace_back(driver, transfer.issuer, true);
        auto const to = buffers.at(transfer.to, true, transfer.bytes);
        auto const from = buffers.at(transfer.from, false, transfer.bytes);
        driver.wait_value(stream.view(), gate.address(), 1);
        driver.record(begin.view(), stream.view());
        if (transfer.kernel) {
            CopyArguments const arguments{to.address, from.address, transfer.bytes, 16};
            driver.launch(stream.view(), copy_kernel, &arguments);
        } else {
            auto const api = transfer.to.is_device() && transfer.from.is_device() ? CopyApi::peer : CopyApi::automatic;
            driver.copy(stream.view(), {to, from, transfer.bytes, api});
        }
        driver.record(end.view(), stream.view());
    }
    value = 1;
    driver.write_host(gate.address(), &value, 4);
    std::vector<double> seconds;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        driver.synchronize(ends[i].view());
        seconds.push_back(driver.elapsed(begins[i].view(), ends[i].view()));
    }
    return seconds;
}

double first_rate(Driver& driver, const std::vector<Transfer>& transfers) {
    return gbs(transfers.front(), play(driver, transfers).front());
}

double sum_of_rates(Driver& driver, const std::vector<Transfer>& transfers) {
    auto const seconds = play(driver, transfers);
    double sum = 0;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        sum += gbs(transfers[i], seconds[i]);
    }
    return sum;
}

double mean_rate(Driver& driver, const std::vector<Transfer>& transfers) {
    return sum_of_rates(driver, transfers) / static_cast<double>(transfers.size());
}

double bytes_over_makespan(Driver& driver, const std::vector<Transfer>& transfers) {
    auto const seconds = play(driver, transfers);
    double bytes = 0;
    for (auto const& transfer : transfers) {
        bytes += static_cast<double>(transfer.bytes);
    }
    return bytes / *std::max_element(seconds.begin(), seconds.end()) / giga;
}

Transfer push(int a, int b, bool kernel) {
    return {gpu(a), gpu(b), a, kernel};
}

Transfer pull(int a, int b, bool kernel) {
    return {gpu(a), gpu(b), b, kernel};
}

}  // namespace peerlane::validation
