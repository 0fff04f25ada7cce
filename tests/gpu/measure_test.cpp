// Measuring on real devices: what must hold of any machine, and the figures to look at. Rates and times are printed,
// not judged; tests/gpu/run.sh keeps what is printed.
#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include <peerlane/measure.hpp>
#include <peerlane/open.hpp>
#include <peerlane/units.hpp>

namespace peerlane {
namespace {

class MeasureOnDevices : public testing::Test {
  protected:
    void SetUp() override {
        auto const here = cuda_availability();
        if (here.devices == 0) {
            GTEST_SKIP() << here.reason;
        }
        driver_ = open_cuda();
    }

    Profile measured(bool quick) {
        MeasureOptions options;
        options.trust_claimed = true;  // the ladder is tested elsewhere
        options.quick = quick;
        options.devices = {0};
        if (driver_->device_count() > 1) {
            options.devices.push_back(1);
        }
        auto const start = driver_->now();
        auto what = std::string();
        auto since = start;
        options.progress = [&](const MeasureProgress& progress) {
            auto const now = driver_->now();
            if (now - since > 0.25) {
                std::printf("  slow: %s took %.2f s\n", what.c_str(), now - since);
            }
            since = now;
            what = progress.what;
        };
        auto profile = measure(*driver_, options);
        std::printf("  %s measurement: %.2f s\n", quick ? "quick" : "full", driver_->now() - start);
        return profile;
    }

