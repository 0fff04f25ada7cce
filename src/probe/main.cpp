// peerlane-probe: runs the steps of a proof, one JSON line in and one out, so that a step that hangs or faults costs
// this process and not the one that asked. Started by the library; not meant to be typed.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <unistd.h>

#include <peerlane/error.hpp>
#include <peerlane/named.hpp>
#include <peerlane/open.hpp>
#include <peerlane/probe_host.hpp>
#include <peerlane/units.hpp>

#include "prove/ladder.hpp"
#include "prove/partner.hpp"
#include "prove/wire.hpp"

namespace {

using namespace peerlane;
using prove::wire::Reply;

constexpr int usage = 64, input = 65, no_input = 66, no_device = 3;

struct Options {
    std::vector<std::string> machines{};  ///< empty: this one
    std::vector<Fault> faults{};
    std::uint64_t seed = 1;
    pid_t parent = 0;
    bool exports = false;
    std::string test_hang_at{}, test_crash_at{};  ///< "0:1 push"
    bool test_ignore_term = false;
};

Options read_options(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        auto const& word = words[i];
#ifdef PEERLANE_PROBE_TEST_OPTIONS
        if (word == "--test-ignore-term") {
            options.test_ignore_term = true;
            continue;
        }
#endif
        if (i + 1 == words.size()) {
            throw std::invalid_argument("\"" + word + "\" is not known, or misses its value");
        }
        auto const& value = words[++i];
        auto const number = [&] {
            auto const read = parse_integer(value);
            if (!read || *read < 0) {
                throw std::invalid_argument(word + " wants a number, not \"" + value + "\"");
            }
            return *read;
        };
        if (word == "--machine") {
            options.machines.push_back(value);
        } else if (word == "--fault") {
            options.faults.push_back(parse_fault(value));
        } else if (word == "--seed") {
            options.seed = static_cast<std::uint64_t>(number());
        } else if (word == "--export") {
            options.exports = number() != 0;
        } else if (word == "--parent") {
            options.parent = static_cast<pid_t>(number());
#ifdef PEERLANE_PROBE_TEST_OPTIONS
        } else if (word == "--test-hang-at") {
            options.test_hang_at = value;
        } else if (word == "--test-crash-at") {
            options.test_crash_at = value;
#endif
        } else {
            throw std::invalid_argument("\"" + word + "\" is not known");
        }
    }
    return options;
}

/// Nobody is left to end us once the parent is gone.
void die_with(pid_t parent) {
    if (parent != 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) {
            std::_Exit(0);
        }
    }
}

void say(const Reply& reply) {
    std::cout << prove::wire::write(reply) << '\n' << std::flush;
}

/// What a hung or a broken step does to its process.
void misbehave(const Options& options, const prove::ProbeStep& step) {
    auto const name = describe(step);
    if (name == options.test_crash_at) {
        std::cerr << "about to crash at " << name << std::endl;
        std::abort();
    }
    if (name == options.test_hang_at) {
        std::cerr << "about to hang at " << name << std::endl;
        for (;;) {
            ::pause();
        }
    }
}

std::unique_ptr<Driver> open(const Options& options) {
    if (options.machines.empty()) {
        return open_cuda();
    }
    return open_simulated(load_machines(options.machines), {options.faults, options.seed});
}

/// Of real devices: this program again, as the process that exports.
std::unique_ptr<prove::Partner> start_partner() {
    constexpr double start_s = 4, answer_s = 2;  // well within the time of a step
    return prove::partner_process("/proc/self/exe", {}, start_s, answer_s);
}

int serve_exports(const Options& options) {
    while (options.test_hang_at == "export") {
        ::pause();
    }
    std::unique_ptr<Driver> const driver = open(options);
    prove::serve_partner(*driver, STDIN_FILENO);
    return 0;
}

int serve(const Options& options) {
    std::unique_ptr<Driver> driver;
    try {
        driver = open(options);
    } catch (const Error& error) {
        say({Reply::Kind::refused, {}, true, error.code(), error.what()});
        return no_device;
    }
    auto prober = std::make_unique<prove::Prober>(
        *driver, driver->simulated() ? prove::FindPartner() : prove::FindPartner(start_partner));
    auto const freezes = prove::freezes_of(options.faults);
    say({Reply::Kind::ready, {}, true, 0, driver->description()});
    for (std::string line; std::getline(std::cin, line);) {
        auto const request = prove::wire::read_request(line);
        say({Reply::Kind::begun});
        misbehave(options, request.step);
        auto result = prober->run(request.step, request.limits);
        if (request.step.kind == prove::ProbeStep::Kind::idle && freezes(request.step)) {
            result.result = Result::hang;
        }
        result.frozen = result.result == Result::hang && freezes(request.step);
        say({Reply::Kind::done, result, prober->usable()});
        if (!prober->usable()) {
            std::_Exit(0);  // giving anything back would wait for the work that hangs
        }
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        auto const options = read_options({words + 1, words + count});
        die_with(options.parent);
        if (options.test_ignore_term) {
            std::signal(SIGTERM, SIG_IGN);
        }
        return options.exports ? serve_exports(options) : serve(options);
    } catch (const InputError& error) {
        std::cerr << error.what() << '\n';
        return input;
    } catch (const NoSuchMachine& error) {
        std::cerr << error.what() << '\n';
        return no_input;
    } catch (const std::exception& error) {
        std::cerr << "peerlane-probe: " << error.what() << '\n';
        return usage;
    }
}
