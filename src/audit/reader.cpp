#include <peerlane/trace_reader.hpp>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/place.hpp>

namespace peerlane::trace {

namespace {

using Json = nlohmann::json;

/// Far above any machine; keeps a misread number from becoming a table of gigabytes.
constexpr std::uint64_t most_devices = 4096;

/// A reason without place; `Reader::next` adds file and line.
struct Refused {
    std::string reason;
};

[[noreturn]] void refuse(std::string reason) {
    throw Refused{std::move(reason)};
}

/// One JSON object with typed look-ups. `where` names it in messages ("copy", "step 2").
class Fields {
  public:
    Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
        if (!object.is_object()) {
            refuse(where_ + " is no JSON object");
        }
    }
    [[nodiscard]] bool has(const char* key) const {
        const auto it = object_.find(key);
        return it != object_.end() && !it->is_null();
    }
    [[nodiscard]] const Json& at(const char* key) const {
        const auto it = object_.find(key);
        if (it == object_.end() || it->is_null()) {
            refuse(fmt::format("{} needs \"{}\"", where_, key));
        }
        return *it;
    }
    [[nodiscard]] const std::string& text(const char* key) const {
        const Json& value = at(key);
        if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
            refuse(fmt::format("\"{}\" of {} must be a text that is not empty", key, where_));
        }
        return value.get_ref<const std::string&>();
    }
    [[nodiscard]] std::uint64_t number(const char* key) const {
        const Json& value = at(key);
        if (!value.is_number_unsigned()) {
            refuse(fmt::format("\"{}\" of {} must be a whole number of at least 0", key, where_));
        }
        return value.get<std::uint64_t>();
    }
    [[nodiscard]] std::uint64_t number_or(const char* key, std::uint64_t otherwise) const {
        return has(key) ? number(key) : otherwise;
    }
    [[nodiscard]] std::uint32_t count_or_0(const char* key) const {
        if (!has(key)) {
            return 0;
        }
        const std::uint64_t value = number(key);
        if (value == 0 || value > std::numeric_limits<std::uint32_t>::max()) {
            refuse(fmt::format("\"{}\" of {} must be between 1 and 4294967295", key, where_));
        }
        return static_cast<std::uint32_t>(value);
    }
    [[nodiscard]] int device(const char* key) const {
        const std::uint64_t value = number(key);
        if (value >= most_devices) {
            refuse(fmt::format("\"{}\" of {} is no device: {}", key, where_, value));
        }
        return static_cast<int>(value);
    }
    [[nodiscard]] bool truth(const char* key) const {
        const Json& value = at(key);
        if (!value.is_boolean()) {
            refuse(fmt::format("\"{}\" of {} must be true or false", key, where_));
        }
        return value.get<bool>();
    }
    [[nodiscard]] Id name(const char* key, Names& names) const { return names.intern(text(key)); }
    [[nodiscard]] Id name_or_none(const char* key, Names& names) const { return has(key) ? name(key, names) : no_id; }

    template <typename T>
    using Words = std::initializer_list<std::pair<const char*, T>>;
    template <typename T>
    [[nodiscard]] T word(const char* key, Words<T> words) const {
        const std::string& value = text(key);
        std::string known;
        for (const auto& entry : words) {
            if (value == entry.first) {
                return entry.second;
            }
            known += known.empty() ? entry.first : fmt::format(", {}", entry.first);
        }
        refuse(fmt::format("\"{}\" of {} is \"{}\"; it may be {}", key, where_, value, known));
    }
    template <typename T>
    [[nodiscard]] T word_or(const char* key, T otherwise, Words<T> words) const {
        return has(key) ? word(key, words) : otherwise;
    }
    [[nodiscard]] const std::string& where() const { return where_; }

  private:
    const Json& object_;
    std::string where_;
};

const std::initializer_list<std::pair<const char*, Scope>> scope_words = {
    {"system", Scope::system}, {"device", Scope::device}, {"cluster", Scope::cluster}, {"block", Scope::block},
    {"thread", Scope::thread}, {"sys", Scope::system},    {"gpu", Scope::device},      {"cta", Scope::block}};
