/// Records, written ahead.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/record.hpp>

#include "prove/wire.hpp"

namespace peerlane {
namespace {

/// Field 22 of its stat file; 0 when it cannot be read.
std::uint64_t start_of(int process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    auto const name_end = text.rfind(')');  // the name may hold anything, brackets too
    if (name_end == std::string::npos) {
        return 0;
    }
    std::istringstream rest(text.substr(name_end + 1));
    std::string word;
    for (int field = 3; field < 22 && rest >> word; ++field) {
    }
    std::uint64_t start = 0;
    return rest >> start ? start : 0;
}

/// JSON has line breaks only between its parts.
std::string on_one_line(const std::string& document) {
    std::string out;
    bool in_indent = false;
    for (auto const c : document) {
        if (c == '\n' || c == '\r') {
            in_indent = true;
        } else if (!in_indent || c != ' ') {
            in_indent = false;
            out += c;
        }
    }
    return out;
}

/// For names and ids: the few characters that JSON does not take.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (auto const c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + "\"";
}

std::string members(const RecordedRun& run) {
    return fmt::format("\"version\":{},\"simulated\":{},\"seed\":{},\"process\":{},\"process_start\":{},\"boot_id\":{}",
                       quoted(run.version), run.simulated, run.seed, run.process, run.process_start,
                       quoted(run.boot_id));
}

std::string open_line(const RecordedStep& open) {
    auto step = prove::wire::write(open.step);
    step.pop_back();  // its closing brace
    return fmt::format("{{\"open\":{{\"step\":{},{},\"run\":{{{}}}}}}}", quoted(describe(open.step)), step.substr(1),
                       members(open.run));
}

/// The object with its name in front, for people who read the file.
std::string step_line(const char* what, const prove::ProbeStep& step, const std::string& object) {
    return fmt::format("{{\"{}\":{{\"step\":{},{}}}", what, quoted(describe(step)), object.substr(1));
}

class Journal final : public RecordWriter {
  public:
    Journal(const std::string& path, const RecordedRun& run, const std::string& machine, const std::string& facts,
            const std::vector<RecordedStep>& earlier)
        : path_(path), run_(run), open_(earlier) {
        auto const fresh = fmt::format("{}.{}.tmp", path, ::getpid());
        file_ = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (file_ < 0) {
            refuse("open", errno);
        }
        add(fmt::format("{{\"schema\":\"peerlane.record/1\",{}}}", members(run)));
        add(fmt::format("{{\"machine\":{}}}", on_one_line(machine)));
        if (!facts.empty()) {
            add(fmt::format("{{\"facts\":{}}}", on_one_line(facts)));
        }
        for (auto const& open : open_) {
            add(open_line(open));
        }
        sync();
        // What an earlier run left open is lost at no moment.
        if (failure_.empty() && ::rename(fresh.c_str(), path.c_str()) != 0) {
            failed("rename", errno);
        }
        if (!failure_.empty()) {
            ::close(file_);
            ::unlink(fresh.c_str());
            throw Error({.code = code::unknown, .call = "write", .cure = failure_});
        }
        keep_folder();
    }
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;
    ~Journal() override { ::close(file_); }

    void begin(const prove::ProbeStep& step) override {
        begun_ = describe(step);
        close_step(begun_);
        open_.push_back({step, run_});
        add(step_line("begin", step, prove::wire::write(step)));
        sync();
    }

    void end(const prove::ProbeOutcome& outcome) override {
        auto const name = describe(outcome.step);
        bool const ran = std::exchange(begun_, {}) == name;
        if (ran && !outcome.result.frozen) {
            close_step(name);
        }
        add(step_line(!ran                    ? "skip"
                      : outcome.result.frozen ? "frozen"
                                              : "end",
                      outcome.step, prove::wire::write(outcome)));
    }

    void finish(const Verdicts& verdicts, const std::string& facts) override {
        if (!facts.empty()) {
            add(fmt::format("{{\"facts\":{}}}", on_one_line(facts)));
        }
        add(fmt::format("{{\"verdicts\":{}}}", write_verdicts(verdicts, -1)));
        for (auto const& open : open_) {
            add(open_line(open));
        }
        sync();
    }

    [[nodiscard]] std::string failure() const override { return failure_; }

  private:
    [[noreturn]] void refuse(const char* call, int why) const {
        throw Error({.code = code::unknown, .call = call, .cure = fmt::format("{}: {}", path_, std::strerror(why))});
    }
    void failed(const char* call, int why) {
        if (failure_.empty()) {
            failure_ = fmt::format("{}: {}: {}", path_, call, std::strerror(why));
        }
    }
    void close_step(const std::string& name) {
        std::erase_if(open_, [&](const RecordedStep& open) { return describe(open.step) == name; });
    }

    void add(std::string line) {
        line += '\n';
        std::string_view left = line;
        while (!left.empty()) {
            auto const wrote = ::write(file_, left.data(), left.size());
            if (wrote < 0 && errno != EINTR) {
                failed("write", errno);
                return;
            }
            left.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
        }
    }

    /// Outcomes go out with the next step: what matters is that no step runs before it is on disk.
    void sync() {
        if (::fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS) {  // a pipe has nothing to sync
            failed("fdatasync", errno);
        }
    }

    /// The name of the file is on disk too.
    void keep_folder() const {
        auto const slash = path_.rfind('/');
        auto const folder = slash == std::string::npos ? std::string(".") : path_.substr(0, slash + 1);
        auto const file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (file >= 0) {
            static_cast<void>(::fsync(file));
            ::close(file);
        }
    }

    std::string path_;
    RecordedRun run_;
    std::vector<RecordedStep> open_;
    std::string begun_, failure_;
    int file_ = -1;
};

}  // namespace

std::unique_ptr<RecordWriter> write_record(const std::string& path, const RecordedRun& run, const std::string& machine,
                                           const std::string& facts, const std::vector<RecordedStep>& earlier) {
    return std::make_unique<Journal>(path, run, machine, facts, earlier);
}

RecordedRun this_run(std::string version, bool simulated, std::uint64_t seed, std::string boot_id) {
    auto const process = static_cast<int>(::getpid());
    return {std::move(version), simulated, seed, process, start_of(process), std::move(boot_id)};
}

bool still_at_work(const RecordedRun& run, const std::string& boot_id) {
    if (run.process <= 0 || run.boot_id != boot_id) {
        return false;
    }
    if (::kill(run.process, 0) != 0 && errno != EPERM) {
        return false;
    }
    auto const start = start_of(run.process);
    return start == 0 || run.process_start == 0 || start == run.process_start;
}

}  // namespace peerlane
