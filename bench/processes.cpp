// Two processes that see one device each exchange 1 GiB and 16,384 pages both ways, of plain, pool and virtual memory,
// every byte checked, against the rates of one process with both devices in the same run. Then one of a pair is killed
// while the other reads its memory: an error within 2 s, and the next pair works. Prints PASS or FAIL a criterion.
//
//   processes [OUT.json]            on two devices
//   processes --simulated MACHINE   both sides in this process, small sizes: checks the program, measures nothing

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>
#include <peerlane/named.hpp>
#include <peerlane/open.hpp>

#include "bench_report.hpp"
#include "processes_side.hpp"
#include "prove/child_process.hpp"

namespace {

using namespace peerlane;
using namespace peerlane::bench;

constexpr double wanted_ratio = 0.97, wanted_notice_s = 2;
constexpr double start_s = 120;  ///< until a process has its devices and has said something

std::string self() {
    return std::filesystem::read_symlink("/proc/self/exe").string();
}

void print_rate(const std::string& name, std::uint64_t bytes, const Runs& runs) {
    std::printf("RATE %s|%llu|%s\n", name.c_str(), static_cast<unsigned long long>(bytes), runs_text(runs).c_str());
    std::fflush(stdout);
}
void print_wrong(const std::string& words) {
    std::printf("WRONG %s\n", words.c_str());
    std::fflush(stdout);
}

void print_ways(const RawWays& ways) {
    std::printf("WAY %s %s|%.3f|%s\n", ways.kind.c_str(), ways.direction.c_str(), ways.best_gbs, ways.words.c_str());
}

Sizes quick_sizes() {
    return {64_MiB, 1024, 1};
}

/// What a started process does; lines on standard output say how it goes.
int role(const std::string& what, const std::string& path, bool quick) {
    auto const driver = open_cuda();
    auto const sizes = quick ? quick_sizes() : Sizes{};
    std::printf("PID %d\n", ::getpid());
    for (auto const& device : driver->machine().devices) {
        std::printf("DEVICE %s|%s\n", device.uuid.value_or("").c_str(), device.model.value_or("").c_str());
    }
    std::printf("DRIVER %s\n", driver->description().c_str());
    std::fflush(stdout);
    if (what == "single") {
        single_process(*driver, sizes, print_rate, print_wrong);
    } else if (what == "serve" || what == "victim") {
        Side side(*driver, 0, sizes, PeerChannel::connect(path, start_s));
        side.serve();
    } else {
        Listener listener(path);
        auto channel = listener.accept(start_s);
        if (!channel) {
            throw std::runtime_error("the other process did not come");
        }
        Side side(*driver, 0, sizes, *std::move(channel));
        if (what == "survivor") {
            auto const words = side.move_until_gone([] {
                std::puts("MOVING");
                std::fflush(stdout);
            });
            std::printf("TOLD %s\n", words.c_str());
            std::fflush(stdout);
            std::_Exit(0);  // imports of a dead process are not worth waiting for
        }
        exchange_all(side, sizes, print_rate, print_wrong);
        for (auto const& ways : quick ? std::vector<RawWays>{} : raw_ways(side, sizes)) {
            print_ways(ways);
        }
        side.finish();
    }
    std::puts("END");
    return 0;
}

/// Lines of a started process.
class Started {
  public:
    Started(const std::string& what, const std::string& path, const std::string& visible, bool quick = false)
        : what_(what), child_("/usr/bin/env", words(what, path, visible, quick), {}) {}
    /// The rest of the next line that begins with `word`; throws when the process ends before, or is silent too long.
    std::string until(const std::string& word) {
        for (;;) {
            auto const line = child_.read_line(prove::after(start_s));
            if (line.kind != prove::ChildProcess::Line::Kind::line) {
                child_.end(1);
                throw std::runtime_error(
                    fmt::format("process \"{}\" {}: {}", what_,
                                line.kind == prove::ChildProcess::Line::Kind::late ? "says nothing" : child_.ending(),
                                child_.complaint()));
            }
            take(line.text);
            if (line.text.rfind(word, 0) == 0) {
                return line.text.substr(std::min(word.size() + 1, line.text.size()));
            }
        }
    }
    void join() { static_cast<void>(child_.reap(10)); }

    struct Rate {
        std::uint64_t bytes = 0;
        Runs runs{};
    };
    std::map<std::string, Rate> rates{};
    std::map<std::string, double> raw_gbs{};  ///< "KIND push": the best single way between the processes
    std::vector<std::string> wrong{}, devices{};
    std::string driver{};
    int process = 0;

