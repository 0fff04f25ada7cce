#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>
#include <peerlane/record.hpp>

#include "prove/wire.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "peerlane.record/1";

/// One line of the file, for messages.
class Line {
  public:
    Line(std::string file, int number) : file_(std::move(file)), number_(number) {}
    [[noreturn]] void refuse(const std::string& reason) const { throw InputError(file_, number_, reason); }

    /// Calls `read` and puts the line into what it refuses.
    template <class F>
    auto reading(F&& read) const {
        try {
            return read();
        } catch (const InputError& error) {
            refuse(error.reason());
        }
    }
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] int number() const { return number_; }

  private:
    std::string file_;
    int number_;
};

template <class T>
T whole(const Json& object, const char* key, const Line& line) {
    auto const found = object.find(key);
    if (found == object.end()) {
        return 0;
    }
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<T>::max()}) {
        line.refuse(fmt::format("\"{}\" must be a whole number of at least 0", key));
    }
    return found->get<T>();
}

std::string text_of(const Json& object, const char* key, const Line& line) {
    auto const found = object.find(key);
    if (found == object.end() || found->is_null()) {
        return {};
    }
    if (!found->is_string()) {
        line.refuse(fmt::format("\"{}\" must be a text", key));
    }
    return found->get<std::string>();
}

RecordedRun run_of(const Json& object, const Line& line) {
    RecordedRun run;
    run.version = text_of(object, "version", line);
    if (auto const found = object.find("simulated"); found != object.end()) {
        if (!found->is_boolean()) {
            line.refuse("\"simulated\" must be true or false");
        }
        run.simulated = found->get<bool>();
    }
    run.seed = whole<std::uint64_t>(object, "seed", line);
    run.process = whole<int>(object, "process", line);
    run.process_start = whole<std::uint64_t>(object, "process_start", line);
    run.boot_id = text_of(object, "boot_id", line);
    return run;
}

class Reader {
  public:
    explicit Reader(std::string file) : file_(std::move(file)) {}

    void head(const Json& object, const Line& line) {
        if (text_of(object, "schema", line) != schema) {
            line.refuse(fmt::format("\"schema\" must be {}", schema));
        }
        record_.run = run_of(object, line);
    }

    void line(const Json& object, const Line& line) {
        auto const has = [&object](const char* key) { return object.contains(key); };
        if (has("machine")) {
            record_.machine = document(object["machine"], "machine", line);
            record_.machine_line = line.number();
        } else if (has("facts")) {
            record_.facts = document(object["facts"], "facts", line);
            record_.facts_line = line.number();
        } else if (has("verdicts")) {
            auto const text = document(object["verdicts"], "verdicts", line);
            record_.verdicts = line.reading([&] { return read_verdicts(text, line.file()); });
        } else if (has("begin")) {
            open({step(object["begin"], line), record_.run});
        } else if (has("open")) {
            auto const& opened = object["open"];
            auto const by = opened.is_object() && opened.contains("run") ? opened["run"] : Json::object();
            open({step(opened, line), by.is_object() ? run_of(by, line) : RecordedRun{}});
        } else if (has("end")) {
            auto ended = outcome(object["end"], line);
            close(ended.step);
            record_.outcomes.push_back(std::move(ended));
        } else if (has("frozen")) {
            record_.outcomes.push_back(outcome(object["frozen"], line));
        } else if (has("skip")) {
            record_.outcomes.push_back(outcome(object["skip"], line));
        }
    }

    Record done() && {
        if (record_.machine.empty()) {
            throw InputError(file_, 0, "the record holds no machine");
        }
        return std::move(record_);
    }

  private:
    static std::string document(const Json& json, const char* what, const Line& line) {
        if (!json.is_object()) {
            line.refuse(fmt::format("\"{}\" must be an object", what));
        }
        return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    static prove::ProbeStep step(const Json& json, const Line& line) {
        return line.reading([&] { return prove::wire::read_step(document(json, "step", line), line.file()); });
    }
    static prove::ProbeOutcome outcome(const Json& json, const Line& line) {
        return line.reading([&] { return prove::wire::read_outcome(document(json, "outcome", line), line.file()); });
    }
    void close(const prove::ProbeStep& step) {
        auto const name = describe(step);
        std::erase_if(record_.open, [&](const RecordedStep& open) { return describe(open.step) == name; });
    }
    void open(RecordedStep step) {
        auto const name = describe(step.step);
        if (std::none_of(record_.open.begin(), record_.open.end(),
                         [&](const RecordedStep& open) { return describe(open.step) == name; })) {
            record_.open.push_back(std::move(step));
        }
    }

    std::string file_;
    Record record_;
};

}  // namespace

Record read_record(std::string_view text, const std::string& file) {
    Reader reader(file);
    bool first = true;
    int number = 0;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find('\n', at), text.size());
        auto const words = text.substr(at, end - at);
        bool const last = end >= text.size();  // without its line end: cut while it was written
        at = end + 1;
        ++number;
        if (words.find_first_not_of(" \t\r") == std::string_view::npos) {
            continue;
        }
        Line const line(file, number);
        auto const json = Json::parse(words, nullptr, false);
        if (json.is_discarded() || !json.is_object()) {
            if (last && !first) {
                break;
            }
            line.refuse("no JSON object");
        }
        if (first) {
            reader.head(json, line);
        } else {
            reader.line(json, line);
        }
        first = false;
    }
    if (first) {
        throw InputError(file, 0, "the record is empty");
    }
    return std::move(reader).done();
}

}  // namespace peerlane
