// doctor --format html: the document as a user gets it, and as a browser shows it. The browser is Chromium without a
// window; where there is none, those tests are skipped.

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/ran.hpp"

namespace peerlane::cli_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

bool has_charts(const std::string& page) {
    return page.find("Charts are absent") == std::string::npos;
}

TEST(HtmlReport, SaysWhatTheTextPageSays) {
    Folder const folder;
    auto const saved = folder.file("verdicts.json");
    auto const ran =
        typed("--machine h200-pair --fault push:0:1@512KiB+=flip --format html --save " + saved + " doctor");
    EXPECT_EQ(ran.status, 2) << ran.err;
    EXPECT_THAT(ran.out, StartsWith("<!DOCTYPE html>"));
    for (auto const* const words : {"1 of 2 directed pairs delivers wrong bytes", "SIMULATED, no real device is used",
                                    "claim-broken", "wrong", "About this run", "seed 1", "h200-pair, 2 x NVIDIA H200",
                                    "peerlane --machine h200-pair --fault push:0:1@512KiB+=flip doctor --format html",
                                    "Predicted from costs that were measured on the simulated machine."}) {
        EXPECT_THAT(ran.out, HasSubstr(words));
    }
    EXPECT_EQ(nlohmann::json::parse(text_of(saved))["status"], "broken") << "--save writes the document, as ever";
    EXPECT_EQ(ran.err.find("Charts are absent") == std::string::npos, has_charts(ran.out));
    auto const again = typed("--machine h200-pair --fault push:0:1@512KiB+=flip doctor --format html");
    EXPECT_EQ(again.out, ran.out) << "equal commands print equal bytes";
}

TEST(HtmlReport, OfARecordRunsNothing) {
    Folder const folder;
    auto const record = folder.file("doctor.jsonl");
    ASSERT_EQ(typed("--machine h200-pair doctor --quick --record " + record).status, 0);
    auto const ran = typed("--machine " + record + " doctor --format html");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("REPLAYED from"));
    EXPECT_THAT(ran.out, HasSubstr("Predicted from the rates that the proof saw and from nominal costs"));
    EXPECT_THAT(ran.out, Not(HasSubstr(folder.path()))) << "it is sent around: files without their folders";
}

TEST(HtmlReport, TakesAProfile) {
    Folder const folder;
    auto const profile = folder.file("profile.json");
    ASSERT_EQ(typed("--machine h200-pair measure --quick --save " + profile).status, 0);
    auto const ran = typed("--machine h200-pair doctor --quick --format html --profile " + profile);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("Predicted from the costs of profile.json"));
    EXPECT_THAT(ran.out, Not(HasSubstr(folder.path())));
    EXPECT_EQ(typed("--machine h200-pair doctor --quick --profile " + profile).status, 64) << "for nothing else";
    EXPECT_EQ(typed("--machine h200-pair doctor --quick --format html --profile " + folder.file("no")).status, 66);
    EXPECT_EQ(typed("--machine h200-pair doctor --quick --format html --profile " + folder.file("bad", "{}\n")).status,
              65);
}

TEST(HtmlReport, OfPartsOfAMachine) {
    auto const some = typed("--machine h100-8 -i 1,3,6 doctor --quick --format html");
    EXPECT_EQ(some.status, 0) << some.err;
    EXPECT_THAT(some.out, HasSubstr("id=\"d6-1\""));
    EXPECT_THAT(some.out, Not(HasSubstr("id=\"d0-1\"")));
    auto const pair = typed("--machine h200-pair doctor --pair 1:0 --quick --format html");
    EXPECT_EQ(pair.status, 0) << pair.err;
    auto const passive = typed("--machine h200-pair doctor --passive --format html");
    EXPECT_EQ(passive.status, 0) << passive.err;
    EXPECT_THAT(passive.out, HasSubstr("No times are predicted"));
    EXPECT_EQ(typed("--machine h200-pair topo --format html").status, 64);
    EXPECT_THAT(typed("doctor --help").out, HasSubstr("--format: table, json, markdown, html\n"));
}

TEST(HtmlReport, WhateverIsWrongWithTheMachine) {
    for (auto const* const fault : {"push:any:any=hang", "store:0:1=freeze", "host:0:1=flip", "claim:any:any=no",
                                    "load:1:0=error700", "map:any:any=limit8", "link:0:1=down@1ms", "wedge:0"}) {
        auto const ran = typed("--machine h200-pair --fault " + std::string(fault) + " doctor --quick --format html");
        EXPECT_LE(ran.status, 3) << fault << ": " << ran.err;
        EXPECT_THAT(ran.out, testing::EndsWith("</html>\n")) << fault;
    }
}

TEST(HtmlReport, OfAMachineWithAnEvilName) {
    Folder const folder;
    auto machine = nlohmann::json::parse(typed("--machine h200-pair --format json topo").out);
    machine["devices"][0]["model"] = "</script><script>document.title='owned'</script>";
    auto const file = folder.file("machine.json", machine.dump());
    auto const ran = typed("--machine " + file + " doctor --quick --format html");
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, Not(HasSubstr("<script>document.title")));
    EXPECT_THAT(ran.out, HasSubstr("&lt;script&gt;document.title"));
}

/// Chromium without a window, in folders of its own.
class Browser : public testing::Test {
  protected:
    void SetUp() override {
        for (auto const* const name : {"chromium", "chromium-browser", "google-chrome"}) {
            if (program_.empty() && shell("command -v " + std::string(name)).status == 0) {
                program_ = name;
            }
        }
        if (program_.empty()) {
            GTEST_SKIP() << "no Chromium here (Debian: apt-get install chromium)";
        }
        if (auto const ran = browse("about:blank"); ran.out.find("<html") == std::string::npos) {
            GTEST_SKIP() << program_ << " does not run here: " << ran.err;
        }
    }