const std::initializer_list<std::pair<const char*, Order>> order_words = {{"relaxed", Order::relaxed},
                                                                          {"acquire", Order::acquire},
                                                                          {"release", Order::release},
                                                                          {"acq_rel", Order::acq_rel},
                                                                          {"seq_cst", Order::seq_cst}};

Step extent(const Fields& fields, Step::Kind kind, const char* memory_key, Symbols& symbols) {
    Step step{};
    step.kind = kind;
    step.target = fields.name(memory_key, symbols.memories);
    step.value = fields.number_or("offset", 0);
    step.bytes = fields.number_or("bytes", to_end);
    return step;
}

/// A wait or signal; in a launch the flag stands under "wait" or "signal", in an op of its own under "flag".
Step flag_step(const Fields& fields, Step::Kind kind, const char* flag_key, Symbols& symbols) {
    Step step{};
    step.kind = kind;
    step.target = fields.name(flag_key, symbols.flags);
    step.scope = fields.word_or("scope", Scope::system, scope_words);
    if (kind == Step::Kind::wait) {
        step.equals = fields.has("equals");
        if (step.equals == fields.has("at_least")) {
            refuse(fmt::format("{} needs one of \"at_least\" and \"equals\"", fields.where()));
        }
        step.value = fields.number(step.equals ? "equals" : "at_least");
        step.order = fields.word_or("order", Order::acquire, order_words);
    } else {
        step.value = fields.number("value");
        step.order = fields.word_or("order", Order::release, order_words);
    }
    return step;
}

Step launch_step(const Json& json, std::size_t index, Symbols& symbols) {
    const Fields fields(json, fmt::format("step {}", index + 1));
    const std::initializer_list<std::pair<const char*, Step::Kind>> kinds = {{"read", Step::Kind::read},
                                                                             {"write", Step::Kind::write},
                                                                             {"wait", Step::Kind::wait},
                                                                             {"signal", Step::Kind::signal}};
    const char* key = nullptr;
    Step::Kind kind = Step::Kind::read;
    for (const auto& entry : kinds) {
        if (fields.has(entry.first)) {
            if (key != nullptr) {
                refuse(fmt::format("{} is both \"{}\" and \"{}\"", fields.where(), key, entry.first));
            }
            key = entry.first;
            kind = entry.second;
        }
    }
    if (key == nullptr) {
        refuse(fmt::format("{} is no step: it needs one of read, write, wait, signal", fields.where()));
    }
    const bool access = kind == Step::Kind::read || kind == Step::Kind::write;
    return access ? extent(fields, kind, key, symbols) : flag_step(fields, kind, key, symbols);
}

const Json& array(const Fields& fields, const char* key) {
    const Json& value = fields.at(key);
    if (!value.is_array()) {
        refuse(fmt::format("\"{}\" of {} must be an array", key, fields.where()));
    }
    return value;
}

struct Parse {
    const Fields& f;
    Symbols& names;
    std::vector<Step>& steps;

    [[nodiscard]] Id stream() const { return f.name("stream", names.streams); }
    [[nodiscard]] Id stream_or_none() const { return f.name_or_none("stream", names.streams); }
    [[nodiscard]] Id memory(const char* key = "memory") const { return f.name(key, names.memories); }
    [[nodiscard]] Id context() const { return f.name_or_none("context", names.contexts); }

