#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

#include "conformance/fixture.hpp"

namespace peerlane::conformance {
namespace {

class Graph {
  public:
    Graph(Driver& driver, GraphId id) : driver_(driver), id_(id) {}
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() {
        try {
            driver_.destroy_graph(id_);
        } catch (const std::exception&) {  // the case has failed already
        }
    }
    void run(StreamView stream) {
        driver_.launch_graph(id_, stream);
        driver_.synchronize(stream);
    }

  private:
    Driver& driver_;
    GraphId id_;
};

/// Launches twice with different contents, so that a graph that remembers bytes instead of doing the work is found out.
void expect_two_runs(Driver&, Witness& witness, Graph& graph, StreamView stream, const Buffer& to, const Buffer& from) {
    for (std::uint64_t run = 1; run <= 2; ++run) {
        Content const content(run);
        witness.fill(from.at(), from.bytes(), content.data);
        witness.fill(to.at(), to.bytes(), content.poison);
        graph.run(stream);
        EXPECT_TRUE(witness.holds(to.at(), to.bytes(), content.data, content.poison)) << "run " << run;
    }
}

}  // namespace

TEST_P(Capture, RecordsInsteadOfRunningAndRunsAtEveryLaunch) {
    Stream const stream(driver(), 0);
    Buffer const from(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 4),
        middle(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 4), to(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 4);
    Content const content(9);
    witness().fill(from.at(), from.bytes(), content.data);
    witness().fill(to.at(), to.bytes(), content.poison);
    EXPECT_FALSE(driver().capturing(stream.view()));
    driver().begin_capture(stream.view());
    EXPECT_TRUE(driver().capturing(stream.view()));
    driver().copy(stream.view(), {middle.at(), from.at(), from.bytes()});
    driver().copy(stream.view(), {to.at(), middle.at(), from.bytes()});
    Graph graph(driver(), driver().end_capture(stream.view()));
    EXPECT_FALSE(driver().capturing(stream.view()));
    driver().synchronize(stream.view());
    EXPECT_TRUE(witness().holds(to.at(), to.bytes(), content.poison, content.data)) << "capturing must not run";
    expect_two_runs(driver(), witness(), graph, stream.view(), to, from);
}

TEST_P(Capture, AGraphKeepsWhatItIsGivenUntilItIsGone) {
    Stream const stream(driver(), 0);
    Buffer const from(driver(), gpu(0), MemoryKind::plain, 64 * KiB), to(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    auto kept = std::make_shared<int>(1);
    std::weak_ptr<int> const watched = kept;
    EXPECT_FALSE(driver().keep_with_graph(stream.view(), kept)) << "nothing is being captured";
    driver().begin_capture(stream.view());
    driver().copy(stream.view(), {to.at(), from.at(), from.bytes()});
    auto const keeps = driver().keep_with_graph(stream.view(), kept);
    auto const id = driver().end_capture(stream.view());
    kept.reset();
    if (!keeps) {
        driver().destroy_graph(id);
        GTEST_SKIP() << "this driver cannot tell when a graph goes";
    }
    {
        Graph graph(driver(), id);
        expect_two_runs(driver(), witness(), graph, stream.view(), to, from);
        EXPECT_FALSE(watched.expired());
    }
    for (int tries = 0; tries < 1000 && !watched.expired(); ++tries) {  // told by a thread of the runtime
        EXPECT_FALSE(driver().keep_with_graph(stream.view(), nullptr));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(watched.expired());
}

TEST_P(Capture, AGraphMayBeLaunchedIntoAnotherStream) {
    Stream const captured(driver(), 0), other(driver(), 0);
    Buffer const from(driver(), gpu(0), MemoryKind::plain, 64 * KiB), to(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    driver().begin_capture(captured.view());
    driver().copy(captured.view(), {to.at(), from.at(), from.bytes()});
    Graph graph(driver(), driver().end_capture(captured.view()));
    expect_two_runs(driver(), witness(), graph, other.view(), to, from);
}

TEST_P(Capture, KernelsAndFillsAreRecordedWithTheirArguments) {
    Stream const stream(driver(), 0);
    Buffer const memory(driver(), gpu(0), MemoryKind::plain, 64 * KiB),
        out(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    Content const content(1);
    FillArguments fill{memory.address(), memory.bytes(), content.data, 16};
    driver().begin_capture(stream.view());
    driver().fill(stream.view(), memory.at(), 0, memory.bytes());
    driver().launch(stream.view(), fill_kernel, &fill);
    driver().copy(stream.view(), {out.at(), memory.at(), memory.bytes()});
    Graph graph(driver(), driver().end_capture(stream.view()));
    fill = {Address::null, 0, content.poison, 4};
    for (int run = 0; run < 2; ++run) {
        witness().fill(memory.at(), memory.bytes(), content.poison);
        witness().fill(out.at(), out.bytes(), content.poison);
        graph.run(stream.view());
        EXPECT_TRUE(witness().holds(out.at(), out.bytes(), content.data, content.poison)) << "run " << run;
    }
}

TEST_P(Capture, LaunchesOfOneStreamKeepTheirOrderWithOtherWork) {
    Stream const stream(driver(), 0);
    Buffer const a(driver(), gpu(0), MemoryKind::plain, 1 * MiB), b(driver(), gpu(0), MemoryKind::plain, 1 * MiB),
        c(driver(), gpu(0), MemoryKind::plain, 1 * MiB);
    Content const content(1);
    driver().begin_capture(stream.view());
    driver().copy(stream.view(), {b.at(), a.at(), a.bytes()});
    auto const id = driver().end_capture(stream.view());
    Graph const graph(driver(), id);
    witness().fill(a.at(), a.bytes(), content.data);
    witness().fill(b.at(), b.bytes(), content.poison);
    witness().fill(c.at(), c.bytes(), content.poison);
    driver().launch_graph(id, stream.view());
    driver().copy(stream.view(), {c.at(), b.at(), a.bytes()});
    driver().fill(stream.view(), b.at(), 0, b.bytes());
    driver().synchronize(stream.view());
    EXPECT_TRUE(witness().holds(c.at(), c.bytes(), content.data, content.poison));
}

TEST_P(Capture, AnotherStreamThatWaitsForACapturedEventJoinsIn) {
    Stream const first(driver(), 0), second(driver(), 0);
    Event const fork(driver(), 0), join(driver(), 0);
    Buffer const from(driver(), gpu(0), MemoryKind::plain, 64 * KiB), to(driver(), gpu(0), MemoryKind::plain, 64 * KiB);
    driver().begin_capture(first.view());
    driver().record(fork.view(), first.view());
    driver().wait(second.view(), fork.view());
    EXPECT_TRUE(driver().capturing(second.view()));
    driver().copy(second.view(), {to.at(), from.at(), from.bytes()});
    driver().record(join.view(), second.view());
    driver().wait(first.view(), join.view());
    Graph graph(driver(), driver().end_capture(first.view()));
    EXPECT_FALSE(driver().capturing(second.view()));
    expect_two_runs(driver(), witness(), graph, first.view(), to, from);
}

TEST_P(PeerCapture, ThePeerCallIsRefusedTheCaptureIsLostAndTheStreamIsUsable) {
    enable_both();
    Stream const stream(driver(), 0);
    Buffer const from(driver(), gpu(0), MemoryKind::plain, 64 * KiB), to(driver(), gpu(1), MemoryKind::plain, 64 * KiB);
    driver().begin_capture(stream.view());
    auto const error = error_of([&] {
        driver().copy(stream.view(), {to.at(), from.at(), from.bytes(), CopyApi::peer});
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, code::capture_unsupported);
    EXPECT_FALSE(error->sticky);
    EXPECT_EQ(code_of([&] { (void)driver().end_capture(stream.view()); }), code::capture_invalidated);
    EXPECT_FALSE(driver().capturing(stream.view()));
    EXPECT_EQ(driver().last_error(), 0);
    EXPECT_TRUE(witness().copies(stream.view(), to, from, CopyApi::peer));
    driver().begin_capture(stream.view());
    driver().copy(stream.view(), {to.at(), from.at(), from.bytes()});
    Graph graph(driver(), driver().end_capture(stream.view()));
    expect_two_runs(driver(), witness(), graph, stream.view(), to, from);
}

TEST_P(PeerCapture, TheAutomaticCallBetweenDevicesIsRecorded) {
    enable_both();
    for (int issuer = 0; issuer < 2; ++issuer) {
        Stream const stream(driver(), issuer);
        Buffer const from(driver(), gpu(0), MemoryKind::plain, 1 * MiB + 4),
            to(driver(), gpu(1), MemoryKind::plain, 1 * MiB + 4);
        driver().begin_capture(stream.view());
        driver().copy(stream.view(), {to.at(), from.at(), from.bytes()});
        Graph graph(driver(), driver().end_capture(stream.view()));
        expect_two_runs(driver(), witness(), graph, stream.view(), to, from);
    }
}

TEST_P(PeerCapture, AKernelThatStoresToThePeerIsRecorded) {
    enable(0, 1);
    Stream const stream(driver(), 0);
    Buffer const memory(driver(), gpu(1), MemoryKind::plain, 1 * MiB + 4);
    Content const content(1);
    FillArguments const fill{memory.address(), memory.bytes(), content.data, 16};
    driver().begin_capture(stream.view());
    driver().launch(stream.view(), fill_kernel, &fill);
    Graph graph(driver(), driver().end_capture(stream.view()));
    for (int run = 0; run < 2; ++run) {
        witness().fill(memory.at(), memory.bytes(), content.poison);
        graph.run(stream.view());
        EXPECT_TRUE(witness().holds(memory.at(), memory.bytes(), content.data, content.poison)) << "run " << run;
    }
}

TEST_P(PeerCapture, AStagedCopyOverTwoDevicesAndEventsIsOneGraph) {
    constexpr std::uint64_t bytes = 1 * MiB + 4;
    Stream const first(driver(), 0), second(driver(), 1);
    Event const halfway(driver(), 0), done(driver(), 1);
    Buffer const from(driver(), gpu(0), MemoryKind::plain, bytes), to(driver(), gpu(1), MemoryKind::plain, bytes);
    Buffer const staging(driver(), host(), MemoryKind::pinned, bytes);
    driver().begin_capture(first.view());
    driver().copy(first.view(), {staging.at(), from.at(), bytes});
    driver().record(halfway.view(), first.view());
    driver().wait(second.view(), halfway.view());
    EXPECT_TRUE(driver().capturing(second.view()));
    driver().copy(second.view(), {to.at(), staging.at(), bytes});
    driver().record(done.view(), second.view());
    driver().wait(first.view(), done.view());
    Graph graph(driver(), driver().end_capture(first.view()));
    EXPECT_FALSE(driver().capturing(second.view()));
    expect_two_runs(driver(), witness(), graph, first.view(), to, from);
}

}  // namespace peerlane::conformance