    std::unique_ptr<Driver> driver_;
};

void expect_sound(const Profile& profile, int devices) {
    EXPECT_TRUE(profile.complete);
    for (auto const& notice : profile.notices) {
        ADD_FAILURE() << notice;
    }
    EXPECT_GE(profile.legs.size(), static_cast<std::size_t>(2 * devices));
    for (auto const& leg : profile.legs) {
        SCOPED_TRACE(describe(leg.leg));
        ASSERT_FALSE(leg.curve.points.empty());
        ASSERT_FALSE(leg.queued.points.empty());
        EXPECT_EQ(leg.curve.points.front().bytes, 256U);
        // Single small copies differ by half with what the host does meanwhile; from a MiB on the bytes decide.
        for (std::size_t i = 0; i + 1 < leg.curve.points.size(); ++i) {
            if (leg.curve.points[i].bytes >= MiB) {
                EXPECT_LT(leg.curve.points[i].seconds, 1.3 * leg.curve.points[i + 1].seconds)
                    << size_text(leg.curve.points[i].bytes);
            }
        }
        EXPECT_GT(leg.queued.points.front().seconds, 0);
    }
    for (auto const& group : profile.loaded) {
        for (auto const& leg : group.legs) {
            EXPECT_LT(leg.gbs, 1.1 * leg.alone_gbs) << group.name << ": " << describe(leg.leg);
        }
    }
    EXPECT_EQ(read_profile_json(profile_json(profile), "profile"), profile);
}

void print(const Profile& profile) {
    for (auto const& leg : profile.legs) {
        std::printf("  %-34s %zu sizes;", describe(leg.leg).c_str(), leg.curve.points.size());
        double spread = 0;
        for (auto const& point : leg.curve.points) {
            spread = std::max(spread, point.spread);
        }
        for (auto const& point : leg.queued.points) {
            if (point.bytes == 4 * KiB) {
                std::printf(" 4 KiB %.2f us each", point.seconds * 1e6);
            } else if (point.bytes == 16 * MiB || point.bytes == GiB) {
                std::printf(", %s %.1f GB/s", size_text(point.bytes).c_str(),
                            static_cast<double>(point.bytes) / point.seconds / 1e9);
            }
        }
        std::printf("; single %.2f us; greatest spread %.1f %%\n", leg.curve.points.front().seconds * 1e6,
                    spread * 100);
    }
    for (auto const& group : profile.loaded) {
        std::printf("  %-26s", group.name.c_str());
        for (auto const& leg : group.legs) {
            std::printf(" %s>%s %.1f of %.1f;", to_string(leg.leg.from).c_str(), to_string(leg.leg.to).c_str(), leg.gbs,
                        leg.alone_gbs);
        }
        std::printf("\n");
    }
    auto const ns = [](const std::optional<double>& seconds) { return seconds ? *seconds * 1e9 : -1; };
    for (auto const& costs : profile.access) {
        std::printf(
            "  gpu%d reads %s: load %.0f ns, line %.1f ns, written line %.1f ns, add %.1f ns, dependent %.0f ns\n",
            costs.accessor, to_string(costs.place).c_str(), ns(costs.load_s), ns(costs.line_s),
            ns(costs.contended_line_s), ns(costs.fetch_add_s), ns(costs.dependent_fetch_add_s));
        std::printf("   ");
        for (auto const& rate : costs.reads) {
            std::printf(" %u/%u %.1f", rate.width, rate.stride, rate.useful_gbs);
        }
        std::printf(" GB/s; touches");
        for (auto const& touch : costs.touches) {
            std::printf(" %s %.1f us", size_text(touch.bytes).c_str(), touch.seconds * 1e6);
        }
        std::printf("\n");
    }
    auto const us = [](const std::optional<double>& seconds) { return seconds ? *seconds * 1e6 : -1; };
    auto const& calls = profile.host_costs;
    std::printf(
        "  calls, us: copy %.2f launch %.2f graph %.2f synchronize %.2f query %.2f provenance %.2f record %.2f\n",
        us(calls.copy_call_s), us(calls.launch_call_s), us(calls.graph_launch_call_s), us(calls.synchronize_idle_s),
        us(calls.query_s), us(calls.provenance_s), us(calls.event_s));
}

TEST_F(MeasureOnDevices, AFullProfileIsSound) {
    auto const profile = measured(false);
    print(profile);
    expect_sound(profile, std::min(2, driver_->device_count()));
    for (auto const& costs : profile.access) {
        EXPECT_TRUE(costs.load_s && costs.line_s) << to_string(costs.place);
        EXPECT_GE(costs.reads.size(), 9U) << to_string(costs.place);
        auto const* const own = profile.access_of(costs.accessor, gpu(costs.accessor));
        if (costs.place != gpu(costs.accessor) && own != nullptr) {
            EXPECT_GT(*costs.load_s, *own->load_s) << to_string(costs.place);
        }
        if (costs.place.is_device() && costs.place != gpu(costs.accessor)) {
            EXPECT_TRUE(costs.contended_line_s) << "the writer could not be made to outlast the reads";
        }
    }
}

TEST_F(MeasureOnDevices, AQuickProfileIsSoundAndAgreesWithAFullOne) {
    auto const quick = measured(true);
    expect_sound(quick, std::min(2, driver_->device_count()));
    auto const full = measured(false);
    for (auto const& leg : quick.legs) {
        auto const* const other = full.leg(leg.leg);
        ASSERT_NE(other, nullptr);
        for (auto const& point : leg.queued.points) {
            auto const same = std::find_if(other->queued.points.begin(), other->queued.points.end(),
                                           [&](const CurvePoint& p) { return p.bytes == point.bytes; });
            if (same != other->queued.points.end() && point.bytes >= MiB) {
                std::printf("  %s %s: quick %.1f us, full %.1f us\n", describe(leg.leg).c_str(),
                            size_text(point.bytes).c_str(), point.seconds * 1e6, same->seconds * 1e6);
                EXPECT_NEAR(point.seconds / same->seconds, 1, 0.25);
            }
        }
    }
}

TEST_F(MeasureOnDevices, GivesBackItsMappingsAndStopsWhenAsked) {
    if (driver_->device_count() < 2 || !driver_->can_access(0, 1)) {
        GTEST_SKIP() << "two devices that reach each other are needed";
    }
    (void)driver_->disable_access({0, 1});  // another test of this process may have left it
    MeasureOptions options;
    options.trust_claimed = options.quick = true;
    auto begun = 0;
    options.progress = [&](const MeasureProgress&) { ++begun; };
    options.stopped = [&] { return begun >= 5; };  // behind the warming of two devices and the first legs
    auto const part = measure(*driver_, options);
    EXPECT_FALSE(part.complete);
    EXPECT_FALSE(part.legs.empty());
    EXPECT_EQ(driver_->disable_access({0, 1}).code, 705) << "not enabled any more";
    EXPECT_EQ(driver_->last_error(), 0);
}

}  // namespace
}  // namespace peerlane
