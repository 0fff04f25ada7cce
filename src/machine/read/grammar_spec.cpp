#include "machine/read/grammar_spec.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "machine/read/text.hpp"

namespace peerlane::read {
namespace {

constexpr std::string_view keys = "gpu, model, socket, numa, host, switch, link, uplink, nvlink, xgmi, p2p";
constexpr int most_links = 1000;

struct ShapeWord {
    std::string_view word;
    GrammarFabric::Shape shape;
};
constexpr std::array<ShapeWord, 5> shape_words{{{"pairs", GrammarFabric::Shape::pairs},
                                                {"ring", GrammarFabric::Shape::ring},
                                                {"mesh", GrammarFabric::Shape::mesh},
                                                {"cube", GrammarFabric::Shape::cube},
                                                {"switch", GrammarFabric::Shape::center}}};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}
    GrammarSpec parse();

  private:
    [[noreturn]] void bad(std::string_view key, std::string_view value, std::string_view want) const {
        throw InputError(std::string(text_.substr(0, 200)), 0,
                         fmt::format("{}={}: {}", key.substr(0, 40), value.substr(0, 60), want));
    }
    void set(std::string_view key, std::string_view value);
    int count(std::string_view key, std::string_view value, int least) const;
    PcieLink pcie(std::string_view key, std::string_view value) const;
    GrammarFabric fabric(std::string_view key, std::string_view value) const;
    void check_shape();

    std::string_view text_;
    GrammarSpec spec_;
    std::set<std::string> given_;
};

int Parser::count(std::string_view key, std::string_view value, int least) const {
    auto const number = small_number(value);
    if (!number || *number < least || *number > most_devices) {
        bad(key, value, fmt::format("a number from {} to {}", least, most_devices));
    }
    return *number;
}

/// "gen5x16"
PcieLink Parser::pcie(std::string_view key, std::string_view value) const {
    auto const x = value.find('x');
    bool const shaped = value.substr(0, 3) == "gen" && x != std::string_view::npos;
    auto const generation = shaped ? small_number(value.substr(3, x - 3)).value_or(0) : 0;
    auto const width = shaped ? small_number(value.substr(x + 1)).value_or(0) : 0;
    bool const lanes = width == 1 || width == 2 || width == 4 || width == 8 || width == 16 || width == 32;
    if (generation < 1 || generation > 7 || !lanes) {
        bad(key, value, "genGxW, generation 1 to 7 and 1, 2, 4, 8, 16 or 32 lanes");
    }
    return {generation, width};
}

