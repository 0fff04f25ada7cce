#pragma once
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <peerlane/simulated.hpp>

namespace peerlane::share_tests {

/// Generous: what is bounded ends far sooner, and a hang is a failure either way.
inline constexpr double limit_s = 60;

/// Two devices with names, over NVLink.
inline Machine two_devices() {
    Machine machine;
    for (int id = 0; id < 2; ++id) {
        Device device;
        device.id = id;
        device.bus = id == 0 ? "0000:01:00.0" : "0000:02:00.0";
        device.uuid = id == 0 ? "GPU-aaaa" : "GPU-bbbb";
        device.memory_bytes = std::uint64_t{1} << 30;
        machine.devices.push_back(device);
    }
    complete_pairs(machine);
    for (auto& pair : machine.pairs) {
        pair.path = PathClass::nv;
        pair.nominal_gbs = 400;
        pair.claim = true;
    }
    return machine;
}

inline std::unique_ptr<Driver> open_pair() {
    return open_simulated(SimulatedMachine(two_devices()));
}

/// A process that runs `body` and ends with its result; killed with this object when it still runs.
class Child {
  public:
    explicit Child(const std::function<int()>& body) {
        std::fflush(nullptr);
        process_ = ::fork();
        if (process_ == 0) {
            int status = 99;
            try {
                status = body();
            } catch (const std::exception& error) {
                std::fprintf(stderr, "child: %s\n", error.what());
            }
            ::_exit(status);
        }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (process_ > 0) {
            kill();
            join();
        }
    }
    [[nodiscard]] int process() const { return process_; }
    void kill() const { ::kill(process_, SIGKILL); }
    /// Its status; 128 + N when signal N ended it.
    int join() {
        int status = 0;
        while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
        }
        process_ = -1;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

  private:
    int process_ = -1;
};

/// A fresh folder, removed with what is in it.
class Folder {
  public:
    Folder() {
        char name[] = "/tmp/peerlane-test-XXXXXX";
        path_ = ::mkdtemp(name);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        if (std::system(("rm -rf " + path_).c_str()) != 0) {
            std::perror("rm");
        }
    }
    [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Shared segments that this process maps.
inline int mapped_segments() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) {
        count += line.find("memfd:peerlane") != std::string::npos ? 1 : 0;
    }
    return count;
}

}  // namespace peerlane::share_tests
