// What must not run any more. After a killed hang both devices of local-inference-lab/rtx6kpro#15 stayed at 100 % with
// no process: nothing more is launched on such a device.

#include <gtest/gtest.h>

#include "prove/guard.hpp"

namespace peerlane::prove {
namespace {

ProbeStep check(Check what, int accessor, int owner) {
    return {ProbeStep::Kind::check, what, accessor, owner, {4096}, 1};
}

GuardOptions with_busy(std::vector<int>& asked) {
    GuardOptions options;
    options.busy = [&asked](int device) {
        asked.push_back(device);
        return device == 0 ? std::string("100 %, no process") : "";
    };
    return options;
}

TEST(Guard, ForbidsOnlyTheStepThatItWasToldOf) {
    Guard const guard({.forbidden = {{"0:2 store", "froze"}}});
    EXPECT_EQ(guard.veto(check(Check::store, 0, 2)), "froze");
    EXPECT_EQ(guard.veto(check(Check::load, 0, 2)), "");
    EXPECT_EQ(guard.veto(check(Check::store, 2, 0)), "");
}

TEST(Guard, NothingIsLaunchedOnADeviceThatStaysBusy) {
    std::vector<int> asked;
    Guard guard(with_busy(asked));
    guard.saw({check(Check::store, 0, 1), {Result::wrong}});
    EXPECT_TRUE(asked.empty()) << "only a hang can leave something behind";
    guard.saw({check(Check::store, 0, 1), {Result::hang}});
    guard.saw({check(Check::load, 0, 1), {Result::hang}});
    EXPECT_EQ(asked, (std::vector<int>{0, 1, 1})) << "a busy device is not asked again";
    EXPECT_EQ(guard.busy().size(), 1U);
    EXPECT_NE(guard.veto(check(Check::push, 2, 0)), "");
    EXPECT_NE(guard.veto({ProbeStep::Kind::control, Check::claim, 0, 2}), "");
    EXPECT_EQ(guard.veto(check(Check::claim, 0, 2)), "") << "asking the driver launches nothing";
    EXPECT_EQ(guard.veto(check(Check::push, 1, 2)), "");
}

TEST(Guard, StopsEverythingOnceAsked) {
    bool stop = false;
    Guard const guard({.stopped = [&] { return stop; }});
    EXPECT_EQ(guard.veto(check(Check::claim, 0, 1)), "");
    stop = true;
    EXPECT_NE(guard.veto(check(Check::claim, 0, 1)), "");
}

}  // namespace
}  // namespace peerlane::prove
