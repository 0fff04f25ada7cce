#include "prove/wire.hpp"

#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>

#include "prove/check_json.hpp"

namespace peerlane::prove::wire {
namespace {

using Json = nlohmann::ordered_json;

Json step_json(const ProbeStep& step) {
    auto const* const what = step.kind == ProbeStep::Kind::control     ? "control"
                             : step.kind == ProbeStep::Kind::self_test ? "self-test"
                             : step.kind == ProbeStep::Kind::ways      ? "ways"
                             : step.kind == ProbeStep::Kind::idle      ? "idle"
                                                                       : to_string(step.check);
    Json out{{"check", what},
             {"accessor", step.accessor},
             {"owner", step.owner},
             {"sizes", step.sizes},
             {"seed", step.seed}};
    if (step.kind == ProbeStep::Kind::group) {
        out["group"] = step.name;
        if (step.seconds > 0) {
            out["keep_s"] = step.seconds;
        }
        out["pairs"] = pairs_json(step.pairs);
    }
    return out;
}

ProbeStep step_of(const JsonField& node) {
    ProbeStep step;
    auto const check = node["check"].text();
    if (check == "control") {
        step.kind = ProbeStep::Kind::control;
    } else if (check == "self-test") {
        step.kind = ProbeStep::Kind::self_test;
    } else if (check == "ways") {
        step.kind = ProbeStep::Kind::ways;
        step.check = Check::map;
    } else if (check == "idle") {
        step.kind = ProbeStep::Kind::idle;
    } else if (auto const known = parse_check(check)) {
        step.check = *known;
    } else {
        node["check"].refuse("is no check");
    }
    step.accessor = node["accessor"].device();
    step.owner = node["owner"].device();
    step.sizes = read_sizes(node["sizes"]);
    step.seed = node["seed"].count();
    if (node.has("group")) {
        step.kind = ProbeStep::Kind::group;
        step.name = node["group"].text();
        step.seconds = node.has("keep_s") ? node["keep_s"].number() : 0;
        step.pairs = read_pairs(node["pairs"]);
    }
    return step;
}

}  // namespace

std::string write(const Request& request) {
    auto json = step_json(request.step);
    json["seconds_per_size"] = request.limits.seconds_per_size;
    json["decoy"] = request.limits.decoy;
    json["kernels"] = request.limits.kernels;
    return json.dump();
}

std::string write(const ProbeStep& step) {
    return step_json(step).dump();
}

std::string write(const ProbeOutcome& outcome) {
    auto json = step_json(outcome.step);
    json["outcome"] = check_json(outcome.result);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ProbeStep read_step(std::string_view text, const std::string& file) {
    auto const json = parse_json(text, file);
    return step_of({json, file, ""});
}

ProbeOutcome read_outcome(std::string_view text, const std::string& file) {
    auto const json = parse_json(text, file);
    JsonField const node{json, file, ""};
    return {step_of(node), read_check(node["outcome"])};
}

Request read_request(std::string_view line) {
    auto const json = parse_json(line, "step");
    JsonField const node{json, "step", ""};
    Request request;
    request.step = step_of(node);
    request.limits = {node["seconds_per_size"].number(), node["decoy"].boolean(),
                      !node.has("kernels") || node["kernels"].boolean()};
    return request;
}

std::string write(const Reply& reply) {
    Json json = Json::object();
    switch (reply.kind) {
        case Reply::Kind::ready:
            json["ready"] = reply.text;
            break;
        case Reply::Kind::begun:
            json["begun"] = true;
            break;
        case Reply::Kind::done:
            json["done"] = check_json(reply.result);
            json["usable"] = reply.usable;
            break;
        case Reply::Kind::refused:
            json["refused"] = reply.text;
            json["code"] = reply.code;
            break;
        case Reply::Kind::other:
            json["other"] = reply.text;
            break;
    }
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Reply read_reply(std::string_view line) {
    Reply reply;
    try {
        auto const json = parse_json(line, "reply");
        JsonField const node{json, "reply", ""};
        if (node.has("ready")) {
            reply.text = node["ready"].text();
            reply.kind = Reply::Kind::ready;
        } else if (node.has("begun")) {
            reply.kind = Reply::Kind::begun;
        } else if (node.has("done")) {
            reply.result = read_check(node["done"]);
            reply.usable = node["usable"].boolean();
            reply.kind = Reply::Kind::done;
        } else if (node.has("refused")) {
            reply.text = node["refused"].text();
            reply.code = node["code"].whole();
            reply.kind = Reply::Kind::refused;
        } else {
            reply.text = line;
        }
    } catch (const InputError&) {
        reply = {};
        reply.text = line;
    }
    return reply;
}

}  // namespace peerlane::prove::wire