  private:
    static std::vector<std::string> words(const std::string& what, const std::string& path, const std::string& visible,
                                          bool quick) {
        std::vector<std::string> all;
        if (!visible.empty()) {
            all.push_back("CUDA_VISIBLE_DEVICES=" + visible);
        }
        all.insert(all.end(), {self(), "--role", what, path.empty() ? "-" : path, quick ? "quick" : "full"});
        return all;
    }
    void take(const std::string& line) {
        auto const rest = line.substr(std::min(line.find(' ') + 1, line.size()));
        if (line.rfind("RATE ", 0) == 0) {
            auto const first = rest.find('|'), second = rest.find('|', first + 1);
            rates[rest.substr(0, first)] = {std::stoull(rest.substr(first + 1, second - first - 1)),
                                            read_runs(rest.substr(second + 1))};
        } else if (line.rfind("WRONG ", 0) == 0) {
            wrong.push_back(rest);
        } else if (line.rfind("DEVICE ", 0) == 0) {
            devices.push_back(rest);
        } else if (line.rfind("DRIVER ", 0) == 0) {
            driver = rest;
        } else if (line.rfind("WAY ", 0) == 0) {
            auto const first = rest.find('|'), second = rest.find('|', first + 1);
            raw_gbs[rest.substr(0, first)] = std::stod(rest.substr(first + 1, second - first - 1));
            std::printf("between processes, raw %s:%s GB/s\n", rest.substr(0, first).c_str(),
                        rest.substr(second + 1).c_str());
        } else if (line.rfind("PID ", 0) == 0) {
            process = std::stoi(rest);
        }
    }

    std::string what_;
    prove::ChildProcess child_;
};

Timing timing_of(const Started::Rate& rate) {
    auto const n = rate.runs.size();
    auto const median = rate.runs.at(n / 2);
    return {static_cast<double>(rate.bytes) / median / 1e9, median * 1e6,
            (rate.runs[n - 1 - n / 4] - rate.runs[n / 4]) / median};
}

class Bench {
  public:
    explicit Bench(std::string out) : out_(std::move(out)) {
        std::string name = "/tmp/peerlane-processes-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("no folder in /tmp");
        }
        folder_ = name;
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;
    ~Bench() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    int result() {
        auto const before = single();  // a process has its luck with its host, so there are three of each kind
        for (auto const& line : before->devices) {
            uuids_.push_back(line.substr(0, line.find('|')));
        }
        if (uuids_.size() < 2) {
            throw std::runtime_error("two devices are needed");
        }
        auto const pair = exchange(false);
        auto const between = single();
        auto const second_pair = exchange(false), third_pair = exchange(false);
        auto const after = single();
        rates({before.get(), between.get(), after.get()}, {pair.get(), second_pair.get(), third_pair.get()});
        killed();
        auto const next = exchange(true);
        say(next->wrong.empty(), "the next pair of processes exchanges right bytes");
        return failed_ ? 1 : 0;
    }

  private:
    void say(bool good, const std::string& what) {
        std::printf("%s: %s\n", good ? "PASS" : "FAIL", what.c_str());
        std::fflush(stdout);
        failed_ = failed_ || !good;
    }
    [[nodiscard]] std::string path() { return fmt::format("{}/{}", folder_, ++meetings_); }

    std::unique_ptr<Started> single() {
        auto started = std::make_unique<Started>("single", "", "");
        started->until("END");
        started->join();
        return started;
    }

    std::unique_ptr<Started> exchange(bool quick) {
        auto const meeting = path();
        auto asking = std::make_unique<Started>("ask", meeting, uuids_[0], quick);
        Started serving("serve", meeting, uuids_[1], quick);
        asking->until("END");
        serving.until("END");
        asking->join();
        serving.join();
        return asking;
    }

    using Runs = std::vector<const Started*>;
    static Timing best(const Runs& runs, const std::string& name) {
        Timing best;
        for (auto const* const run : runs) {
            auto const one = timing_of(run->rates.at(name));
            best = one.gbs > best.gbs ? one : best;
        }
        return best;
    }

