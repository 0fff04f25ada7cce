// Random copies for some time: sizes from 1 byte to 256 MiB, memory of every kind, both directions, several threads and
// streams, some captured into graphs and launched twice. Every byte is checked by the owner of the memory, and the
// bytes around it. Ends with 0 when all is right and memory did not grow.
//
//   stress [--simulated MACHINE] [--seconds N] [--threads N] [--most SIZE] [--seed N]

#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/named.hpp>
#include <peerlane/open.hpp>
#include <peerlane/units.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

namespace {

using namespace peerlane;

struct Asked {
    std::string simulated{};
    double seconds = 300;
    int threads = 8;
    std::uint64_t most = 256_MiB;
    std::uint64_t seed = 1;
};

constexpr std::uint64_t guard = 64;              ///< bytes looked at on either side
constexpr std::uint64_t poisoned_whole = 4_MiB;  ///< larger destinations: the guards only
constexpr int streams_a_thread = 2;

/// Memory of one kind in one place.
class Memory {
  public:
    Memory(Driver& driver, Place place, MemoryKind kind, std::uint64_t bytes, bool foreign = false)
        : driver_(driver), kind_(kind), foreign_(foreign), place_(place) {
        if (foreign) {  // the driver knows nothing of it
            own_.resize(bytes);
            at_ = address_of(own_.data());
            return;
        }
        auto const made = kind == MemoryKind::registered ? MemoryKind::pageable : kind;
        memory_ = Allocation(driver, {place, bytes, made});
        at_ = memory_.address();
        if (kind == MemoryKind::registered) {
            driver.register_host(at_, bytes);
        }
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
        try {
            if (kind_ == MemoryKind::registered) {
                driver_.unregister_host(at_);
            }
        } catch (const std::exception&) {  // after a device error nothing can be given back
        }
    }
    [[nodiscard]] Place place() const { return place_; }
    [[nodiscard]] Address at(std::uint64_t offset) const { return at_ + offset; }
    [[nodiscard]] bool pageable() const { return kind_ == MemoryKind::pageable; }
    [[nodiscard]] std::string name() const {
        return fmt::format("{} of {}{}", to_string(kind_), to_string(place_), foreign_ ? ", foreign" : "");
    }

