#include "cli/doctor_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/named.hpp>

#include "cli/doctor_causes.hpp"
#include "cli/folders.hpp"
#include "machine/read/record.hpp"

namespace peerlane::cli {
namespace {

/// For names of files: the same for the same devices.
std::string fingerprint(const CacheKey& key) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
    for (auto const& [name, value] : key.parts) {
        if (name == "machine") {
            for (auto const c : value) {
                hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
            }
        }
    }
    return fmt::format("{:016x}", hash);
}

bool same_devices(const Machine& a, const Machine& b) {
    return std::equal(
        a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
        [](const Device& one, const Device& other) { return one.bus == other.bus && one.model == other.model; });
}

bool lists(const std::vector<std::pair<int, int>>& pairs, int accessor, int owner) {
    return std::find(pairs.begin(), pairs.end(), std::pair(accessor, owner)) != pairs.end();
}

/// Only what is said of these pairs.
void limit(Verdicts& verdicts, const std::vector<std::pair<int, int>>& pairs) {
    std::erase_if(verdicts.pairs, [&](auto const& pair) { return !lists(pairs, pair.accessor, pair.owner); });
    std::erase_if(verdicts.control, [&](auto const& arm) {
        return !lists(pairs, arm.source, arm.destination) && !lists(pairs, arm.destination, arm.source);
    });
    std::erase_if(verdicts.groups, [&](auto const& group) {
        return !std::all_of(group.pairs.begin(), group.pairs.end(),
                            [&](auto const& pair) { return lists(pairs, pair.first, pair.second); });
    });
    judge(verdicts);
}

}  // namespace

CacheKey key_of(const Target& target, const Globals& globals) {
    if (target.simulated) {
        std::string faults;
        for (auto const& fault : globals.faults) {
            faults += (faults.empty() ? "" : " ") + to_string(fault);
        }
        return cache_key(target.whole, faults);
    }
    auto const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return cache_key(target.whole, target.discovery->host, target.discovery->nvml,
                     visible == nullptr ? "all" : visible);
}

std::string cache_file(const Target& target, const CacheKey& key, const char* kind) {
    return target.simulated || cache_folder().empty()
               ? std::string()
               : fmt::format("{}/{}-{}.json", cache_folder(), kind, fingerprint(key));
}

DoctorMemory::DoctorMemory(const Target& target, const DoctorAsked& asked, CacheKey key, RecordedRun self)
    : target_(target), asked_(asked), key_(std::move(key)), self_(std::move(self)) {
    if (!target.simulated && !state_folder().empty()) {
        journal_ = fmt::format("{}/journal-{}.jsonl", state_folder(), fingerprint(key_));
    }
}

std::vector<RecordedStep> DoctorMemory::interrupted() {
    remember(journal_, true);
    remember(asked_.record, false);
    return earlier_;
}

void DoctorMemory::remember(const std::string& path, bool ours) {
    std::error_code error;
    if (path.empty() || !std::filesystem::is_regular_file(path, error) ||
        std::filesystem::file_size(path, error) == 0) {
        return;
    }
    try {
        auto const text = read_input(path);
        if (!read::is_record(text)) {
            throw InputError(path, 1, "is no record of a doctor's run, and is not replaced by one");
        }
        auto const record = read_record(text, path);
        if (!same_devices(read::read_recorded_machine({path, text}), target_.whole)) {
            return;
        }
        for (auto const& open : record.open) {
            auto const known = std::any_of(earlier_.begin(), earlier_.end(), [&](const RecordedStep& other) {
                return describe(other.step) == describe(open.step);
            });
            if (still_at_work(open.run, self_.boot_id)) {
                notices_.push_back(
                    fmt::format("another run is at work on these devices (process {})", open.run.process));
            } else if (!known) {
                earlier_.push_back(open);
                told_by_ = path;
            }
        }
    } catch (const InputError& failure) {
        if (!ours) {
            throw;
        }
        notices_.push_back(fmt::format("the journal was not sound and begins anew: {}", failure.what()));
    }
}

std::string DoctorMemory::cache_path() const {
    if (!asked_.cache.empty()) {
        return asked_.cache;
    }
    return cache_file(target_, key_, "verdicts");
}

DoctorMemory::Kept DoctorMemory::kept(const std::vector<std::pair<int, int>>& pairs) {
    auto const path = cache_path();
    if (path.empty()) {
        return {};
    }
    auto answer = read_verdict_cache(path);
    if (!answer.notice.empty()) {
        notices_.push_back(fmt::format("stored verdicts are not used: {}", answer.notice));
    }
    if (!answer.stored) {
        return {};
    }
    if (answer.stored->key != key_) {
        return {{}, answer.stored->key};
    }
    auto verdicts = std::move(answer.stored->verdicts);
    verdicts.findings.clear();
    for (auto const& pair : pairs) {
        if (verdicts.pair(pair.first, pair.second) == nullptr) {
            return {};
        }
    }
    if (pairs.size() != verdicts.pairs.size()) {
        limit(verdicts, pairs);
    }
    return {std::move(verdicts), {}};
}

void DoctorMemory::keep(const Verdicts& verdicts) {
    auto const path = cache_path();
    if (path.empty()) {
        return;
    }
    if (auto const why = write_verdict_cache(path, {key_, verdicts}); !why.empty()) {
        notices_.push_back(fmt::format("verdicts could not be stored: {}", why));
    }
}

void DoctorMemory::open(const std::string& path, bool ours, const Facts& facts) {
    if (path.empty()) {
        return;
    }
    auto const folder = std::filesystem::absolute(path).parent_path();
    std::error_code ignored;
    if (ours) {
        std::filesystem::create_directories(folder, ignored);
    }
    try {
        records_.push_back({ours, write_record(path, self_, scrubbed(target_.whole), scrubbed(facts), earlier_)});
    } catch (const Error& error) {
        if (!ours) {
            throw OutputError(std::filesystem::is_directory(folder, ignored) ? internal : missing,
                              fmt::format("--record {}", error.info().cure));
        }
        notices_.push_back(fmt::format("no journal is kept: {}", error.info().cure));
    }
}

void DoctorMemory::begin(const Facts& facts) {
    open(journal_, true, facts);
    open(asked_.record, false, facts);
}

void DoctorMemory::begin(const prove::ProbeStep& step) {
    for (auto& record : records_) {
        record.writer->begin(step);
    }
}

void DoctorMemory::end(const prove::ProbeOutcome& outcome) {
    for (auto& record : records_) {
        record.writer->end(outcome);
    }
}

void DoctorMemory::finish(const Verdicts& verdicts, const Facts& facts) {
    for (auto& record : records_) {
        record.writer->finish(verdicts, scrubbed(facts));
        if (auto const why = record.writer->failure(); !why.empty()) {
            if (!record.ours) {
                throw OutputError(internal, fmt::format("--record {}", why));
            }
            notices_.push_back(fmt::format("the journal is not whole: {}", why));
        }
    }
}

}  // namespace peerlane::cli
