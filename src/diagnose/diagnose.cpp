#include <peerlane/diagnose.hpp>

#include <algorithm>
#include <array>
#include <tuple>

#include "diagnose/context.hpp"

namespace peerlane {
namespace {

using Severity = Finding::Severity;

constexpr std::array codes{
    FindingCode{"claim-broken", Severity::error, "claimed, yet a check is wrong, hangs or fails"},
    FindingCode{"enable-refused", Severity::error, "claimed, but enabling the access is refused"},
    FindingCode{"peer-refused", Severity::info, "the driver says no"},
    FindingCode{"one-way-access", Severity::warn, "the driver's answer differs by direction"},
    FindingCode{"peer-limit", Severity::warn, "more peers wanted than the device takes at once"},
    FindingCode{"foreign-peer-holder", Severity::warn, "places for peers are held by other processes"},
    FindingCode{"peer-slower-than-host", Severity::warn, "proven, but going through the host is faster"},
    FindingCode{"peer-no-gain", Severity::info, "direct is within 10 % of going through the host"},
    FindingCode{"peer-latency", Severity::warn, "a small access takes far longer than through the host"},
    FindingCode{"group-collapse", Severity::warn, "right and fast alone, slower together than in turns"},
    FindingCode{"shared-uplink", Severity::info, "pairs that share one uplink are slower through the host"},
    FindingCode{"weak-device", Severity::warn, "the slow pairs have one device in common"},
    FindingCode{"wedge-after-test", Severity::error, "a device stays busy after the test ended"},
    FindingCode{"probe-interrupted", Severity::error, "a former run never came back from a step"},
    FindingCode{"path-changed", Severity::warn, "the machine is no longer as it was when the pair was proven"},
    FindingCode{"verdict-outdated", Severity::info, "the stored verdict belongs to another driver or machine"},
    FindingCode{"iommu-translating", Severity::warn, "addresses of devices are translated by the IOMMU"},
    FindingCode{"iommu-fault", Severity::error, "the IOMMU refused an access of a device"},
    FindingCode{"acs-redirect", Severity::warn, "a bridge sends peer traffic up to the host"},
    FindingCode{"acs-unreadable", Severity::info, "whether bridges redirect peer traffic cannot be read"},
    FindingCode{"vm-view-of-pcie", Severity::info, "tree and windows are a guest's view"},
    FindingCode{"tree-unknown", Severity::info, "this system shows no PCI tree"},
    FindingCode{"link-downgraded", Severity::warn, "a link runs below what both of its ends can"},
    FindingCode{"slot-narrow", Severity::info, "the slot has fewer lanes than the card"},
    FindingCode{"pcie-errors", Severity::warn, "error counters of a link moved during the run"},
    FindingCode{"display-active-bar1", Severity::warn, "a screen or console uses the device's window"},
    FindingCode{"small-bar1", Severity::warn, "the device's window does not cover its memory"},
    FindingCode{"mig-enabled", Severity::info, "a partitioned device has no peers"},
    FindingCode{"mixed-models", Severity::info, "the devices differ"},
    FindingCode{"driver-branch", Severity::warn, "the driver is too old for the part"},
    FindingCode{"module-patched", Severity::warn, "the kernel module is not the vendor's"},
    FindingCode{"xid-logged", Severity::warn, "the driver logged errors of this device"},
    FindingCode{"management-hang", Severity::error, "a management query did not return"},
    FindingCode{"query-slow", Severity::warn, "a management query took very long"},
    FindingCode{"no-driver", Severity::error, "no driver, no device, or the driver would not start"},
    FindingCode{"nvlink-inactive", Severity::warn, "links are down, or a count the part does not have"},
    FindingCode{"nvlink-absent", Severity::info, "the part could have NVLink, nothing is fitted"},
    FindingCode{"fabric-manager-missing", Severity::error, "NVSwitch without its fabric manager"},
    FindingCode{"fabric-manager-version", Severity::error, "the fabric manager is not of the driver's version"},
    FindingCode{"fabric-unprovisioned", Severity::warn, "NVLink is there, its fabric was never set up"},
    FindingCode{"visible-devices-order", Severity::info, "two numberings of the same devices"},
    FindingCode{"visible-devices-subset", Severity::info, "devices are hidden from this process"},
    FindingCode{"namespace-split", Severity::warn, "processes of one host do not share what the path needs"},
    FindingCode{"shm-small", Severity::warn, "/dev/shm is smaller than staging between processes needs"},
    FindingCode{"imex-missing", Severity::info, "handles for the fabric are refused"},
    FindingCode{"forced-setting", Severity::info, "a setting forces or forbids paths"},
};

}  // namespace

std::span<const FindingCode> finding_codes() {
    return codes;
}

std::vector<Finding> diagnose(const Machine& machine, const Facts& facts, const Verdicts& verdicts) {
    causes::Context const context(machine, facts, verdicts);
    causes::Findings found;
    causes::proof(context, found);
    causes::rates(context, found);
    causes::run(context, found);
    causes::platform(context, found);
    causes::links(context, found);
    causes::device(context, found);
    causes::fabric(context, found);
    causes::driver(context, found);
    causes::process(context, found);

    auto const rank = [&](const Finding& finding) {
        auto const explained = std::count_if(finding.pairs.begin(), finding.pairs.end(),
                                             [&](auto const& pair) { return context.not_right(pair); });
        auto const place = std::find_if(codes.begin(), codes.end(),
                                        [&](const FindingCode& code) { return code.code == finding.code; }) -
                           codes.begin();
        return std::tuple(-static_cast<int>(finding.severity), -explained, place);
    };
    std::stable_sort(found.all.begin(), found.all.end(),
                     [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
    return std::move(found.all);
}

}  // namespace peerlane
