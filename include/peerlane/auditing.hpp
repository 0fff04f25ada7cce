#pragma once
/// Any driver, watched: every call goes on to it, and what the call means goes to the audit (and, where wanted, into a
/// trace).

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/audit.hpp>
#include <peerlane/driver.hpp>

namespace peerlane {

struct AuditingOptions {
    /// Receives each line of `peerlane.trace/1`, without its end, in the order of the calls; may be empty.
    std::function<void(std::string_view line)> trace{};
    /// Receives each finding as it is made; may be empty.
    std::function<void(const AuditFinding&)> found{};
    /// A launch that would touch memory without a mapping is not passed on: Error 700 (not sticky) lists every range
    /// instead.
    bool refuse_unmapped = false;
};

/// What the audit knows beside the driver's own interface.
class AuditingDriver : public Driver {
  public:
    /// Every unmapped or misplaced access that a launch would make, before it runs. Changes nothing.
    [[nodiscard]] virtual std::vector<AuditFinding> check(StreamView stream, const Kernel& kernel,
                                                          const void* arguments) const = 0;
    /// May a kernel of the device touch these bytes, and if not, which call mends it.
    [[nodiscard]] virtual AccessAnswer explain(int accessor, Address at, std::uint64_t bytes) const = 0;
    /// After an illegal access: the accesses that may have caused it, most likely first.
    [[nodiscard]] virtual std::vector<AuditFinding> explain_fault() const = 0;
    /// Who waits for whom now, and for how long by the driver's clock, one line each.
    [[nodiscard]] virtual std::vector<std::string> waiting() const = 0;
    [[nodiscard]] virtual std::vector<AuditFinding> findings() const = 0;
    /// Ends the audit: what is still open was leaked, what still waits can never go on. The driver can be used on,
    /// unwatched.
    virtual AuditReport finish() = 0;
};

/// `inner` must outlive it. A wait that never ends (Error 702 under simulation, `wait_for` that is not met) and a
/// sticky fault carry the audit's report in their text. Work recorded into a graph is audited when the graph is
/// launched, as if it ran in the launching stream one operation after another. Kernels are audited by their meaning
/// (src/kernels), run with every wait met.
std::unique_ptr<AuditingDriver> make_auditing(Driver& inner, AuditingOptions options = {});

}  // namespace peerlane
