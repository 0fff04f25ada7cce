/// peerlane advise: which devices to give to a piece of software, and its own settings that keep it off what failed.

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <peerlane/advise.hpp>

#include "cli/command.hpp"
#include "cli/doctor.hpp"
#include "cli/doctor_pairs.hpp"
#include "cli/folders.hpp"

namespace peerlane::cli {
namespace {

struct Asked {
    Software software = Software::nccl;
    int count = 0;  ///< 0: all
    bool write = false;
    std::string folder{};  ///< of the software's file; empty: its own
};

Asked understand(const Context& context) {
    Asked asked;
    if (auto const word = context.given.one("--for")) {
        auto const software = parse_software(*word);
        if (!software) {
            throw UsageError(fmt::format("--for \"{}\" is not known; known are nccl, vllm, sglang, torch", *word));
        }
        asked.software = *software;
    }
    if (auto const word = context.given.one("--gpus")) {
        asked.count = static_cast<int>(whole_number("--gpus", *word, 1, most_devices));
    }
    asked.write = context.given.has("--write");
    asked.folder = context.given.one("--folder").value_or("");
    bool const keeps_a_file = asked.software == Software::vllm || asked.software == Software::sglang;
    if (asked.write && !keeps_a_file) {
        throw UsageError(fmt::format("--write: {} keeps no file of which device reaches which; vllm and sglang do",
                                     to_string(asked.software)));
    }
    if (!asked.folder.empty() && !asked.write) {
        throw UsageError("--folder is where --write writes");
    }
    if (asked.write && asked.folder.empty() && context.globals.simulated()) {
        throw UsageError(
            "--write with --machine needs --folder: the software would take a simulated machine's file for "
            "this one's");
    }
    return asked;
}

/// Where the file was written; empty when not asked.
std::string write_cache(const Asked& asked, const Advice& advice) {
    if (!asked.write || !advice.access_cache) {
        return {};
    }
    auto folder = !asked.folder.empty()              ? asked.folder
                  : asked.software == Software::vllm ? vllm_cache_folder()
                                                     : sglang_cache_folder();
    if (folder.empty()) {
        throw OutputError(internal, "--write: no home folder is known; name one with --folder");
    }
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    auto const path = folder + "/" + advice.access_cache->first;
    SaveFile(path).write(advice.access_cache->second);
    return path;
}

/// A shell takes the whole text: all but the settings is comment.
class Script {
  public:
    void comment(const std::string& text) { text_ += "# " + printable(text) + "\n"; }
    void blank() { text_ += "\n"; }
    void line(const std::string& text) { text_ += text + "\n"; }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    /// Names come from strangers' files: none may end a comment.
    static std::string printable(std::string text) {
        for (auto& c : text) {
            c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
        }
        return text;
    }
    std::string text_;
};

std::string numbers(const std::vector<int>& devices) {
    return fmt::format("{}", fmt::join(devices, " "));
}

void choice(Script& script, const Advice& advice) {
    auto const all = advice.devices.size() + advice.left_out.size();
    script.comment(fmt::format("use {} of {} device{}: {}{}", advice.devices.size(), all, all == 1 ? "" : "s",
                               numbers(advice.devices),
                               advice.left_out.empty() ? "" : "; left out: " + numbers(advice.left_out)));
    double slowest = 0;
    constexpr std::size_t most_told = 4;
    std::size_t without_peer = 0, troubles = 0;
    for (auto const& pair : advice.pairs) {
        slowest = slowest == 0 || pair.gbs == 0 ? pair.gbs : std::min(slowest, pair.gbs);
        without_peer += pair.standing == Standing::no_peer ? 1 : 0;
        if (!pair.trouble.empty() && ++troubles <= most_told) {
            script.comment(fmt::format("  avoid: {}", pair.trouble));
        }
    }
    if (troubles > most_told) {
        script.comment(fmt::format("  avoid: and {} more, in the JSON", troubles - most_told));
    }
    if (advice.clean() && !advice.pairs.empty()) {
        script.comment(fmt::format("  nothing failed between them{}{}",
                                   without_peer == 0
                                       ? ""
                                       : fmt::format("; {} of {} pairs have no peer access and go through the host",
                                                     without_peer, advice.pairs.size()),
                                   slowest > 0 ? fmt::format("; the slowest pair has {:.3g} GB/s", slowest) : ""));
    }
    if (advice.clean_devices && *advice.clean_devices > 1) {
        script.comment(fmt::format("  --gpus {} finds devices with nothing to avoid", *advice.clean_devices));
    }
}

void settings(Script& script, const Advice& advice) {
    for (auto const& setting : advice.settings) {
        script.comment(setting.reason);
        if (!setting.limit.empty()) {
            script.comment("  limit: " + setting.limit);
        }
        if (setting.kind == AdvisedSetting::Kind::variable) {
            script.line(fmt::format("export {}={}", setting.name, setting.value));
        } else {
            script.comment(
                fmt::format("  {}{}{}, below", setting.name, setting.value.empty() ? "" : " ", setting.value));
        }
    }
}

/// The command that takes the flags; the model is the user's.
void start(Script& script, const Advice& advice) {
    std::string flags;
    for (auto const& setting : advice.settings) {
        if (setting.kind == AdvisedSetting::Kind::flag) {
            flags += fmt::format(" {}{}{}", setting.name, setting.value.empty() ? "" : " ", setting.value);
        }
    }
    if (advice.software == Software::vllm) {
        script.line("vllm serve \"${MODEL:?the name of the model}\"" + flags);
    } else if (advice.software == Software::sglang) {
        script.line("python3 -m sglang.launch_server --model-path \"${MODEL:?the name of the model}\"" + flags);
    }
}

std::string text_of(const Examination& found, const Advice& advice, const std::string& written) {
    Script script;
    script.comment(fmt::format("peerlane {} advise for {}: {}", found.version, to_string(advice.software),
                               found.verdicts.simulated ? "SIMULATED, no real device is used" : "REAL HARDWARE"));
    script.comment(fmt::format("{}: {}", status_word(found), verdict_in_words(found)));
    choice(script, advice);
    for (auto const& refusal : advice.refuses) {
        script.comment(refusal);
    }
    for (auto const& note : advice.notes) {
        script.comment("note: " + note);
    }
    script.blank();
    settings(script, advice);
    if (!written.empty()) {
        script.comment("written: " + written);
    }
    start(script, advice);
    return script.text();
}

Status status_of(const Examination& found, const Advice& advice) {
    if (found.stopped_by != 0) {
        return static_cast<Status>(128 + found.stopped_by);
    }
    auto worst = Standing::right;
    for (auto const& pair : advice.pairs) {
        worst = std::max(worst, pair.standing);
    }
    return worst == Standing::cut_off ? inconclusive : advice.clean() ? good : degraded;
}

Status run(Context& context) {
    auto const asked = understand(context);
    auto const found = find_out(context, understand_doctor(context.given, context.globals), [](const Examination&) {});
    auto const devices = found.machine.devices.size();
    if (asked.count > static_cast<int>(devices)) {
        throw UsageError(fmt::format("--gpus {}: there {} {} here", asked.count, devices == 1 ? "is" : "are", devices));
    }
    auto const advice = advise(found.machine, found.verdicts, asked.software, asked.count);
    auto const written = write_cache(asked, advice);
    auto const document = write_advice(advice, found.verdicts.simulated);
    context.out.print(context.globals.format == Format::json ? document : text_of(found, advice, written));
    context.out.save(document);
    return status_of(found, advice);
}

}  // namespace

Command advise_command() {
    return {"advise",
            "which devices to give to NCCL, vLLM, SGLang or PyTorch, and their settings that avoid what failed",
            {},
            {{"--for", "SOFTWARE", "nccl (if nothing is said), vllm, sglang or torch"},
             {"--gpus", "N", "how many devices; all if nothing is said"},
             {"--write", "", "writes the file in which vLLM and SGLang keep which device reaches which"},
             {"--folder", "FOLDER", "where that file goes; the software's own cache if nothing is said"},
             {"--quick", "", "proves fewer checks and sizes first"},
             {"--fresh", "", "proves again what an earlier run has proven"}},
            {Format::table, Format::json},
            run};
}

}  // namespace peerlane::cli
