#pragma once
/// What became of one movement of bytes. JSON form `peerlane.transfer/1`.

#include <cstdint>
#include <optional>
#include <string>

#include <peerlane/plan.hpp>
#include <peerlane/verdicts.hpp>

namespace peerlane {

struct TransferReport {
    enum class Outcome : std::uint8_t { ok, wrong, hang, error };
    struct Wrong {
        WrongKind kind = WrongKind::flip;
        std::uint64_t first_bad_offset = 0;
        std::uint64_t bad_bytes = 0;
        friend bool operator==(const Wrong&, const Wrong&) = default;
    };

    bool simulated = false;
    std::string machine{};  ///< the driver's description
    std::uint64_t bytes = 0;
    Outcome result = Outcome::error;
    std::optional<int> code{};  ///< of an error
    std::string message{};      ///< of an error or a hang, with what to do
    bool verified = false;      ///< the owner of the destination found every byte right
    std::optional<Wrong> wrong{};
    std::optional<double> seconds{};  ///< from the first submission to observed completion; median of the repetitions
    std::optional<double> gbs{};
    int repetitions = 1;
    Choice plan{};  ///< carried out; predicted_s is in it
    friend bool operator==(const TransferReport&, const TransferReport&) = default;
};

const char* to_string(TransferReport::Outcome outcome);
/// The document peerlane.transfer/1, two blanks an indent, ending with a line end.
std::string transfer_json(const TransferReport& report, const PlanRequest& request);

}  // namespace peerlane
