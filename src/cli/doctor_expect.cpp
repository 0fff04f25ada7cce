/// This machine against one as it should be.

#include <peerlane/named.hpp>

#include "cli/doctor.hpp"
#include "compare/traits.hpp"

namespace peerlane::cli {

NodeReport report_of(const Examination& examination) {
    auto traits = traits_of(examination.facts);
    traits["run"] = examination.verdicts.simulated ? "simulated" : "on real devices";
    return peerlane::report_of("this machine", examination.machine, examination.verdicts, std::move(traits));
}

void expect(Examination& examination, const DoctorAsked& asked) {
    if (asked.expect.empty()) {
        return;
    }
    examination.expected = asked.expect;
    auto const golden = read_report(read_input(asked.expect), asked.expect);
    auto node = report_of(examination);
    if (!examination.disturbed.empty()) {  // rates that others disturb are no news
        node.rates.clear();
        node.staged_rates.clear();
    }
    examination.unexpected = differences(golden, node, asked.tolerance);
    if (!examination.unexpected.empty() && examination.verdicts.status == Health::healthy) {
        examination.verdicts.status = Health::degraded;
    }
}

}  // namespace peerlane::cli
