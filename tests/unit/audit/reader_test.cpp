/// The reader of peerlane.trace/1: what it takes, what it refuses and how it says so.

#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <peerlane/trace_reader.hpp>

#include "unit/audit/codes.hpp"
#include "unit/audit/fenced.hpp"
#include "unit/audit/random_trace.hpp"

namespace peerlane::audit_tests {

namespace {

using trace::Event;

template <typename T>
T read(const std::string& line) {
    static trace::Symbols symbols;
    static trace::Reader reader("trace", symbols);
    const auto event = reader.next(line);
    return std::get<T>(event.value().operation);
}

/// The message with which the last line of a trace is refused; empty when nothing is.
std::string refusal(const std::string& text) {
    try {
        audit(text);
    } catch (const InputError& e) {
        return e.what();
    }
    return {};
}

TEST(TraceReader, takesDefaultsOfKeysThatAreMissing) {
    const auto stream = read<trace::Stream>(R"({"op":"stream","stream":"s","device":1})");
    EXPECT_EQ(stream.kind, trace::StreamKind::nonblocking);
    EXPECT_EQ(stream.context, trace::no_id);
    EXPECT_EQ(read<trace::Alloc>(R"({"op":"alloc","memory":"a","place":"gpu3","bytes":1})").kind,
              trace::MemoryKind::plain);
    EXPECT_EQ(read<trace::Alloc>(R"({"op":"alloc","memory":"a","place":"host:1","bytes":1})").kind,
              trace::MemoryKind::pinned);
    EXPECT_EQ(read<trace::Alloc>(R"({"op":"alloc","memory":"a","place":"host","bytes":1})").device, trace::host_device);
    const auto copy = read<trace::Copy>(R"({"op":"copy","stream":"s","dst":"a","src":"b"})");
    EXPECT_EQ(copy.bytes, trace::to_end);
    EXPECT_EQ(copy.current, -1);
    const auto signal = read<trace::FlagStep>(R"({"op":"signal","flag":"f","value":7})");
    EXPECT_EQ(signal.stream, trace::no_id);
    EXPECT_EQ(signal.step.order, trace::Order::release);
    EXPECT_EQ(signal.step.scope, trace::Scope::system);
    const auto wait = read<trace::FlagStep>(R"({"op":"wait_flag","flag":"f","equals":7,"stream":"s"})");
    EXPECT_TRUE(wait.step.equals);
    EXPECT_EQ(wait.step.order, trace::Order::acquire);
    const auto launch = read<trace::Launch>(R"({"op":"launch","stream":"s"})");
    EXPECT_TRUE(launch.steps.empty());
    EXPECT_EQ(launch.ctas, 0u);
}

TEST(TraceReader, readsStepsInTheirOrder) {
    trace::Symbols symbols;
    trace::Reader reader("trace", symbols);
    const auto event = reader.next(
        R"({"op":"launch","stream":"s","name":"k","ctas":132,"resident":264,"thread":"t","later":{"x":[1]},"steps":[{"wait":"f","at_least":2,"scope":"device","order":"acquire"},{"read":"a","offset":8,"bytes":16},{"write":"b"},{"signal":"f","value":3,"order":"relaxed"}]})");
    const auto& launch = std::get<trace::Launch>(event.value().operation);
    ASSERT_EQ(launch.steps.size(), 4u);
    EXPECT_EQ(launch.steps[0].kind, trace::Step::Kind::wait);
    EXPECT_EQ(launch.steps[0].scope, trace::Scope::device);
    EXPECT_EQ(launch.steps[1].value, 8u);
    EXPECT_EQ(launch.steps[1].bytes, 16u);
    EXPECT_EQ(launch.steps[2].bytes, trace::to_end);
    EXPECT_EQ(launch.steps[3].order, trace::Order::relaxed);
    EXPECT_EQ(symbols.threads.text(event->thread), "t");
    EXPECT_EQ(symbols.words.text(launch.name), "k");
}

TEST(TraceReader, skipsBlankLinesSchemaLinesAndLineEndsOfAnyKind) {
    EXPECT_EQ(codes("\xef\xbb\xbf{\"schema\":\"peerlane.trace/1\"}\r\n\r\n   \n{\"op\":\"machine\",\"devices\":1}\r\n"),
              std::set<std::string>{});
    EXPECT_EQ(codes(""), std::set<std::string>{});
    EXPECT_EQ(refusal("{\"schema\":\"peerlane.trace/2\"}\n"),
              "trace:1: schema is \"peerlane.trace/2\", not peerlane.trace/1");
}

TEST(TraceReader, refusesWithFileLineAndReason) {
    const std::string head = "{\"op\":\"machine\",\"devices\":2}\n";
    const auto second = [&](const std::string& line) { return refusal(head + line + "\n"); };
    EXPECT_EQ(second(R"({"op":"teleport"})"), "trace:2: unknown op \"teleport\"");
    EXPECT_EQ(second(R"({"device":1})"), "trace:2: the line needs \"op\"");
    EXPECT_EQ(second(R"([1,2])"), "trace:2: the line is no JSON object");
    EXPECT_EQ(second(R"({"op":"stream","stream":"s"})"), "trace:2: stream needs \"device\"");
    EXPECT_EQ(second(R"({"op":"stream","stream":"s","device":-1})"),
              "trace:2: \"device\" of stream must be a whole number of at least 0");
    EXPECT_EQ(second(R"({"op":"stream","stream":"s","device":2})"), "trace:2: there is no device 2: the machine has 2");
    EXPECT_EQ(second(R"({"op":"stream","stream":"s","device":0,"kind":"green"})"),
              "trace:2: \"kind\" of stream is \"green\"; it may be nonblocking, blocking, legacy, per-thread");
    EXPECT_EQ(second(R"({"op":"stream","stream":"","device":0})"),
              "trace:2: \"stream\" of stream must be a text that is not empty");
    EXPECT_EQ(second(R"({"op":"alloc","memory":"a","place":"disk","bytes":1})"),
              "trace:2: \"place\" of alloc is \"disk\"; it may be gpuN, host or host:N");
    EXPECT_EQ(second(R"({"op":"alloc","memory":"a","place":"gpu0","bytes":0})"),
              "trace:2: \"bytes\" of alloc must be at least 1");
    EXPECT_EQ(second(R"({"op":"alloc","memory":"a","place":"gpu0","bytes":1.5})"),
              "trace:2: \"bytes\" of alloc must be a whole number of at least 0");
    EXPECT_EQ(second(R"({"op":"alloc","memory":"a","place":"gpu0","bytes":1,"kind":"pinned"})"),
              "trace:2: pinned memory lives on the host, not on gpu0");
    EXPECT_EQ(second(R"({"op":"launch","stream":"s"})"), "trace:2: unknown stream \"s\"");
    EXPECT_EQ(second(R"({"op":"free","memory":"a"})"), "trace:2: unknown memory \"a\"");
    EXPECT_EQ(second(R"({"op":"signal","flag":"f"})"), "trace:2: signal needs \"value\"");
    EXPECT_EQ(second(R"({"op":"wait_flag","flag":"f"})"),
              "trace:2: wait_flag needs one of \"at_least\" and \"equals\"");
    EXPECT_EQ(second(R"({"op":"wait_flag","flag":"f","at_least":1,"equals":1})"),
              "trace:2: wait_flag needs one of \"at_least\" and \"equals\"");
    EXPECT_EQ(second(R"({"op":"grant","accessor":1})"), "trace:2: grant needs one of \"memory\" and \"pool\"");
    EXPECT_EQ(second(R"({"op":"query","event":"e"})"), "trace:2: query needs \"done\"");
    EXPECT_EQ(second(R"({"op":"query","event":"e","done":1})"), "trace:2: \"done\" of query must be true or false");
    EXPECT_EQ(second(R"({"op":"machine","devices":3})"), "trace:2: a trace has one machine");
    EXPECT_EQ(second(R"({"op":"machine","devices":0})"), "trace:2: \"devices\" of machine must be between 1 and 4096");
    const std::string stream = "{\"op\":\"stream\",\"stream\":\"s\",\"device\":0}\n";
    EXPECT_EQ(refusal(stream + R"({"op":"launch","stream":"s","steps":[{"read":"a"},{"jump":1}]})"),
              "trace:2: step 2 is no step: it needs one of read, write, wait, signal");
    EXPECT_EQ(refusal(stream + R"({"op":"launch","stream":"s","steps":[{"read":"a","write":"a"}]})"),
              "trace:2: step 1 is both \"read\" and \"write\"");
    EXPECT_EQ(refusal(stream + R"({"op":"launch","stream":"s","steps":{}})"),
              "trace:2: \"steps\" of launch must be an array");
    EXPECT_EQ(refusal(stream + R"({"op":"launch","stream":"s","ctas":0})"),
              "trace:2: \"ctas\" of launch must be between 1 and 4294967295");
    EXPECT_EQ(refusal(stream + R"({"op":"stream","stream":"s","device":1})"),
              "trace:2: stream \"s\" was made before, on device 0");
    const std::string alloc = "{\"op\":\"alloc\",\"memory\":\"a\",\"place\":\"gpu0\",\"bytes\":8}\n";
    EXPECT_EQ(refusal(alloc + alloc), "trace:2: memory \"a\" is still in use, made at line 1");
    EXPECT_EQ(refusal(alloc + R"({"op":"close","memory":"a"})"),
              "trace:2: memory \"a\" is no import: it is freed, not closed");
    EXPECT_EQ(
        refusal(alloc +
                "{\"op\":\"import\",\"memory\":\"b\",\"of\":\"a\",\"device\":1}\n{\"op\":\"free\",\"memory\":\"b\"}"),
        "trace:3: memory \"b\" is an import: it is closed, not freed");
}

TEST(TraceReader, refusesWhatIsNoJson) {
    for (const char* line :
         {"{", "{\"op\":\"machine\",\"devices\":2", "op: machine", "{\"op\":\"machine\" \"devices\":2}", "\x80\x81",
          "{\"op\":\"machine\",\"devices\":1e999}", "nul"}) {
        const std::string message = refusal(line);
        EXPECT_EQ(message.rfind("trace:1: no JSON: ", 0), 0u) << line << " gives " << message;
    }
    EXPECT_EQ(refusal("null"), "trace:1: the line is no JSON object");
    EXPECT_FALSE(refusal(std::string(100000, '[')).empty());
}

/// What comes of a damaged trace: a report or an InputError, nothing else.
void expect_report_or_refusal(const std::string& text) {
    try {
        EXPECT_LE(audit(text).status(), 2);
    } catch (const InputError& e) {
        EXPECT_GT(e.line(), 0);
    }
}

TEST(TraceReader, damagedTracesGiveAReportOrARefusal) {
    const std::vector<Fenced> blocks = fenced_traces_of_folder(PEERLANE_SOURCE_DIR "/tests/unit/audit/traces");
    std::mt19937_64 random(5);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int i = 0; i < 2000; ++i) {
        std::string text = blocks[below(blocks.size())].trace;
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            const std::size_t at = below(text.size());
            switch (below(3)) {
                case 0:
                    text[at] = static_cast<char>(random());
                    break;
                case 1:
                    text.erase(at, 1 + below(8));
                    break;
                default:
                    text.insert(at, 1, "{}[]\",:0129-"[below(13)]);
                    break;
            }
        }
        expect_report_or_refusal(text);
    }
}

