#include <peerlane/trace.hpp>

#include <type_traits>

#include <fmt/format.h>

#include "audit/json_text.hpp"

namespace peerlane::trace {

Id Names::intern(std::string_view name) {
    if (const auto it = ids_.find(name); it != ids_.end()) {
        return it->second;
    }
    const Id id = static_cast<Id>(texts_.size());
    const auto it = ids_.emplace(std::string(name), id).first;
    texts_.push_back(&it->first);
    return id;
}

Id Names::find(std::string_view name) const {
    const auto it = ids_.find(name);
    return it == ids_.end() ? no_id : it->second;
}

const char* to_string(StreamKind kind) {
    switch (kind) {
        case StreamKind::nonblocking:
            return "nonblocking";
        case StreamKind::blocking:
            return "blocking";
        case StreamKind::legacy:
            return "legacy";
        case StreamKind::per_thread:
            return "per-thread";
    }
    return "";
}

const char* to_string(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::plain:
            return "plain";
        case MemoryKind::pool:
            return "pool";
        case MemoryKind::virtual_memory:
            return "virtual";
        case MemoryKind::managed:
            return "managed";
        case MemoryKind::pinned:
            return "pinned";
        case MemoryKind::pageable:
            return "pageable";
    }
    return "";
}

const char* to_string(EnableResult result) {
    switch (result) {
        case EnableResult::ok:
            return "ok";
        case EnableResult::already:
            return "already";
        case EnableResult::refused:
            return "refused";
        case EnableResult::limit:
            return "limit";
    }
    return "";
}

const char* to_string(Grant access) {
    switch (access) {
        case Grant::none:
            return "none";
        case Grant::read:
            return "read";
        case Grant::readwrite:
            return "readwrite";
    }
    return "";
}

const char* to_string(CopyApi api) {
    switch (api) {
        case CopyApi::unsaid:
            return "";
        case CopyApi::peer:
            return "peer";
        case CopyApi::plain:
            return "default";
        case CopyApi::batch:
            return "batch";
    }
    return "";
}

const char* to_string(Scope scope) {
    switch (scope) {
        case Scope::thread:
            return "thread";
        case Scope::block:
            return "block";
        case Scope::cluster:
            return "cluster";
        case Scope::device:
            return "device";
        case Scope::system:
            return "system";
    }
    return "";
}

const char* to_string(Order order) {
    switch (order) {
        case Order::relaxed:
            return "relaxed";
        case Order::acquire:
            return "acquire";
        case Order::release:
            return "release";
        case Order::acq_rel:
            return "acq_rel";
        case Order::seq_cst:
            return "seq_cst";
    }
    return "";
}

namespace {

using audit::quoted;

/// Builds one object, key by key.
class Line {
  public:
    explicit Line(const Symbols& symbols) : symbols_(symbols) {}
    Line& word(const char* key, std::string_view value) {
        open(key);
        text_ += quoted(value);
        return *this;
    }
    Line& name(const char* key, const Names& names, Id id) { return id == no_id ? *this : word(key, names.text(id)); }
    Line& number(const char* key, std::uint64_t value) {
        open(key);
        text_ += fmt::format("{}", value);
        return *this;
    }
    Line& extent(const Step& step) {
        number("offset", step.value);
        return step.bytes == to_end ? *this : number("bytes", step.bytes);
    }
    Line& flag_terms(const Step& step) {
        if (step.kind == Step::Kind::wait) {
            number(step.equals ? "equals" : "at_least", step.value);
        } else {
            number("value", step.value);
        }
        return word("scope", to_string(step.scope)).word("order", to_string(step.order));
    }
    Line& raw(const char* key, const std::string& json) {
        open(key);
        text_ += json;
        return *this;
    }
    [[nodiscard]] std::string done() const { return text_ + '}'; }
    [[nodiscard]] const Symbols& symbols() const { return symbols_; }

  private:
    void open(const char* key) {
        text_ += text_.size() > 1 ? ",\"" : "\"";
        text_ += key;
        text_ += "\":";
    }
    const Symbols& symbols_;
    std::string text_ = "{";
};

std::string step_json(const Step& step, const Symbols& symbols) {
    Line line(symbols);
    switch (step.kind) {
        case Step::Kind::read:
            return line.name("read", symbols.memories, step.target).extent(step).done();
        case Step::Kind::write:
            return line.name("write", symbols.memories, step.target).extent(step).done();
        case Step::Kind::wait:
            return line.name("wait", symbols.flags, step.target).flag_terms(step).done();
        case Step::Kind::signal:
            return line.name("signal", symbols.flags, step.target).flag_terms(step).done();
    }
    return line.done();
}

std::string steps_json(std::span<const Step> steps, const Symbols& symbols) {
    std::string text = "[";
    for (const Step& step : steps) {
        text += (text.size() > 1 ? "," : "") + step_json(step, symbols);
    }
    return text + ']';
}

std::string host_json(std::span<const Step> steps, Step::Kind kind, const Symbols& symbols) {
    std::string text = "[";
    for (const Step& step : steps) {
        if (step.kind == kind) {
            Line one(symbols);
            text +=
                (text.size() > 1 ? "," : "") + one.name("memory", symbols.memories, step.target).extent(step).done();
        }
    }
    return text + ']';
}

std::string place_word(int device) {
    return device == host_device ? "host" : fmt::format("gpu{}", device);
}

struct Write {
    Line& line;
    const Symbols& names;

