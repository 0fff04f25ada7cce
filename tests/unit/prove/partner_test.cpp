// Memory of another process: what each way of importing says, and the process that exports.
#include <chrono>
#include <csignal>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "prove/bench.hpp"
#include "prove/ladder.hpp"
#include "prove/partner.hpp"
#include "simulated.hpp"

namespace peerlane {
namespace {

using prove::ProbeStep;

std::string helper() {
    auto const beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "peerlane-probe-test";
    return std::filesystem::exists(beside) ? beside.string() : PEERLANE_PROBE_TEST;
}

/// What a partner answers that does not do as it should.
struct Plays {
    int refuses = 0;                ///< code of the export
    bool loses_the_offset = false;  ///< exports the start of the allocation instead
    bool writes_elsewhere = false;  ///< looks at other memory than it exported
    bool ends = false, hangs = false;
};

class Played final : public prove::Partner {
  public:
    Played(Driver& driver, Plays plays) : inner_(prove::partner_on(driver)), plays_(plays) {}
    ExportOutcome offer(const prove::Offer& offer, std::string& reason) override {
        if (plays_.hangs) {
            throw prove::TimeUp{};
        }
        if (plays_.ends) {
            throw prove::NoPartner{"the second process has ended"};
        }
        if (plays_.refuses != 0) {
            reason = "not allowed in this container";
            return {plays_.refuses, {}};
        }
        auto outcome = inner_->offer(offer, reason);
        outcome.handle.offset = plays_.loses_the_offset ? 0 : outcome.handle.offset;
        return outcome;
    }
    CheckOutcome look(Pattern expected, Pattern poison) override {
        return inner_->look(plays_.writes_elsewhere ? Pattern{expected.key + 1, 0} : expected, poison);
    }
    void withdraw() override { inner_->withdraw(); }

  private:
    std::unique_ptr<prove::Partner> inner_;
    Plays plays_;
};

CheckResult ways(Driver& driver, prove::FindPartner find = {}) {
    prove::Prober prober(driver, std::move(find));
    return prober.run({ProbeStep::Kind::ways, Check::map, 0, 1, {}, 7});
}

CheckResult ways_with(Plays plays) {
    auto const driver = open_simulated(test::machine_of(2), {});
    return ways(*driver, [&] { return std::make_unique<Played>(*driver, plays); });
}

MappingWay way(const CheckResult& result, const std::string& name) {
    for (auto const& way : result.ways) {
        if (way.way == name) {
            return way;
        }
    }
    return {"none", Result::skipped};
}

TEST(Imports, BothWaysAreRightInSimulationAndLeaveNothingBehind) {
    auto const driver = open_simulated(test::machine_of(2), {});
    auto const before = driver->free_bytes(1);
    auto const result = ways(*driver);
    EXPECT_EQ(way(result, "import_legacy"), (MappingWay{"import_legacy", Result::ok}));
    EXPECT_EQ(way(result, "import_virtual"), (MappingWay{"import_virtual", Result::ok}));
    EXPECT_EQ(driver->free_bytes(1), before);
}

TEST(Imports, ALostOffsetIsWrongBytes) {
    for (auto const* name : {"import_legacy", "import_virtual"}) {
        auto const found = way(ways_with({.loses_the_offset = true}), name);
        EXPECT_EQ(found.result, Result::wrong) << name;
        EXPECT_NE(found.reason.find("the other process wrote"), std::string::npos) << found.reason;
    }
}

TEST(Imports, AStoreThatTheOwningProcessDoesNotSeeIsWrong) {
    auto const found = way(ways_with({.writes_elsewhere = true}), "import_legacy");
    EXPECT_EQ(found.result, Result::wrong);
    EXPECT_NE(found.reason.find("for the process that owns them"), std::string::npos) << found.reason;
}

TEST(Imports, ARefusedExportIsAnErrorWithItsCodeAndMissingMemoryIsNone) {
    auto const refused = way(ways_with({.refuses = 304}), "import_legacy");
    EXPECT_EQ(refused.result, Result::error);
    EXPECT_EQ(refused.code, 304);
    EXPECT_EQ(refused.reason, "not allowed in this container");
    EXPECT_EQ(way(ways_with({.refuses = code::not_supported}), "import_virtual").result, Result::no);
    EXPECT_EQ(way(ways_with({.refuses = code::out_of_memory}), "import_virtual").result, Result::skipped);
}

TEST(Imports, APartnerThatEndsSkipsThemAndOneThatHangsIsAHang) {
    auto const ended = ways_with({.ends = true});
    EXPECT_EQ(way(ended, "import_legacy").result, Result::skipped);
    EXPECT_EQ(way(ended, "import_virtual").reason, "the second process has ended");
    auto const hung = ways_with({.hangs = true});
    EXPECT_EQ(way(hung, "pool").result, Result::ok);
    EXPECT_EQ(way(hung, "import_legacy").result, Result::hang);
    EXPECT_EQ(hung.result, Result::hang);
}

TEST(Imports, AProcessThatDoesNotStartIsAskedForOnce) {
    auto const driver = open_simulated(test::machine_of(2), {});
    int asked = 0;
    auto const result = ways(*driver, [&]() -> std::unique_ptr<prove::Partner> {
        ++asked;
        throw prove::NoPartner{"none"};
    });
    EXPECT_EQ(way(result, "import_legacy").result, Result::skipped);
    EXPECT_EQ(way(result, "import_virtual").reason, "none");
    EXPECT_EQ(asked, 1);
}

TEST(PartnerProcess, AnswersOverItsSocketAndIsGoneAfterwards) {
    {
        auto const partner = prove::partner_process(helper(), {"--machine", "h200-pair"}, 20, 20);
        for (auto const kind : {MemoryKind::plain, MemoryKind::virtual_memory}) {
            std::string reason;
            auto const outcome = partner->offer({1, kind, 2_MiB, 64_KiB + 16, 4096, {5, 0}}, reason);
            ASSERT_TRUE(outcome.usable()) << reason;
            EXPECT_EQ(outcome.handle.kind, kind);
            EXPECT_EQ(outcome.handle.owner, 1);
            EXPECT_EQ(outcome.handle.offset, 64_KiB + 16);
            EXPECT_EQ(outcome.handle.bytes, 2_MiB);
            EXPECT_NE(outcome.handle.process, ::getpid());
            EXPECT_EQ(partner->look({5, 0}, {}).bad, 0U);
            EXPECT_GT(partner->look({6, 0}, {}).bad, 4000U);
            // Simulated machines of two processes have nothing in common.
            auto const driver = open_simulated(test::machine_of(2), {});
            EXPECT_NE(driver->import_memory(outcome.handle, 0).code, 0);
        }
        partner->withdraw();
    }
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process was left";
}

TEST(PartnerProcess, WhatCannotStartOrEndsAtOnceSaysSo) {
    EXPECT_THROW(prove::partner_process("/nonexistent/peerlane-probe", {}, 20, 20), prove::NoPartner);
    EXPECT_THROW(prove::partner_process(helper(), {"--machine", "no-such-machine"}, 20, 20), prove::NoPartner);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process was left";
}

TEST(PartnerProcess, OneThatNeverAnswersIsEndedInItsTime) {
    EXPECT_THROW(prove::partner_process(helper(), {"--test-hang-at", "export"}, 0.2, 0.2), prove::NoPartner);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process was left";
}

}  // namespace
}  // namespace peerlane