    /// The document of the page after its scripts ran.
    [[nodiscard]] Ran browse(const std::string& address, const std::string& more = "") const {
        return shell(
            program_ +
                " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-extensions --no-first-run "
                "--enable-logging=stderr --allow-file-access-from-files --virtual-time-budget=5000 " +
                more + " --user-data-dir=" + folder_.file("browser") + " --dump-dom " + address,
            {.environment = {"HOME=" + folder_.path()}});
    }

    /// Runs the script in the report after its own, and gives what it left in the attribute data-seen of the body.
    [[nodiscard]] nlohmann::json seen(std::string page, const std::string& script) const {
        auto const errors = std::string(
            "<head><script>window.wrong = []; addEventListener('error', e => wrong.push(String(e.message)));"
            "addEventListener('securitypolicyviolation', e => wrong.push(e.violatedDirective));</script>");
        page.replace(page.find("<head>"), 6, errors);
        page.insert(
            page.rfind("</body>"),
            "<script>const pause = () => new Promise(done => setTimeout(done, 200)); pause().then(async () => {" +
                script +
                "}).then(seen => { document.body.dataset.seen = encodeURIComponent(JSON.stringify(seen)); "
                "});</script>");
        auto const ran = browse("file://" + folder_.file("page.html", page));
        EXPECT_THAT(ran.err, Not(HasSubstr("CONSOLE"))) << "the browser's console is to stay empty";
        auto const begin = ran.out.find("data-seen=\"");
        if (begin == std::string::npos) {
            ADD_FAILURE() << "the script did not run: " << ran.err << ran.out.substr(0, 2000);
            return {};
        }
        auto const end = ran.out.find('"', begin + 11);
        std::string text;
        for (auto at = begin + 11; at < end; ++at) {
            if (ran.out[at] == '%') {
                text += static_cast<char>(std::stoi(ran.out.substr(at + 1, 2), nullptr, 16));
                at += 2;
            } else {
                text += ran.out[at];
            }
        }
        return nlohmann::json::parse(text);
    }

    Folder folder_{};
    std::string program_{};
};

constexpr auto look = R"(
    const visible = () => [...document.querySelectorAll('details.direction')].filter(d => !d.hidden).map(d => d.id);
    const painted = () => {
        const canvas = document.querySelector('#chart canvas');
        if (canvas === null) return -1;
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let count = 0;
        for (let i = 3; i < pixels.length; i += 4) count += pixels[i] > 0 ? 1 : 0;
        return count;
    };
    const shown = { wrong, cells: document.querySelectorAll('.matrix a').length, first: visible(), painted: painted(),
        devices: document.querySelectorAll('svg.picture g.device').length,
        current: [...document.querySelectorAll('.matrix a[aria-current=true]')].map(a => a.getAttribute('href')) };
    document.querySelector('.matrix a[href="#d1-2"]').click();
    shown.second = visible();
    const from = document.querySelectorAll('#picker select')[0];
    from.value = '2';
    from.dispatchEvent(new Event('change'));
    shown.third = visible();
    const rate = document.querySelectorAll('#curves button')[1];
    if (rate) rate.click();
    await pause();
    shown.painted_rate = painted();
    return shown;
)";

TEST_F(Browser, ShowsTheWorstDirectionFirstAndThenTheOneThatIsChosen) {
    auto const ran = typed("--machine h100-8 -i 0,1,2,3 --fault load:2:0=zero doctor --quick --format html");
    ASSERT_EQ(ran.status, 2) << ran.err;
    auto const found = seen(ran.out, look);
    EXPECT_EQ(found["wrong"], nlohmann::json::array());
    EXPECT_EQ(found["cells"], 12);
    EXPECT_EQ(found["devices"], 4);
    EXPECT_EQ(found["first"], nlohmann::json({"d0-2"})) << "2 loads what 0 has: data from 0 to 2";
    EXPECT_EQ(found["current"], nlohmann::json({"#d0-2"}));
    EXPECT_EQ(found["second"], nlohmann::json({"d1-2"}));
    EXPECT_EQ(found["third"].size(), 1U) << "2 to 2 is no direction: the other choice gave way";
    EXPECT_EQ(found["third"][0].get<std::string>().substr(0, 3), "d2-");
    if (has_charts(ran.out)) {
        EXPECT_GT(found["painted"], 2000);
        EXPECT_GT(found["painted_rate"], 2000);
    } else {
        EXPECT_EQ(found["painted"], -1);
    }
}

TEST_F(Browser, NothingIsWiderThanAPhone) {
    auto const ran = typed("--machine h100-8 --fault push:0:3=flip doctor --quick --format html");
    ASSERT_EQ(ran.status, 2) << ran.err;
    folder_.file("inside.html", ran.out);
    // A window of Chromium is never that narrow, a frame may be.
    auto const found = seen(
        "<!DOCTYPE html><html><head></head><body><iframe src=\"inside.html\" style=\"width: 390px; height: 800px; "
        "border: "
        "0\"></iframe></body></html>",
        "const root = document.querySelector('iframe').contentDocument.documentElement;"
        "return { width: root.clientWidth, needs: root.scrollWidth, title: root.querySelector('title').textContent };");
    EXPECT_LE(found["width"], 390);
    EXPECT_LE(found["needs"], found["width"]);
    EXPECT_EQ(found["title"], "peerlane: broken");
}

}  // namespace
}  // namespace peerlane::cli_tests
