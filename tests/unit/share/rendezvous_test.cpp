// The socket where processes meet: who may come, what fits, who is gone.

#include <fstream>
#include <stdexcept>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <peerlane/error.hpp>
#include <peerlane/host_segment.hpp>
#include <peerlane/rendezvous.hpp>

#include "support.hpp"

namespace peerlane::share_tests {
namespace {

int code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.code();
    }
    return 0;
}

bool is_there(const std::string& path) {
    struct stat what {};
    return ::lstat(path.c_str(), &what) == 0;
}

TEST(Rendezvous, TwoProcessesMeetAndTalk) {
    Folder const folder;
    auto const path = folder / "meet";
    Child child([&] {
        auto channel = PeerChannel::connect(path, limit_s);  // before anybody listens
        channel.send("hello from the child");
        auto const answer = channel.receive(limit_s);
        return answer && answer->bytes == "hello" && channel.process() == ::getppid() ? 0 : 1;
    });
    Listener listener(path);
    auto channel = listener.accept(limit_s);
    ASSERT_TRUE(channel);
    EXPECT_EQ(channel->process(), child.process());
    auto const message = channel->receive(limit_s);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->bytes, "hello from the child");
    EXPECT_TRUE(channel->alive());
    channel->send("hello");
    EXPECT_EQ(child.join(), 0);
    EXPECT_FALSE(channel->alive());
    EXPECT_THROW((void)channel->receive(limit_s), PeerGone);
}

TEST(Rendezvous, TheSocketIsForThisUserAndGoesWithItsListener) {
    Folder const folder;
    auto const path = folder / "meet";
    {
        Listener const listener(path);
        struct stat what {};
        ASSERT_EQ(::lstat(path.c_str(), &what), 0);
        EXPECT_EQ(what.st_mode & 0777U, 0600U);
    }
    EXPECT_FALSE(is_there(path));
}

TEST(Rendezvous, OfAnotherUserIsTurnedAway) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    Folder const folder;
    ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
    auto const path = folder / "meet";
    Listener listener(path);
    ASSERT_EQ(::chmod(path.c_str(), 0666), 0);  // as if somebody had opened it
    Child child([&] {
        if (::setuid(65534) != 0) {
            return 2;
        }
        try {
            auto const channel = PeerChannel::connect(path, 1);
        } catch (const Error&) {
            return 0;
        }
        return 1;
    });
    for (int i = 0; i < 120 && listener.turned_away() == 0; ++i) {
        EXPECT_FALSE(listener.accept(0.5));
    }
    EXPECT_GT(listener.turned_away(), 0);
    EXPECT_EQ(child.join(), 0);
}

TEST(Rendezvous, WhatADeadListenerLeftIsReplaced) {
    Folder const folder;
    auto const path = folder / "meet";
    Child child([&] {
        Listener const listener(path);
        ::kill(::getpid(), SIGKILL);
        return 0;
    });
    EXPECT_EQ(child.join(), 128 + SIGKILL);
    ASSERT_TRUE(is_there(path));
    Listener const listener(path);
    EXPECT_TRUE(is_there(path));
}

TEST(Rendezvous, WhoListensKeepsItsPlace) {
    Folder const folder;
    auto const path = folder / "meet";
    Listener const listener(path);
    EXPECT_EQ(code_of([&] { Listener const second(path); }), code::invalid_value);
    EXPECT_TRUE(is_there(path));
    std::ofstream(folder / "file") << "precious";
    EXPECT_THROW(Listener(folder / "file"), std::invalid_argument);
    EXPECT_TRUE(is_there(folder / "file"));
    EXPECT_THROW(Listener(std::string(200, 'x')), std::invalid_argument);
    EXPECT_THROW((void)PeerChannel::connect(std::string(200, 'x'), 1), std::invalid_argument);
    EXPECT_EQ(code_of([&] { Listener const nowhere(folder / "none/meet"); }), code::invalid_value);
}

TEST(Rendezvous, NobodyComesIsNoHang) {
    Folder const folder;
    Listener listener(folder / "meet");
    EXPECT_FALSE(listener.accept(0.01));
    EXPECT_EQ(code_of([&] { (void)PeerChannel::connect(folder / "nobody", 0.05); }), code::launch_timeout);
}

TEST(Rendezvous, WhoConnectsAndSaysNothingIsTurnedAway) {
    Folder const folder;
    auto const path = folder / "meet";
    Listener listener(path);
    auto const silent = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(silent, "GET / HTTP/1.1", 14, 0), 14);
    Child child([&] {
        auto const channel = PeerChannel::connect(path, limit_s);
        return channel.process() == ::getppid() ? 0 : 1;
    });
    EXPECT_TRUE(listener.accept(limit_s));
    EXPECT_EQ(listener.turned_away(), 1);
    EXPECT_EQ(child.join(), 0);
    ::close(silent);
}

TEST(Rendezvous, MessagesAreWholeAndBounded) {
    auto [one, other] = PeerChannel::pair();
    EXPECT_THROW(one.send(""), std::invalid_argument);
    EXPECT_THROW(one.send(std::string(most_message_bytes + 1, 'x')), std::invalid_argument);
    EXPECT_THROW(one.send("x", std::vector<int>(most_message_descriptors + 1, 0)), std::invalid_argument);
    std::string const most(most_message_bytes, 'y');
    one.send(most);
    one.send("small");
    EXPECT_EQ(other.receive(limit_s)->bytes, most);
    EXPECT_EQ(other.receive(limit_s)->bytes, "small");
    EXPECT_FALSE(other.receive(0));
}

TEST(Rendezvous, WhoReadsNothingIsNoHang) {
    auto ends = PeerChannel::pair();
    std::string const most(most_message_bytes, 'y');
    EXPECT_EQ(code_of([&] {
                  for (int i = 0; i < 100000; ++i) {
                      ends.first.send(most, {}, 0.05);
                  }
              }),
              code::launch_timeout);
}

TEST(Rendezvous, DescriptorsTravelBesideTheBytes) {
    auto [one, other] = PeerChannel::pair();
    HostSegment const segment(4096);
    static_cast<char*>(segment.data())[10] = 'z';
    one.send("take this", {segment.descriptor().number(), segment.descriptor().number()});
    auto const got = other.receive(limit_s);
    ASSERT_TRUE(got);
    ASSERT_EQ(got->descriptors.size(), 2U);
    HostSegment const same(got->descriptors[0], 4096);
    EXPECT_EQ(static_cast<char*>(same.data())[10], 'z');
}

TEST(Rendezvous, AKilledPeerIsNoticedAfterItsLastMessage) {
    Folder const folder;
    auto const path = folder / "meet";
    Listener listener(path);
    Child child([&] {
        auto channel = PeerChannel::connect(path, limit_s);
        channel.send("last words");
        ::kill(::getpid(), SIGKILL);
        return 0;
    });
    auto channel = listener.accept(limit_s);
    ASSERT_TRUE(channel);
    auto const message = channel->receive(limit_s);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->bytes, "last words");
    try {
        (void)channel->receive(limit_s);
        FAIL() << "nobody is there";
    } catch (const PeerGone& gone) {
        EXPECT_EQ(gone.process(), child.process());
        EXPECT_NE(std::string(gone.what()).find(std::to_string(child.process())), std::string::npos);
    }
    EXPECT_THROW(channel->send("anybody?"), PeerGone);
}

}  // namespace
}  // namespace peerlane::share_tests
