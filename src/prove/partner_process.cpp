// The partner as a process of its own: fixed records over a socket of whole messages, descriptors beside them. Both
// ends are the same executable, so that records travel as they lie in memory.

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <type_traits>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "prove/bench.hpp"
#include "prove/child_process.hpp"
#include "prove/partner.hpp"

extern char** environ;

namespace peerlane::prove {
namespace {

struct Ask {
    enum class What : std::uint32_t { offer, look, withdraw } what = What::withdraw;
    Offer offer{};
    Pattern expected{}, poison{};
};

struct Answer {
    enum class Kind : std::uint32_t { done, error, hang } kind = Kind::done;
    int code = 0;
    MemoryKind memory = MemoryKind::plain;
    int process = 0, owner = 0;
    Address base = Address::null;
    std::uint64_t bytes = 0, offset = 0;
    std::array<std::uint8_t, 64> token{};
    CheckOutcome found{};
    std::array<char, 512> reason{};

    void say(const std::string& text) {
        auto const length = std::min(text.size(), reason.size() - 1);
        std::memcpy(reason.data(), text.data(), length);
        reason[length] = '\0';
    }
};
static_assert(std::is_trivially_copyable_v<Ask> && std::is_trivially_copyable_v<Answer>);

template <class Record>
bool send(int socket, const Record& record, int descriptor = -1) {
    iovec part{const_cast<Record*>(&record), sizeof record};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
    if (descriptor >= 0) {
        message.msg_control = beside.data();
        message.msg_controllen = beside.size();
        auto* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(sizeof record);
}

/// False when the other end is closed or sent something else.
template <class Record>
bool receive(int socket, Record& record, Descriptor& descriptor) {
    iovec part{&record, sizeof record};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
    message.msg_control = beside.data();
    message.msg_controllen = beside.size();
    ssize_t got = 0;
    do {
        got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    auto* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header), sizeof number);
        descriptor = Descriptor(number);
    }
    return got == static_cast<ssize_t>(sizeof record);
}

class Process final : public Partner {
  public:
    Process(const std::string& helper, const std::vector<std::string>& arguments, double start_s, double answer_s)
        : answer_s_(answer_s) {
        start(helper, arguments);
        Descriptor none;
        try {
            static_cast<void>(answer(start_s, none));
        } catch (const TimeUp&) {
            end();
            throw NoPartner{fmt::format("a second process did not open its devices within {}", seconds_text(start_s))};
        } catch (...) {
            end();
            throw;
        }
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() override { end(); }

    ExportOutcome offer(const Offer& offer, std::string& reason) override {
        Descriptor descriptor;
        auto const got = ask({Ask::What::offer, offer, {}, {}}, descriptor);
        reason = got.reason.data();
        ExportOutcome outcome{got.code, {}};
        outcome.handle.kind = got.memory;
        outcome.handle.process = got.process;
        outcome.handle.owner = got.owner;
        outcome.handle.base = got.base;
        outcome.handle.bytes = got.bytes;
        outcome.handle.offset = got.offset;
        outcome.handle.token = got.token;
        outcome.handle.descriptor = std::move(descriptor);
        return outcome;
    }
    CheckOutcome look(Pattern expected, Pattern poison) override {
        Descriptor none;
        return ask({Ask::What::look, {}, expected, poison}, none).found;
    }
    void withdraw() override {
        Descriptor none;
        static_cast<void>(ask({Ask::What::withdraw, {}, {}, {}}, none));
    }

  private:
    void start(const std::string& helper, const std::vector<std::string>& arguments) {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
            throw NoPartner{fmt::format("no socket for a second process: {}", std::strerror(errno))};
        }
        socket_ = Descriptor(ends[0]);
        Descriptor const theirs(ends[1]);
        std::vector<std::string> words{helper, "--export", "1", "--parent", std::to_string(::getpid())};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> argv;
        for (auto& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, theirs.number(), STDIN_FILENO);
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);  // ours carries results
        auto const failure = ::posix_spawn(&process_, helper.c_str(), &files, nullptr, argv.data(), environ);
        posix_spawn_file_actions_destroy(&files);
        if (failure != 0) {
            process_ = -1;
            throw NoPartner{fmt::format("a second process could not be started: {}", std::strerror(failure))};
        }
    }

    Answer ask(const Ask& question, Descriptor& descriptor) {
        if (!send(socket_.number(), question)) {
            throw NoPartner{"the second process has ended"};
        }
        return answer(answer_s_, descriptor);
    }

    Answer answer(double seconds, Descriptor& descriptor) {
        auto const deadline = after(seconds);
        pollfd watched{socket_.number(), POLLIN, 0};
        for (;;) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
            auto const ready = ::poll(&watched, 1, static_cast<int>(std::max<long long>(left, 0)));
            if (ready > 0) {
                break;
            }
            if (ready == 0 || errno != EINTR) {
                throw TimeUp{};
            }
        }
        Answer got;
        if (!receive(socket_.number(), got, descriptor)) {
            throw NoPartner{"the second process has ended"};
        }
        got.reason.back() = '\0';
        if (got.kind == Answer::Kind::hang) {
            throw TimeUp{};
        }
        if (got.kind == Answer::Kind::error) {
            // A sticky error of that process is none of this one.
            throw Error({.code = got.code, .call = "in the exporting process", .cure = got.reason.data()});
        }
        return got;
    }

    /// At once where it can: what it holds goes with it. One that does not die in a second is left to the system.
    void end() noexcept {
        socket_ = Descriptor();
        if (process_ <= 0) {
            return;
        }
        ::kill(process_, SIGKILL);
        auto const deadline = after(1);
        timespec const pause{0, 1'000'000};
        while (::waitpid(process_, nullptr, WNOHANG) == 0 && Clock::now() < deadline) {
            ::nanosleep(&pause, nullptr);
        }
        process_ = -1;
    }

    double answer_s_;
    Descriptor socket_;
    pid_t process_ = -1;
};

void fill(Answer& answer, const ExportOutcome& outcome, const std::string& reason) {
    auto const& handle = outcome.handle;
    answer.code = outcome.code;
    answer.memory = handle.kind;
    answer.process = handle.process;
    answer.owner = handle.owner;
    answer.base = handle.base;
    answer.bytes = handle.bytes;
    answer.offset = handle.offset;
    answer.token = handle.token;
    answer.say(reason);
}

}  // namespace

std::unique_ptr<Partner> partner_process(const std::string& helper, const std::vector<std::string>& arguments,
                                         double start_s, double answer_s) {
    return std::make_unique<Process>(helper, arguments, start_s, answer_s);
}

void serve_partner(Driver& driver, int socket) {
    auto const partner = partner_on(driver);
    send(socket, Answer{});
    Ask question;
    for (Descriptor none; receive(socket, question, none);) {
        Answer answer;
        ExportOutcome exported;
        try {
            if (question.what == Ask::What::offer) {
                std::string reason;
                exported = partner->offer(question.offer, reason);
                fill(answer, exported, reason);
            } else if (question.what == Ask::What::look) {
                answer.found = partner->look(question.expected, question.poison);
            } else {
                partner->withdraw();
            }
        } catch (const TimeUp&) {
            answer.kind = Answer::Kind::hang;
        } catch (const Error& error) {
            answer.kind = Answer::Kind::error;
            answer.code = error.code();
            answer.say(error.what());
        }
        if (!send(socket, answer, exported.handle.descriptor.number())) {
            return;
        }
    }
}

}  // namespace peerlane::prove
