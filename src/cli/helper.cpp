#include "cli/helper.hpp"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "cli/status.hpp"

namespace peerlane::cli {
namespace {

#ifdef PEERLANE_TEST_HOOKS
constexpr const char* helper_name = "peerlane-probe-test";

std::vector<std::string> test_options() {
    std::vector<std::string> words;
    auto const* const given = std::getenv("PEERLANE_TEST_HELPER_OPTIONS");
    std::string const text = given == nullptr ? "" : given;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find(';', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return words;
}
#else
constexpr const char* helper_name = "peerlane-probe";

std::vector<std::string> test_options() {
    return {};
}
#endif

}  // namespace

prove::ChildOptions helper_options() {
    std::error_code error;
    auto const self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        throw NothingRuns("cannot find peerlane-probe: /proc/self/exe cannot be read");
    }
    auto const helper = self.parent_path() / helper_name;
    if (!std::filesystem::exists(helper, error)) {
        throw NothingRuns(
            fmt::format("{} is missing: it runs the proofs and belongs beside the command", helper.string()));
    }
    return {.helper = helper.string(), .arguments = test_options()};
}

bool simulate_in_helper() {
    return !test_options().empty();
}

}  // namespace peerlane::cli