bool has_op(const std::string& line, const std::string& op) {
    return line.find("\"op\":\"" + op + "\"") != std::string::npos;
}

TEST(TraceReader, linesOfTwoTracesInAnyOrderGiveAReportOrARefusal) {
    const std::vector<Fenced> blocks = fenced_traces_of_folder(PEERLANE_SOURCE_DIR "/tests/unit/audit/traces");
    std::mt19937_64 random(6);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int i = 0; i < 3000; ++i) {
        Lines all;
        for (int k = 0; k < 2; ++k) {
            const std::string& trace = blocks[below(blocks.size())].trace;
            for (std::size_t at = 0; at < trace.size(); at = trace.find('\n', at) + 1) {
                all.push_back(trace.substr(at, trace.find('\n', at) - at));
            }
        }
        for (std::size_t n = below(8); n > 0; --n) {
            std::swap(all[below(all.size())], all[below(all.size())]);
            all.push_back(all[below(all.size())]);
        }
        // What is made comes first and once, so that most of what follows is taken.
        std::stable_partition(all.begin(), all.end(),
                              [](const std::string& l) { return has_op(l, "stream") || has_op(l, "alloc"); });
        Lines kept;
        std::set<std::string> made;
        for (const std::string& line : all) {
            const bool makes = has_op(line, "stream") || has_op(line, "alloc");
            const std::string name = line.substr(0, line.find(',', line.find(',') + 1));
            if (!has_op(line, "machine") && (!makes || made.insert(name).second)) {
                kept.push_back(line);
            }
        }
        expect_report_or_refusal(joined(kept));
    }
}

TEST(TraceReader, takesNumbersUpTo64Bits) {
    EXPECT_EQ(read<trace::Alloc>(R"({"op":"alloc","memory":"a","place":"gpu0","bytes":18446744073709551615})").bytes,
              ~std::uint64_t{0});
    EXPECT_FALSE(refusal(R"({"op":"alloc","memory":"a","place":"gpu0","bytes":18446744073709551616})").empty());
}

}  // namespace

}  // namespace peerlane::audit_tests
