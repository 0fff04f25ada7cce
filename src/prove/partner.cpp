#include "prove/partner.hpp"

#include <peerlane/driver/owned.hpp>
#include <peerlane/error.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"

#include "prove/bench.hpp"

namespace peerlane::prove {
namespace {

constexpr double patience_s = 2;  ///< for a kernel over a few pages of its own device's memory

class OnDriver final : public Partner {
  public:
    explicit OnDriver(Driver& driver) : driver_(driver) {}

    ExportOutcome offer(const Offer& offer, std::string& reason) override {
        withdraw();
        try {
            memory_ = Allocation(driver_, {gpu(offer.owner),
                                           offer.allocation_bytes,
                                           offer.kind,
                                           {},
                                           {},
                                           {},
                                           offer.kind == MemoryKind::virtual_memory});
        } catch (const Error& error) {
            if (error.info().sticky) {
                throw;
            }
            reason = error.what();
            return {error.code(), {}};
        }
        offer_ = offer;
        FillArguments const arguments{at(), offer.bytes, offer.marker, 16};
        run(fill_kernel, &arguments);
        auto outcome = driver_.export_memory(at());
        if (!outcome.usable()) {
            reason = std::string("the exporting process got no handle: ") + code_text(outcome.code);
        }
        return outcome;
    }

    CheckOutcome look(Pattern expected, Pattern poison) override {
        Allocation const outcome(driver_, {host(), sizeof(CheckOutcome), MemoryKind::pinned});
        CheckOutcome found{0, offer_.bytes, 0, 0};
        driver_.write_host(outcome.address(), &found, sizeof found);
        CheckArguments const arguments{at(), offer_.bytes, expected, poison, outcome.address()};
        run(check_kernel, &arguments);
        driver_.read_host(outcome.address(), &found, sizeof found);
        return found;
    }

    void withdraw() override { memory_ = Allocation(); }

  private:
    [[nodiscard]] Address at() const { return memory_.address() + offer_.offset; }

    void run(const Kernel& kernel, const void* arguments) {
        Stream const stream(driver_, offer_.owner);
        Event const done(driver_, offer_.owner);
        driver_.launch(stream.view(), kernel, arguments);
        driver_.record(done.view(), stream.view());
        if (!driver_.wait_for(done.view(), patience_s)) {
            throw TimeUp{};
        }
    }

    Driver& driver_;
    Allocation memory_;
    Offer offer_;
};

}  // namespace

Partner& Partners::get() {
    if (!none_.empty()) {
        throw NoPartner{none_};
    }
    if (!partner_) {
        try {
            if (!find_ && !driver_.simulated()) {
                throw NoPartner{"no second process is started here"};
            }
            partner_ = find_ ? find_() : partner_on(driver_);
        } catch (const NoPartner& none) {
            none_ = none.reason;
            throw;
        }
    }
    return *partner_;
}

std::unique_ptr<Partner> partner_on(Driver& driver) {
    return std::make_unique<OnDriver>(driver);
}

}  // namespace peerlane::prove