  private:
    Driver& driver_;
    MemoryKind kind_;
    bool foreign_;
    Place place_;
    std::vector<unsigned char> own_{};
    Allocation memory_{};
    Address at_ = Address::null;
};

std::uint64_t resident_bytes() {
    std::uint64_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

struct Totals {
    std::atomic<std::uint64_t> copies = 0, captured = 0, refused = 0, bytes = 0, wrong = 0;
};

class Worker {
  public:
    Worker(Driver& driver, Mover& mover, const Asked& asked, int number, Totals& totals)
        : driver_(driver),
          mover_(mover),
          most_(asked.most),
          totals_(totals),
          random_(asked.seed * 1000 + static_cast<std::uint64_t>(number)),
          result_(driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned}) {
        auto const room = most_ + 2 * guard + 4096;
        for (auto const device : {0, 1}) {
            auto const abilities = driver.capabilities(device);
            add(gpu(device), MemoryKind::plain, room);
            if (abilities.pools) {
                add(gpu(device), MemoryKind::pool, room);
            }
            if (abilities.virtual_memory) {
                add(gpu(device), MemoryKind::virtual_memory, room);
            }
            if (abilities.managed) {
                add(gpu(device), MemoryKind::managed, room);
            }
            owners_.emplace_back(driver, device);
        }
        add(host(), MemoryKind::pinned, room);
        add(host(), MemoryKind::registered, room);
        add(host(), MemoryKind::pageable, room);
        if (!driver.simulated()) {
            memories_.push_back(std::make_unique<Memory>(driver, host(), MemoryKind::pageable, room, true));
        }
        for (int i = 0; i < streams_a_thread; ++i) {
            streams_.emplace_back(driver, i % 2);
        }
    }

    void one() {
        auto const& from = *memories_[random_() % memories_.size()];
        auto const& to = *memories_[random_() % memories_.size()];
        if (&from == &to || (from.place().is_host() && to.place().is_host())) {
            return;
        }
        auto const bytes = size();
        auto const skip = guard + random_() % 4096, put = guard + random_() % 4096;
        auto const key = random_() | 1;
        auto const whole = bytes <= poisoned_whole;
        fill(from, skip, bytes, {key, 0});
        if (whole) {
            fill(to, put - guard, bytes + 2 * guard, {key + 1, 0});
        } else {
            fill(to, put - guard, guard, {key + 1, 0});
            fill(to, put + bytes, guard, {key + 1, guard + bytes});
        }
        auto const& stream = streams_[random_() % streams_.size()];
        auto const captured = random_() % 8 == 0 && move_captured(to, put, from, skip, bytes, stream.view());
        if (!captured) {
            mover_.copy(pointer_to(to.at(put)), pointer_to(from.at(skip)), bytes, stream.view());
            driver_.synchronize(stream.view());
        }
        expect(to, put - guard, guard, {key + 1, 0}, "bytes before it", from, bytes, captured);
        expect(to, put, bytes, {key, 0}, "bytes", from, bytes, captured);
        expect(to, put + bytes, guard, {key + 1, guard + bytes}, "bytes behind it", from, bytes, captured);
        ++totals_.copies;
        totals_.bytes += bytes;
    }

  private:
    void add(Place place, MemoryKind kind, std::uint64_t bytes) {
        memories_.push_back(std::make_unique<Memory>(driver_, place, kind, bytes));
    }

    std::uint64_t size() {
        auto const part = std::generate_canonical<double, 53>(random_);
        return std::max<std::uint64_t>(
            1, static_cast<std::uint64_t>(std::exp2(part * std::log2(static_cast<double>(most_)))));
    }

    /// False when it was refused, as pageable memory is.
    bool move_captured(const Memory& to, std::uint64_t put, const Memory& from, std::uint64_t skip, std::uint64_t bytes,
                       StreamView stream) {
        driver_.begin_capture(stream);
        auto recorded = true;
        try {
            mover_.copy(pointer_to(to.at(put)), pointer_to(from.at(skip)), bytes, stream);
        } catch (const Error& error) {
            if (error.code() != code::capture_unsupported) {
                throw;
            }
            recorded = false;
            ++totals_.refused;
        }
        auto const graph = driver_.end_capture(stream);
        if (recorded) {
            driver_.launch_graph(graph, stream);
            driver_.launch_graph(graph, stream);
            driver_.synchronize(stream);
            ++totals_.captured;
        }
        driver_.destroy_graph(graph);
        return recorded;
    }

    void fill(const Memory& memory, std::uint64_t offset, std::uint64_t bytes, Pattern pattern) {
        if (memory.place().is_host()) {
            driver_.fill_host(memory.at(offset), bytes, pattern);
            return;
        }
        auto const stream = owners_[static_cast<std::size_t>(memory.place().index)].view();
        FillArguments const arguments{memory.at(offset), bytes, pattern, 16};
        driver_.launch(stream, fill_kernel, &arguments);
        driver_.synchronize(stream);
    }

    void expect(const Memory& memory, std::uint64_t offset, std::uint64_t bytes, Pattern pattern, const char* what,
                const Memory& from, std::uint64_t size, bool captured) {
        CheckOutcome outcome;
        if (memory.place().is_host()) {
            outcome = driver_.check_host(memory.at(offset), bytes, pattern, {});
        } else {
            auto const stream = owners_[static_cast<std::size_t>(memory.place().index)].view();
            CheckArguments const arguments{memory.at(offset), bytes, pattern, {}, result_.address()};
            driver_.launch(stream, check_kernel, &arguments);
            driver_.synchronize(stream);
            driver_.read_host(result_.address(), &outcome, sizeof outcome);
        }
        if (outcome.bad != 0) {
            ++totals_.wrong;
            std::fprintf(stderr, "WRONG %s: %llu of %llu, first at %llu; %s from %s to %s%s\n", what,
                         static_cast<unsigned long long>(outcome.bad), static_cast<unsigned long long>(bytes),
                         static_cast<unsigned long long>(outcome.first_bad), size_text(size).c_str(),
                         from.name().c_str(), memory.name().c_str(), captured ? ", captured" : "");
        }
    }

    Driver& driver_;
    Mover& mover_;
    std::uint64_t most_;
    Totals& totals_;
    std::mt19937_64 random_;
    Allocation result_;
    std::vector<std::unique_ptr<Memory>> memories_{};
    std::vector<Stream> streams_{}, owners_{};
};

struct Usage {
    std::uint64_t host = 0;
    std::vector<std::uint64_t> free{};
};

Usage usage_of(Driver& driver) {
    Usage usage{resident_bytes(), {}};
    for (int device = 0; device < driver.device_count(); ++device) {
        usage.free.push_back(driver.free_bytes(device));
    }
    return usage;
}

int run(Driver& driver, const Asked& asked) {
    using Clock = std::chrono::steady_clock;
    Mover mover(driver, {driver.machine(), {}, true});
    Totals totals;
    std::vector<std::unique_ptr<Worker>> workers;
    for (int t = 0; t < asked.threads; ++t) {
        workers.push_back(std::make_unique<Worker>(driver, mover, asked, t, totals));
    }
    auto const start = Clock::now();
    auto const seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    std::atomic<bool> failed = false;
    std::vector<std::thread> threads;
    threads.reserve(workers.size());
    for (auto const& worker : workers) {
        threads.emplace_back([&, w = worker.get()] {
            try {
                while (!failed && seconds() < asked.seconds) {
                    w->one();
                    mover.check();
                }
            } catch (const std::exception& error) {
                if (!failed.exchange(true)) {
                    std::fprintf(stderr, "FAILED: %s\n", error.what());
                }
            }
        });
    }
    // What is made at first use is there after a third of the time.
    Usage middle;
    for (auto told = 0.0; !failed && seconds() < asked.seconds;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (middle.free.empty() && seconds() > asked.seconds / 3) {
            middle = usage_of(driver);
        }
        if (seconds() > told + 30) {
            told = seconds();
            std::printf("%4.0f s: %llu copies, %llu of them captured, %.1f GB, %llu wrong\n", told,
                        static_cast<unsigned long long>(totals.copies),
                        static_cast<unsigned long long>(totals.captured), static_cast<double>(totals.bytes) / 1e9,
                        static_cast<unsigned long long>(totals.wrong));
            std::fflush(stdout);
        }
    }
    for (auto& thread : threads) {
        thread.join();
    }
    if (!failed) {
        mover.synchronize();
    }
    auto grown = false;
    if (!failed && !middle.free.empty() && !driver.simulated()) {
        auto const end = usage_of(driver);
        auto const more = [](std::uint64_t now, std::uint64_t before) {
            return now > before ? static_cast<double>(now - before) / 1e6 : 0.0;
        };
        std::printf("memory since the first third: host +%.1f MB", more(end.host, middle.host));
        grown = more(end.host, middle.host) > 64;
        for (std::size_t device = 0; device < end.free.size(); ++device) {
            std::printf(", gpu%zu +%.1f MB", device, more(middle.free[device], end.free[device]));
            grown = grown || more(middle.free[device], end.free[device]) > 64;
        }
        std::printf("%s\n", grown ? "  GROWN" : "");
    }
    std::printf("%s: %llu copies, %llu captured, %llu refused while capturing, %.1f GB, %llu wrong, seed %llu\n",
                failed || grown || totals.wrong != 0 ? "FAILED" : "ok", static_cast<unsigned long long>(totals.copies),
                static_cast<unsigned long long>(totals.captured), static_cast<unsigned long long>(totals.refused),
                static_cast<double>(totals.bytes) / 1e9, static_cast<unsigned long long>(totals.wrong),
                static_cast<unsigned long long>(asked.seed));
    return failed || grown || totals.wrong != 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Asked asked;
        for (int i = 1; i + 1 < argc; i += 2) {
            std::string const name = argv[i], value = argv[i + 1];
            if (name == "--simulated") {
                asked.simulated = value;
            } else if (name == "--seconds") {
                asked.seconds = std::stod(value);
            } else if (name == "--threads") {
                asked.threads = std::stoi(value);
            } else if (name == "--most") {
                asked.most = parse_size(value).value();
            } else if (name == "--seed") {
                asked.seed = std::stoull(value);
            } else {
                throw std::runtime_error("unknown option " + name);
            }
        }
        auto const driver = asked.simulated.empty() ? open_cuda() : open_simulated(load_machine(asked.simulated));
        if (driver->device_count() < 2) {
            throw std::runtime_error("two devices are needed");
        }
        return run(*driver, asked);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stress: %s\n", error.what());
        return 1;
    }
}
