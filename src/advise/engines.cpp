/// vLLM, SGLang and PyTorch, on top of NCCL. Sources in docs/advise.md.

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "advise/software.hpp"

namespace peerlane::advising {
namespace {

/// What its own all-reduce, which writes straight into the others' memory, makes of these devices.
struct OwnAllReduce {
    const char* software;
    std::vector<int> sizes;  ///< that it takes
    const char* trusts;      ///< why it would believe the driver
};

bool joined_by_nvlink(const Neighbours& pair) {
    return pair.path == PathClass::nv && pair.standing != Standing::no_peer;
}

std::size_t nvlinks(const Chosen& chosen) {
    return static_cast<std::size_t>(std::count_if(chosen.pairs.begin(), chosen.pairs.end(), joined_by_nvlink));
}

/// Why it refuses by itself; empty when it does not.
std::string refusal(const OwnAllReduce& own, const Chosen& chosen) {
    auto const count = static_cast<int>(chosen.devices.size());
    if (std::find(own.sizes.begin(), own.sizes.end(), count) == own.sizes.end()) {
        return fmt::format("{}'s own all-reduce refuses {} devices: it takes {}", own.software, count,
                           fmt::join(own.sizes, ", "));
    }
    if (count > 2 && nvlinks(chosen) < chosen.pairs.size()) {
        return fmt::format(
            "{}'s own all-reduce refuses more than two devices that are not all joined by NVLink ({} of "
            "{} pairs here are)",
            own.software, nvlinks(chosen), chosen.pairs.size());
    }
    return {};
}

std::vector<Neighbours> in_the_way(const Chosen& chosen) {
    std::vector<Neighbours> found;
    std::copy_if(chosen.pairs.begin(), chosen.pairs.end(), std::back_inserter(found), in_trouble);
    return found;
}

/// True when its own all-reduce will be at work.
bool add_all_reduce(const OwnAllReduce& own, const Chosen& chosen, Advice& advice) {
    if (chosen.devices.size() < 2) {
        return false;
    }
    auto const refuses = refusal(own, chosen);
    auto const bad = in_the_way(chosen);
    if (!refuses.empty()) {
        advice.refuses.push_back(refuses);
        advice.settings.push_back({AdvisedSetting::Kind::flag, "--disable-custom-all-reduce", "",
                                   "it is refused on these devices anyway; said, there is no warning and no question "
                                   "left",
                                   "NCCL does the work"});
        return false;
    }
    if (!bad.empty()) {
        advice.settings.push_back({AdvisedSetting::Kind::flag, "--disable-custom-all-reduce", "",
                                   fmt::format("{}, and {}", troubles_text(bad), own.trusts),
                                   "takes its own all-reduce from all pairs, no setting exists for one: NCCL does the "
                                   "work"});
        return false;
    }
    return std::none_of(chosen.pairs.begin(), chosen.pairs.end(),
                        [](const Neighbours& pair) { return pair.standing != Standing::right; });
}

/// Which device reaches which, in the software's own numbers: those of the visible devices.
std::string access_cache(const Chosen& chosen) {
    std::vector<std::string> lines;
    auto const works = [&](int source, int target) {
        if (source == target) {
            return true;
        }
        // It asks whether a process of `target` gets at memory of `source`.
        auto const* const pair = chosen.verdicts.pair(target, source);
        if (pair == nullptr) {
            return false;
        }
        auto const imported =
            std::none_of((*pair)[Check::map].ways.begin(), (*pair)[Check::map].ways.end(), [](const MappingWay& way) {
                return way.way == "import_legacy" && way.result != Result::ok && way.result != Result::skipped;
            });
        constexpr std::array needed{Check::claim, Check::map, Check::store, Check::load};
        return imported && std::all_of(needed.begin(), needed.end(),
                                       [&](Check check) { return (*pair)[check].result == Result::ok; });
    };
    for (std::size_t source = 0; source < chosen.devices.size(); ++source) {
        for (std::size_t target = 0; target < chosen.devices.size(); ++target) {
            lines.push_back(fmt::format("    \"{}->{}\": {}", source, target,
                                        works(chosen.devices[source], chosen.devices[target]) ? "true" : "false"));
        }
    }
    return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

void add_cache(const Chosen& chosen, Advice& advice) {
    advice.access_cache = {fmt::format("gpu_p2p_access_cache_for_{}.json", visible_devices(chosen.devices)),
                           access_cache(chosen)};
}

}  // namespace

void add_vllm(const Chosen& chosen, Advice& advice) {
    advice.settings.push_back({AdvisedSetting::Kind::flag, "--tensor-parallel-size",
                               fmt::format("{}", chosen.devices.size()), "one rank for each of these devices", ""});
    OwnAllReduce const own{
        "vLLM", {2, 4, 6, 8}, "vLLM trusts the driver's claim (VLLM_SKIP_P2P_CHECK is 1 unless set)"};
    auto const used = add_all_reduce(own, chosen, advice);
    add_cache(chosen, advice);
    if (used) {
        advice.settings.push_back({AdvisedSetting::Kind::variable, "VLLM_SKIP_P2P_CHECK", "0",
                                   "vLLM then asks its file of which device reaches which, instead of the driver",
                                   "where --write has not written that file, vLLM makes it with a test of its own"});
    } else if (!in_the_way(chosen).empty()) {
        advice.settings.push_back({AdvisedSetting::Kind::variable, "VLLM_ALLREDUCE_USE_SYMM_MEM", "0",
                                   "PyTorch's symmetric memory is another direct path between all of them, and is on "
                                   "unless set to 0",
                                   "for all pairs"});
    }
}

void add_sglang(const Chosen& chosen, Advice& advice) {
    advice.settings.push_back({AdvisedSetting::Kind::flag, "--tp", fmt::format("{}", chosen.devices.size()),
                               "one rank for each of these devices", ""});
    OwnAllReduce const own{
        "SGLang", {2, 3, 4, 5, 6, 7, 8}, "SGLang takes access as given unless --enable-p2p-check is said"};
    auto const used = add_all_reduce(own, chosen, advice);
    add_cache(chosen, advice);
    if (used) {
        advice.settings.push_back({AdvisedSetting::Kind::flag, "--enable-p2p-check", "",
                                   "SGLang then asks its file of which device reaches which, instead of taking it as "
                                   "given",
                                   "where --write has not written that file, SGLang makes it with a test of its own"});
    }
}

void add_torch(const Chosen& chosen, Advice& advice) {
    auto const bad = in_the_way(chosen);
    if (!bad.empty()) {
        advice.notes.push_back(
            fmt::format("a tensor's copy from one device to another (.to, .copy_) goes over peer "
                        "access wherever the driver claims it; PyTorch has no setting against it. "
                        "Leave a device of each of these out, or copy through the host: {}",
                        troubles_text(bad)));
    }
}

}  // namespace peerlane::advising