    [[nodiscard]] Operation machine() const {
        Machine m{};
        const std::uint64_t devices = f.number("devices");
        if (devices == 0 || devices > most_devices) {
            refuse(fmt::format("\"devices\" of machine must be between 1 and {}", most_devices));
        }
        m.devices = static_cast<int>(devices);
        m.slots = static_cast<int>(
            std::min<std::uint64_t>(f.number_or(f.has("peer_slots") ? "peer_slots" : "slots", 0), most_devices));
        return m;
    }
    [[nodiscard]] Operation make_stream() const {
        return Stream{stream(), f.device("device"),
                      f.word_or("kind", StreamKind::nonblocking,
                                {{"nonblocking", StreamKind::nonblocking},
                                 {"blocking", StreamKind::blocking},
                                 {"legacy", StreamKind::legacy},
                                 {"per-thread", StreamKind::per_thread}}),
                      context()};
    }
    [[nodiscard]] Operation alloc() const {
        const std::string& where = f.text("place");
        const auto place = parse_place(where);
        if (!place || (place->is_device() && static_cast<std::uint64_t>(place->index) >= most_devices)) {
            refuse(fmt::format("\"place\" of alloc is \"{}\"; it may be gpuN, host or host:N", where));
        }
        Alloc a{};
        a.memory = memory();
        a.device = place->is_device() ? place->index : host_device;
        a.bytes = f.number("bytes");
        if (a.bytes == 0) {
            refuse("\"bytes\" of alloc must be at least 1");
        }
        a.kind = f.word_or("kind", place->is_device() ? MemoryKind::plain : MemoryKind::pinned,
                           {{"plain", MemoryKind::plain},
                            {"pool", MemoryKind::pool},
                            {"virtual", MemoryKind::virtual_memory},
                            {"managed", MemoryKind::managed},
                            {"pinned", MemoryKind::pinned},
                            {"pageable", MemoryKind::pageable}});
        if (place->is_device() && (a.kind == MemoryKind::pinned || a.kind == MemoryKind::pageable)) {
            refuse(fmt::format("{} memory lives on the host, not on {}", to_string(a.kind), where));
        }
        if (place->is_host() && a.kind == MemoryKind::plain) {
            a.kind = MemoryKind::pageable;  // what no call of the runtime made
        }
        a.pool = f.name_or_none("pool", names.pools);
        a.stream = stream_or_none();
        a.context = context();
        return a;
    }
    [[nodiscard]] Operation enable() const {
        return Enable{f.device("accessor"), f.device("owner"),
                      f.word_or("result", EnableResult::ok,
                                {{"ok", EnableResult::ok},
                                 {"already", EnableResult::already},
                                 {"refused", EnableResult::refused},
                                 {"limit", EnableResult::limit}}),
                      context()};
    }
    [[nodiscard]] Operation grant() const {
        if (f.has("memory") == f.has("pool")) {
            refuse("grant needs one of \"memory\" and \"pool\"");
        }
        return GrantAccess{f.name_or_none("memory", names.memories), f.name_or_none("pool", names.pools),
                           f.device("accessor"),
                           f.word_or("access", Grant::readwrite,
                                     {{"none", Grant::none}, {"read", Grant::read}, {"readwrite", Grant::readwrite}})};
    }
    [[nodiscard]] Operation query() const {
        if (f.has("event") == f.has("stream")) {
            refuse("query needs one of \"event\" and \"stream\"");
        }
        return Query{f.name_or_none("event", names.events), stream_or_none(), f.truth("done")};
    }
    [[nodiscard]] Operation sync() const {
        if (f.has("event") && !f.has("stream") && !f.has("device")) {
            return Wait{f.name("event", names.events), no_id};
        }
        if (f.has("stream")) {
            return Sync{stream(), -1};
        }
        return Sync{no_id, f.device("device")};
    }
    [[nodiscard]] Operation copy() const {
        Copy c{};
        c.stream = stream();
        c.dst = memory("dst");
        c.src = memory("src");
        c.dst_offset = f.number_or("dst_offset", 0);
        c.src_offset = f.number_or("src_offset", 0);
        c.bytes = f.number_or("bytes", to_end);
        c.api = f.word_or("api", CopyApi::unsaid,
                          {{"peer", CopyApi::peer}, {"default", CopyApi::plain}, {"batch", CopyApi::batch}});
        c.current = f.has("current") ? f.device("current") : -1;
        return c;
    }
    [[nodiscard]] Operation flag() const {
        return Flag{f.name("flag", names.flags), f.name_or_none("memory", names.memories), f.number_or("offset", 0)};
    }
    [[nodiscard]] Operation launch() const {
        Launch l{};
        l.stream = stream();
        l.name = names.words.intern(f.has("name") ? f.text("name") : std::string("kernel"));
        l.context = context();
        l.ctas = f.count_or_0("ctas");
        l.resident = f.count_or_0("resident");
        if (f.has("steps")) {
            const Json& list = array(f, "steps");
            for (std::size_t i = 0; i < list.size(); ++i) {
                steps.push_back(launch_step(list[i], i, names));
            }
        }
        l.steps = steps;
        return l;
    }
    [[nodiscard]] Operation host() const {
        const std::initializer_list<std::pair<const char*, Step::Kind>> lists = {{"reads", Step::Kind::read},
                                                                                 {"writes", Step::Kind::write}};
        for (const auto& entry : lists) {
            if (f.has(entry.first)) {
                for (const Json& item : array(f, entry.first)) {
                    const Fields fields(item, fmt::format("an entry of \"{}\"", entry.first));
                    steps.push_back(extent(fields, entry.second, "memory", names));
                }
            }
        }
        return HostAccess{steps};
    }
    [[nodiscard]] Operation import() const { return Import{memory(), memory("of"), f.device("device")}; }
    [[nodiscard]] Operation free() const { return Free{memory(), stream_or_none()}; }
    [[nodiscard]] Operation close() const { return Close{memory()}; }
    [[nodiscard]] Operation disable() const { return Disable{f.device("accessor"), f.device("owner"), context()}; }
    [[nodiscard]] Operation record() const { return Record{f.name("event", names.events), stream()}; }
    [[nodiscard]] Operation wait() const { return Wait{f.name("event", names.events), stream_or_none()}; }
    [[nodiscard]] Operation signal() const {
        return FlagStep{stream_or_none(), flag_step(f, Step::Kind::signal, "flag", names)};
    }
    [[nodiscard]] Operation wait_flag() const {
        return FlagStep{stream_or_none(), flag_step(f, Step::Kind::wait, "flag", names)};
    }
    [[nodiscard]] Operation blocks() const { return Blocks{f.name("what", names.words), f.device("device")}; }
};

