// Whether a process still lives. A socket tells it only when the system has closed it, which comes after the devices
// that the process used were put in order.

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <signal.h>

#include <fmt/format.h>

#include "share/channel.hpp"

namespace peerlane::share {
namespace {

struct Stat {
    bool known = false;
    char state = '?';
    std::uint64_t flags = 0, start = 0;
};

/// Fields of /proc/PID/stat behind the name, which may hold anything: state is the first of them.
Stat stat_of(int process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    auto const name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return {};
    }
    std::istringstream rest(text.substr(name_end + 1));
    std::vector<std::string> const words{std::istream_iterator<std::string>(rest), {}};
    constexpr std::size_t flags_at = 6, start_at = 19;
    if (words.size() <= start_at || words[0].empty()) {
        return {};
    }
    return {true, words[0][0], std::strtoull(words[flags_at].c_str(), nullptr, 10),
            std::strtoull(words[start_at].c_str(), nullptr, 10)};
}

}  // namespace

std::uint64_t start_of(int process) {
    return process > 0 ? stat_of(process).start : 0;
}

bool ended(int process, std::uint64_t start) {
    if (process <= 0) {
        return false;  // not known; the socket tells
    }
    auto const now = stat_of(process);
    if (!now.known) {
        return ::kill(process, 0) != 0 && errno == ESRCH;
    }
    constexpr std::uint64_t exiting = 0x4;  // PF_EXITING
    return now.state == 'Z' || now.state == 'X' || (now.flags & exiting) != 0 || (start != 0 && now.start != start);
}

}  // namespace peerlane::share