GrammarFabric Parser::fabric(std::string_view key, std::string_view value) const {
    constexpr std::string_view want =
        "pairs, ring, mesh, cube or switch with :LINKS, or a list such as 0-1:2+1-2; then @RATE of one link, for "
        "example @25GB/s";
    GrammarFabric result;
    result.xgmi = key == "xgmi";
    auto body = value;
    if (auto const at = value.find('@'); at != std::string_view::npos) {
        result.link_gbs = parse_rate_gbs(value.substr(at + 1));
        if (!result.link_gbs || *result.link_gbs <= 0) {
            bad(key, value, "the rate of one link is a number and GB/s");
        }
        body = value.substr(0, at);
    }
    auto const number_of_links = [&](std::string_view digits) {
        auto const links = small_number(digits);
        if (!links || *links < 1 || *links > most_links) {
            bad(key, value, fmt::format("a number of links from 1 to {}", most_links));
        }
        return *links;
    };
    auto const colon = body.find(':');
    auto const word = body.substr(0, colon);
    for (auto const& known : shape_words) {
        if (word == known.word) {
            result.shape = known.shape;
            result.links = colon == std::string_view::npos ? 1 : number_of_links(body.substr(colon + 1));
            return result;
        }
    }
    result.shape = GrammarFabric::Shape::list;
    std::set<std::pair<int, int>> seen;
    for (auto const part : cells(body, '+')) {
        auto const end = part.find(':');
        auto const ends = part.substr(0, end);
        auto const dash = ends.find('-');
        auto const a = small_number(ends.substr(0, dash));
        auto const b = dash == std::string_view::npos ? std::nullopt : small_number(ends.substr(dash + 1));
        if (!a || !b || *a == *b) {
            bad(key, value, want);
        }
        GrammarFabric::Edge edge{std::min(*a, *b), std::max(*a, *b),
                                 end == std::string_view::npos ? 1 : number_of_links(part.substr(end + 1))};
        if (!seen.insert({edge.a, edge.b}).second) {
            bad(key, value, fmt::format("{}-{} stands twice", edge.a, edge.b));
        }
        result.edges.push_back(edge);
    }
    std::sort(result.edges.begin(), result.edges.end(),
              [](auto const& x, auto const& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
    return result;
}

void Parser::set(std::string_view key, std::string_view value) {
    if (!given_.insert(std::string(key)).second) {
        bad(key, value, "this key stands twice");
    }
    if (key == "gpu") {
        spec_.gpus = count(key, value, 1);
    } else if (key == "model") {
        std::string model(value);
        std::replace(model.begin(), model.end(), '_', ' ');
        if (trimmed(model).empty() || trimmed(model).size() != model.size() || model.size() > 100) {
            bad(key, value, "a name; _ stands for a blank");
        }
        if (!is_utf8(model)) {
            bad(key, as_utf8(value), "a name of printable characters");
        }
        for (char const c : model) {
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
                bad(key, value, "a name of printable characters");
            }
        }
        spec_.model = model;
    } else if (key == "socket") {
        spec_.sockets = count(key, value, 1);
    } else if (key == "numa") {
        spec_.numas = count(key, value, 1);
    } else if (key == "host") {
        spec_.hosts = count(key, value, 1);
    } else if (key == "switch") {
        spec_.switches = count(key, value, 0);
    } else if (key == "link") {
        spec_.link = pcie(key, value);
    } else if (key == "uplink") {
        spec_.uplink = pcie(key, value);
    } else if (key == "nvlink" || key == "xgmi") {
        if (spec_.fabric.shape != GrammarFabric::Shape::none) {
            bad(key, value, "a machine has nvlink or xgmi, not both");
        }
        spec_.fabric = fabric(key, value);
    } else if (key == "p2p") {
        if (value != "yes" && value != "no") {
            bad(key, value, "yes or no");
        }
        spec_.peer_access = value == "yes";
    } else {
        bad(key, value, fmt::format("no such key; there are {}", keys));
    }
}

void Parser::check_shape() {
    auto const& s = spec_;
    auto const fail = [&](std::string reason) {
        throw InputError(std::string(text_.substr(0, 200)), 0, std::move(reason));
    };
    if (s.gpus == 0) {
        fail("gpu=N is missing");
    }
    if (s.numas % s.sockets != 0) {
        fail(fmt::format("{} NUMA nodes do not divide over {} sockets", s.numas, s.sockets));
    }
    if (s.hosts % s.numas != 0) {
        fail(fmt::format("{} host bridges do not divide over {} NUMA nodes", s.hosts, s.numas));
    }
    if (s.switches > s.gpus) {
        fail(fmt::format("{} switches for {} GPUs", s.switches, s.gpus));
    }
    if (s.switches == 0 && given_.count("uplink") != 0) {
        fail("uplink is that of a switch, and there is none");
    }
    using Shape = GrammarFabric::Shape;
    if (s.fabric.shape == Shape::pairs && s.gpus % 2 != 0) {
        fail(fmt::format("pairs of {} GPUs", s.gpus));
    }
    if (s.fabric.shape == Shape::cube && s.gpus != 8) {
        fail("the cube joins 8 GPUs");
    }
    if (s.fabric.shape == Shape::ring && s.gpus < 3) {
        fail("a ring joins 3 GPUs or more");
    }
    for (auto const& edge : s.fabric.edges) {
        if (edge.b >= s.gpus) {
            fail(fmt::format("{}-{}: there is no GPU {}", edge.a, edge.b, edge.b));
        }
    }
}

GrammarSpec Parser::parse() {
    if (text_.size() > 65536 || text_.substr(0, 4) != "sim:") {
        throw InputError(std::string(text_.substr(0, 200)), 0, "a machine in one line begins with sim:");
    }
    for (auto const part : cells(text_.substr(4), ',')) {
        auto const equals = part.find('=');
        if (equals == std::string_view::npos) {
            throw InputError(std::string(text_.substr(0, 200)), 0,
                             fmt::format("\"{}\" is not KEY=VALUE; keys are {}", part.substr(0, 40), keys));
        }
        set(trimmed(part.substr(0, equals)), trimmed(part.substr(equals + 1)));
    }
    if (given_.count("numa") == 0) {
        spec_.numas = spec_.sockets;
    }
    if (given_.count("host") == 0) {
        spec_.hosts = spec_.numas;
    }
    if (given_.count("uplink") == 0) {
        spec_.uplink = spec_.link;
    }
    check_shape();
    return spec_;
}

std::string print_fabric(const GrammarFabric& fabric) {
    std::string text = fabric.xgmi ? "xgmi=" : "nvlink=";
    if (fabric.shape == GrammarFabric::Shape::list) {
        for (std::size_t i = 0; i < fabric.edges.size(); ++i) {
            auto const& edge = fabric.edges[i];
            text += fmt::format("{}{}-{}", i == 0 ? "" : "+", edge.a, edge.b);
            text += edge.links == 1 ? "" : fmt::format(":{}", edge.links);
        }
    } else {
        for (auto const& known : shape_words) {
            if (known.shape == fabric.shape) {
                text += known.word;
            }
        }
        text += fabric.links == 1 ? "" : fmt::format(":{}", fabric.links);
    }
    return text + (fabric.link_gbs ? fmt::format("@{}GB/s", *fabric.link_gbs) : "");
}

}  // namespace