    void rates(const Runs& singles, const Runs& pairs) {
        auto const& before = *singles.front();
        auto const& pair = *pairs.front();
        Report report;
        report.machine = before.devices.front() + ", " + before.devices[1];
        report.driver = before.driver;
        report.command = "processes " + out_;
        double worst = 1e9;
        std::string worst_name;
        for (auto const& [name, rate] : pair.rates) {
            Row row;
            row.name = name;
            row.bytes = rate.bytes;
            row.ours = best(pairs, name);
            row.peers = {{"one process", best(singles, name)}};
            auto bound = row.peers[0].timing.gbs;
            if (auto const raw = raw_of(pair, name)) {
                row.peers.push_back(
                    {"best raw way between them", {*raw, static_cast<double>(rate.bytes) / *raw / 1e3, 0}});
                bound = std::min(bound, *raw);
            }
            auto const ratio = row.ours.gbs / bound;
            if (ratio < worst) {
                worst = ratio;
                worst_name = name;
            }
            if (row.ours.gbs / row.peers[0].timing.gbs < wanted_ratio) {
                say(ratio >= wanted_ratio,
                    fmt::format("{}: {:.1f} GB/s of {:.1f} in one process, {:.3f}; {:.3f} of what single ways reach "
                                "between the processes",
                                name, row.ours.gbs, row.peers[0].timing.gbs, row.ours.gbs / row.peers[0].timing.gbs,
                                ratio));
            }
            report.rows.push_back(std::move(row));
        }
        std::fputs(report.table().c_str(), stdout);
        if (!out_.empty() && !(std::ofstream(out_) << report.json())) {
            throw std::runtime_error("cannot write " + out_);
        }
        auto right = true;
        for (auto const& runs : {singles, pairs}) {
            for (auto const* const run : runs) {
                for (auto const& words : run->wrong) {
                    say(false, words);
                    right = false;
                }
            }
        }
        say(right, fmt::format("{} cases between processes, every byte right, at an offset of {} bytes",
                               pair.rates.size(), shared_at));
        say(worst >= wanted_ratio,
            fmt::format(
                "at least {} of one process, or of the best raw way between the two where the driver gives that "
                "less; the least: {}, {:.3f}",
                wanted_ratio, worst_name, worst));
    }

    /// For whole copies ("pool 0>1 by 0"), as measured by process 0.
    static std::optional<double> raw_of(const Started& pair, const std::string& name) {
        auto const kind = name.substr(0, name.find(' '));
        if (name.find("pages") != std::string::npos) {
            return std::nullopt;
        }
        auto const from = name[kind.size() + 1], by = name.back();
        auto const found = pair.raw_gbs.find(kind + (from == by ? " push" : " pull"));
        return found == pair.raw_gbs.end() ? std::nullopt : std::optional(found->second);
    }

    void killed() {
        using Clock = std::chrono::steady_clock;
        auto const meeting = path();
        Started survivor("survivor", meeting, uuids_[0]);
        Started victim("victim", meeting, uuids_[1]);
        victim.until("PID");
        survivor.until("MOVING");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // in the middle of its copies
        auto const start = Clock::now();
        ::kill(victim.process, SIGKILL);
        auto const words = survivor.until("TOLD");
        auto const seconds = std::chrono::duration<double>(Clock::now() - start).count();
        say(seconds <= wanted_notice_s && words.find(std::to_string(victim.process)) != std::string::npos,
            fmt::format("a killed peer is told after {:.3f} s: {}", seconds, words));
    }

    std::string out_, folder_;
    std::vector<std::string> uuids_{};
    int meetings_ = 0;
    bool failed_ = false;
};

/// Both sides in this process, as one simulated driver plays both.
int simulated(const std::string& machine) {
    auto const driver = open_simulated(load_machine(machine));
    Sizes const sizes{4_MiB, 128, 3};
    auto failed = false;
    auto const wrong = [&](const std::string& words) {
        failed = true;
        print_wrong(words);
    };
    single_process(*driver, sizes, print_rate, wrong);
    auto ends = PeerChannel::pair();
    std::thread other([&] {
        try {
            Side side(*driver, 1, sizes, std::move(ends.second));
            side.serve();
        } catch (const std::exception& error) {
            wrong(std::string("the serving side: ") + error.what());
        }
    });
    try {
        Side side(*driver, 0, sizes, std::move(ends.first));
        exchange_all(side, sizes, print_rate, wrong);
        for (auto const& ways : raw_ways(side, sizes)) {
            print_ways(ways);
        }
        side.finish();
    } catch (const std::exception& error) {
        wrong(error.what());
    }
    other.join();
    std::puts(failed ? "FAIL: simulated" : "PASS: simulated, every byte right, nothing left");
    return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 5 && std::strcmp(argv[1], "--role") == 0) {
            return role(argv[2], argv[3], std::strcmp(argv[4], "quick") == 0);
        }
        if (argc == 3 && std::strcmp(argv[1], "--simulated") == 0) {
            return simulated(argv[2]);
        }
        return Bench(argc > 1 ? argv[1] : "").result();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "processes: %s\n", error.what());
        return 1;
    }
}