struct Op {
    const char* name;
    Operation (Parse::*parse)() const;
};
constexpr Op ops[] = {
    {"machine", &Parse::machine}, {"stream", &Parse::make_stream}, {"alloc", &Parse::alloc},
    {"free", &Parse::free},       {"import", &Parse::import},      {"close", &Parse::close},
    {"enable", &Parse::enable},   {"disable", &Parse::disable},    {"grant", &Parse::grant},
    {"record", &Parse::record},   {"wait", &Parse::wait},          {"query", &Parse::query},
    {"sync", &Parse::sync},       {"copy", &Parse::copy},          {"flag", &Parse::flag},
    {"launch", &Parse::launch},   {"signal", &Parse::signal},      {"wait_flag", &Parse::wait_flag},
    {"host", &Parse::host},       {"blocks", &Parse::blocks},
};

Json parse_json(std::string_view line) {
    try {
        return Json::parse(line);
    } catch (const Json::exception& e) {
        // The library's own words start with a tag in brackets that says nothing to people.
        std::string why = e.what();
        const std::size_t end = why.find("] ");
        refuse("no JSON: " + (end == std::string::npos ? why : why.substr(end + 2)));
    }
}

}  // namespace

Reader::Reader(std::string file, Symbols& symbols) : file_(std::move(file)), symbols_(symbols) {}

InputError Reader::error(const std::string& reason) const {
    return {file_, static_cast<int>(line_), reason};
}

std::optional<Event> Reader::next(std::string_view text) {
    ++line_;
    steps_.clear();
    if (line_ == 1 && text.substr(0, 3) == "\xef\xbb\xbf") {
        text.remove_prefix(3);
    }
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        return std::nullopt;
    }
    try {
        const Json json = parse_json(text);
        const Fields line(json, "the line");
        if (line.has("schema") && line.text("schema") != "peerlane.trace/1") {
            refuse(fmt::format("schema is \"{}\", not peerlane.trace/1", line.text("schema")));
        }
        if (line.has("schema") && !line.has("op")) {
            return std::nullopt;
        }
        const std::string& name = line.text("op");
        for (const Op& op : ops) {
            if (name == op.name) {
                const Fields fields(json, name);
                Event event{};
                event.line = line_;
                event.thread = fields.has("thread") ? fields.name("thread", symbols_.threads) : 0;
                event.operation = (Parse{fields, symbols_, steps_}.*op.parse)();
                return event;
            }
        }
        refuse(fmt::format("unknown op \"{}\"", name));
    } catch (const Refused& refused) {
        throw error(refused.reason);
    }
}

}  // namespace peerlane::trace