GrammarSpec parse_grammar(std::string_view text) {
    return Parser(text).parse();
}

std::string print_grammar(const GrammarSpec& spec) {
    auto text = fmt::format("sim:gpu={}", spec.gpus);
    if (spec.model) {
        auto model = *spec.model;
        std::replace(model.begin(), model.end(), ' ', '_');
        text += ",model=" + model;
    }
    text += spec.sockets != 1 ? fmt::format(",socket={}", spec.sockets) : "";
    text += spec.numas != spec.sockets ? fmt::format(",numa={}", spec.numas) : "";
    text += spec.hosts != spec.numas ? fmt::format(",host={}", spec.hosts) : "";
    text += spec.switches != 0 ? fmt::format(",switch={}", spec.switches) : "";
    auto const link = [](const PcieLink& l) { return fmt::format("gen{}x{}", l.generation, l.width); };
    text += spec.link != PcieLink{} ? ",link=" + link(spec.link) : "";
    text += spec.switches != 0 && spec.uplink != spec.link ? ",uplink=" + link(spec.uplink) : "";
    text += spec.fabric.shape != GrammarFabric::Shape::none ? "," + print_fabric(spec.fabric) : "";
    text += spec.peer_access ? (*spec.peer_access ? ",p2p=yes" : ",p2p=no") : "";
    return text;
}

std::vector<GrammarFabric::Edge> fabric_edges(const GrammarSpec& spec) {
    using Shape = GrammarFabric::Shape;
    std::vector<GrammarFabric::Edge> edges;
    auto const links = spec.fabric.links;
    switch (spec.fabric.shape) {
        case Shape::pairs:
            for (int a = 0; a + 1 < spec.gpus; a += 2) {
                edges.push_back({a, a + 1, links});
            }
            break;
        case Shape::ring:
            for (int a = 0; a < spec.gpus; ++a) {
                edges.push_back({std::min(a, (a + 1) % spec.gpus), std::max(a, (a + 1) % spec.gpus), links});
            }
            break;
        case Shape::mesh:
            for (int a = 0; a < spec.gpus; ++a) {
                for (int b = a + 1; b < spec.gpus; ++b) {
                    edges.push_back({a, b, links});
                }
            }
            break;
        case Shape::cube:  // two full squares of four, and each corner to its image
            for (int corner = 0; corner < 4; ++corner) {
                for (int other = corner + 1; other < 4; ++other) {
                    edges.push_back({corner, other, links});
                    edges.push_back({corner + 4, other + 4, links});
                }
                edges.push_back({corner, corner + 4, links});
            }
            break;
        case Shape::list:
            return spec.fabric.edges;
        case Shape::none:
        case Shape::center:
            break;
    }
    return edges;
}

}  // namespace peerlane::read
