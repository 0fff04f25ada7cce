#include "unit/audit/random_trace.hpp"

#include <fmt/format.h>

namespace peerlane::audit_tests {

namespace {

class Maker {
  public:
    Maker(std::mt19937_64& random, const RandomTrace& shape) : random_(random), shape_(shape) {}

    Lines make() {
        lines_.push_back(R"({"op":"machine","devices":2})");
        for (int s = 0; s < shape_.streams; ++s) {
            static const char* kinds[] = {"nonblocking", "blocking", "legacy", "per-thread"};
            int kind = shape_.any_kind && one_in(2) ? below(4) : 0;
            const int device = s % 2;
            if (kind == 2 && legacy_[device]) {
                kind = 1;
            }
            legacy_[device] = legacy_[device] || kind == 2;
            lines_.push_back(
                fmt::format(R"({{"op":"stream","stream":"s{}","device":{},"kind":"{}"}})", s, device, kinds[kind]));
        }
        for (int m = 0; m < shape_.memories; ++m) {
            lines_.push_back(
                fmt::format(R"({{"op":"alloc","memory":"m{}","place":"host","bytes":100,"kind":"pinned"}})", m));
        }
        for (int i = 0; i < shape_.calls; ++i) {
            call();
        }
        if (shape_.frees && one_in(3)) {
            lines_.push_back(fmt::format(R"({{"op":"free","memory":"m{}"{}}})", below(shape_.memories),
                                         one_in(2) ? fmt::format(R"(,"stream":"s{}")", below(shape_.streams)) : ""));
        }
        return lines_;
    }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
    bool one_in(int n) { return below(n) == 0; }
    std::string thread() {
        return shape_.threads > 1 && one_in(2) ? fmt::format(R"(,"thread":"t{}")", below(shape_.threads - 1)) : "";
    }
    std::string stream() { return fmt::format("s{}", below(shape_.streams)); }
    std::string range() {
        switch (below(4)) {
            case 0:
                return R"("offset":0,"bytes":50)";
            case 1:
                return R"("offset":50,"bytes":50)";
            case 2:
                return R"("offset":25,"bytes":50)";
            default:
                return R"("offset":0,"bytes":100)";
        }
    }
    std::string signal_terms() {
        const int value = shape_.equals && one_in(4) ? 0 : 1 + below(2);
        return fmt::format(R"("value":{},"order":"{}")", value, shape_.relaxed && one_in(4) ? "relaxed" : "release");
    }
    std::string wait_terms() {
        const char* how = shape_.equals && one_in(3) ? "equals" : "at_least";
        const int value = shape_.equals && one_in(6) ? 0 : 1 + below(2);
        return fmt::format(R"("{}":{},"order":"{}")", how, value, shape_.relaxed && one_in(4) ? "relaxed" : "acquire");
    }
    std::string flag() { return fmt::format("f{}", below(shape_.flags)); }

    void call() {
        switch (below(13)) {
            case 0:
            case 1:
            case 2: {
                std::string steps;
                const int count = 1 + below(3);
                for (int i = 0; i < count; ++i) {
                    steps += i == 0 ? "" : ",";
                    switch (shape_.flags > 0 ? below(4) : below(2)) {
                        case 0:
                            steps += fmt::format(R"({{"read":"m{}",{}}})", below(shape_.memories), range());
                            break;
                        case 1:
                            steps += fmt::format(R"({{"write":"m{}",{}}})", below(shape_.memories), range());
                            break;
                        case 2:
                            steps += fmt::format(R"({{"signal":"{}",{}}})", flag(), signal_terms());
                            break;
                        default:
                            steps += fmt::format(R"({{"wait":"{}",{}}})", flag(), wait_terms());
                            break;
                    }
                }
                lines_.push_back(fmt::format(R"({{"op":"launch","stream":"{}","name":"k","steps":[{}]{}}})", stream(),
                                             steps, thread()));
                break;
            }
            case 3:
                lines_.push_back(
                    fmt::format(R"({{"op":"record","event":"e{}","stream":"{}"{}}})", below(2), stream(), thread()));
                break;
            case 4:
            case 5:
                lines_.push_back(
                    fmt::format(R"({{"op":"wait","event":"e{}","stream":"{}"{}}})", below(2), stream(), thread()));
                break;
            case 6:
                lines_.push_back(
                    one_in(2) ? fmt::format(R"({{"op":"wait","event":"e{}"{}}})", below(2), thread())
                              : fmt::format(R"({{"op":"query","event":"e{}","done":true{}}})", below(2), thread()));
                break;
            case 7:
                lines_.push_back(one_in(2) ? fmt::format(R"({{"op":"sync","stream":"{}"{}}})", stream(), thread())
                                           : fmt::format(R"({{"op":"sync","device":{}{}}})", below(2), thread()));
                break;
            case 8:
                lines_.push_back(fmt::format(
                    R"({{"op":"copy","stream":"{}","dst":"m{}","dst_offset":0,"src":"m{}","src_offset":50,"bytes":50{}}})",
                    stream(), below(shape_.memories), below(shape_.memories), thread()));
                break;
            case 9:
            case 10:
                if (shape_.flags > 0) {
                    lines_.push_back(fmt::format(R"({{"op":"signal","flag":"{}",{}{}{}}})", flag(), signal_terms(),
                                                 maybe_stream(), thread()));
                    break;
                }
                [[fallthrough]];
            case 11:
                if (shape_.flags > 0) {
                    lines_.push_back(fmt::format(R"({{"op":"wait_flag","flag":"{}",{}{}{}}})", flag(), wait_terms(),
                                                 maybe_stream(), thread()));
                    break;
                }
                [[fallthrough]];
            default:
                lines_.push_back(fmt::format(R"({{"op":"host","{}":[{{"memory":"m{}",{}}}]{}}})",
                                             one_in(2) ? "reads" : "writes", below(shape_.memories), range(),
                                             thread()));
                break;
        }
    }
    std::string maybe_stream() { return one_in(3) ? std::string() : fmt::format(R"(,"stream":"{}")", stream()); }

    std::mt19937_64& random_;
    const RandomTrace& shape_;
    Lines lines_{};
    bool legacy_[2] = {false, false};
};

}  // namespace

Lines random_trace(std::mt19937_64& random, const RandomTrace& shape) {
    return Maker(random, shape).make();
}

Lines shrink(Lines trace, const std::function<bool(const Lines&)>& bad) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (std::size_t i = trace.size(); i-- > 0;) {
            Lines less = trace;
            less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
            bool still = false;
            try {
                still = bad(less);
            } catch (const std::exception&) {
                still = false;  // the line dropped made what another one names
            }
            if (still) {
                trace = std::move(less);
                smaller = true;
            }
        }
    }
    return trace;
}

std::string joined(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line + '\n';
    }
    return text;
}

}  // namespace peerlane::audit_tests
