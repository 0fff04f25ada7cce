#include <fmt/format.h>
#include <peerlane/plan.hpp>
#include <peerlane/units.hpp>

namespace peerlane {

const char* to_string(Engine engine) {
    return engine == Engine::copy ? "copy" : "kernel";
}

std::string describe(const Leg& leg) {
    auto const* by = leg.engine == Engine::copy ? "" : " by kernel";
    if (leg.from.is_device() && leg.to.is_device() && leg.from != leg.to) {
        return fmt::format("{} > {}, {} by {}{}", to_string(leg.from), to_string(leg.to),
                           leg.issuer == leg.from ? "pushed" : "pulled", to_string(leg.issuer),
                           leg.engine == Engine::copy ? "" : "'s kernel");
    }
    return fmt::format("{} > {}{}", to_string(leg.from), to_string(leg.to), by);
}

std::string describe(const Route& route) {
    if (route.legs.size() == 1) {
        auto const& leg = route.legs[0];
        auto const between_devices = leg.from.is_device() && leg.to.is_device() && leg.from != leg.to;
        return between_devices ? fmt::format("direct, {} by {}{}", leg.issuer == leg.from ? "pushed" : "pulled",
                                             to_string(leg.issuer), leg.engine == Engine::copy ? "" : "'s kernel")
                               : describe(leg);
    }
    std::string through;
    for (std::size_t i = 0; i + 1 < route.legs.size(); ++i) {
        through += (i == 0 ? "" : ", ") + to_string(route.legs[i].to);
    }
    auto const relay = route.legs[0].to.is_device();
    auto const way = fmt::format("{} through {}", relay ? "relayed" : "staged", through);
    return route.chunk == 0 ? way
                            : fmt::format("{}, {} chunks, {} buffers", way, size_text(route.chunk), route.buffers);
}

std::string describe(const std::vector<Route>& routes) {
    if (routes.size() == 1) {
        return describe(routes.front());
    }
    std::string text;
    for (auto const& route : routes) {
        text += fmt::format("{}{:.1f} % {}", text.empty() ? "" : " + ", route.share * 100, describe(route));
    }
    return text;
}

std::string brief(const std::vector<Route>& routes) {
    std::string text;
    for (auto const& route : routes) {
        auto const& leg = route.legs.front();
        auto way = std::string("direct");
        if (route.legs.size() > 1) {
            way = fmt::format("{} {}", leg.to.is_device() ? "relay" : "staged", to_string(leg.to));
        } else if (leg.from.is_device() && leg.to.is_device() && leg.from != leg.to) {
            way = fmt::format("{}{}", leg.issuer == leg.from ? "push" : "pull",
                              leg.engine == Engine::copy ? "" : " by kernel");
        } else if (leg.engine == Engine::kernel) {
            way = "direct by kernel";
        }
        text +=
            routes.size() == 1 ? way : fmt::format("{}{:.1f} % {}", text.empty() ? "" : " + ", route.share * 100, way);
    }
    return text;
}

std::string Plan::explain() const {
    std::string text;
    for (auto const& choice : choices) {
        text +=
            fmt::format("{} from {} to {}\n", size_text(choice.bytes), to_string(request.from), to_string(request.to));
        for (auto const& route : choice.routes) {
            text += choice.routes.size() > 1 ? fmt::format("  use {:.1f} %: {}\n", route.share * 100, describe(route))
                                             : fmt::format("  use {}\n", describe(route));
        }
        if (!choice.routes.empty()) {
            text += fmt::format("  predicted {} ({} GB/s)\n", seconds_text(choice.predicted_s),
                                gbs_text(choice.predicted_gbs));
        }
        for (auto const& why : choice.why) {
            text += fmt::format("  because {}\n", why);
        }
        for (auto const& rejected : choice.rejected) {
            auto const routes = describe(rejected.routes);
            text += rejected.predicted_s ? fmt::format("  not {}: {} ({})\n", routes,
                                                       seconds_text(*rejected.predicted_s), rejected.reason)
                                         : fmt::format("  not {}: {}\n", routes, rejected.reason);
        }
    }
    return text;
}

}  // namespace peerlane