    void operator()(const Machine& m) const {
        line.word("op", "machine").number("devices", static_cast<std::uint64_t>(m.devices));
        if (m.slots > 0) {
            line.number("slots", static_cast<std::uint64_t>(m.slots));
        }
    }
    void operator()(const Stream& s) const {
        line.word("op", "stream").name("stream", names.streams, s.stream);
        device(s.device).word("kind", to_string(s.kind)).name("context", names.contexts, s.context);
    }
    void operator()(const Alloc& a) const {
        line.word("op", "alloc").name("memory", names.memories, a.memory).word("place", place_word(a.device));
        line.number("bytes", a.bytes).word("kind", to_string(a.kind)).name("pool", names.pools, a.pool);
        line.name("stream", names.streams, a.stream).name("context", names.contexts, a.context);
    }
    void operator()(const Free& f) const {
        line.word("op", "free").name("memory", names.memories, f.memory).name("stream", names.streams, f.stream);
    }
    void operator()(const Import& i) const {
        line.word("op", "import").name("memory", names.memories, i.memory).name("of", names.memories, i.of);
        device(i.device);
    }
    void operator()(const Close& c) const { line.word("op", "close").name("memory", names.memories, c.memory); }
    void operator()(const Enable& e) const {
        pair("enable", e.accessor, e.owner)
            .word("result", to_string(e.result))
            .name("context", names.contexts, e.context);
    }
    void operator()(const Disable& d) const {
        pair("disable", d.accessor, d.owner).name("context", names.contexts, d.context);
    }
    void operator()(const GrantAccess& g) const {
        line.word("op", "grant").name("memory", names.memories, g.memory).name("pool", names.pools, g.pool);
        line.number("accessor", static_cast<std::uint64_t>(g.accessor)).word("access", to_string(g.access));
    }
    void operator()(const Record& r) const {
        line.word("op", "record").name("event", names.events, r.event).name("stream", names.streams, r.stream);
    }
    void operator()(const Wait& w) const {
        line.word("op", "wait").name("event", names.events, w.event).name("stream", names.streams, w.stream);
    }
    void operator()(const Query& q) const {
        line.word("op", "query").name("event", names.events, q.event).name("stream", names.streams, q.stream);
        line.raw("done", q.done ? "true" : "false");
    }
    void operator()(const Sync& s) const {
        line.word("op", "sync").name("stream", names.streams, s.stream);
        if (s.stream == no_id) {
            device(s.device);
        }
    }
    void operator()(const Copy& c) const {
        line.word("op", "copy").name("stream", names.streams, c.stream);
        line.name("dst", names.memories, c.dst).number("dst_offset", c.dst_offset);
        line.name("src", names.memories, c.src).number("src_offset", c.src_offset);
        if (c.bytes != to_end) {
            line.number("bytes", c.bytes);
        }
        if (c.api != CopyApi::unsaid) {
            line.word("api", to_string(c.api));
        }
        if (c.current >= 0) {
            line.number("current", static_cast<std::uint64_t>(c.current));
        }
    }
    void operator()(const Flag& f) const {
        line.word("op", "flag").name("flag", names.flags, f.flag);
        if (f.memory != no_id) {
            line.name("memory", names.memories, f.memory).number("offset", f.offset);
        }
    }
    void operator()(const Launch& l) const {
        line.word("op", "launch").name("stream", names.streams, l.stream).name("name", names.words, l.name);
        line.name("context", names.contexts, l.context);
        if (l.ctas > 0) {
            line.number("ctas", l.ctas);
        }
        if (l.resident > 0) {
            line.number("resident", l.resident);
        }
        line.raw("steps", steps_json(l.steps, names));
    }
    void operator()(const FlagStep& f) const {
        line.word("op", f.step.kind == Step::Kind::signal ? "signal" : "wait_flag")
            .name("flag", names.flags, f.step.target);
        line.flag_terms(f.step).name("stream", names.streams, f.stream);
    }
    void operator()(const HostAccess& h) const {
        line.word("op", "host").raw("reads", host_json(h.steps, Step::Kind::read, names));
        line.raw("writes", host_json(h.steps, Step::Kind::write, names));
    }
    void operator()(const Blocks& b) const {
        line.word("op", "blocks").name("what", names.words, b.what);
        device(b.device);
    }

    Line& device(int index) const { return line.number("device", static_cast<std::uint64_t>(index)); }
    Line& pair(const char* op, int accessor, int owner) const {
        line.word("op", op).number("accessor", static_cast<std::uint64_t>(accessor));
        return line.number("owner", static_cast<std::uint64_t>(owner));
    }
};

}  // namespace

std::string to_line(const Event& event, const Symbols& symbols) {
    Line line(symbols);
    std::visit(Write{line, symbols}, event.operation);
    if (event.thread != 0) {
        line.name("thread", symbols.threads, event.thread);
    }
    return line.done();
}

}  // namespace peerlane::trace
