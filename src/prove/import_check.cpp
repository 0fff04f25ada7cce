// Memory of another process: exported from the middle of an allocation of the owner, imported for the accessor.

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/units.hpp>

#include "kernels/check.hpp"
#include "kernels/fill.hpp"
#include "prove/run.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint64_t bytes = 4096;
/// Not the start of anything: an importer that loses the offset sees other bytes.
constexpr std::uint64_t offset = 1024 * 1024 + 528;
constexpr std::uint64_t allocation = 2 * 1024 * 1024;

MappingWay way_of(const char* way, Result result, std::string reason = {}, std::optional<int> code = std::nullopt) {
    return {way, result, code, std::move(reason)};
}

/// What the accessor's own kernel finds at the imported address.
CheckOutcome look_from_afar(Run& run, Address at, Pattern expected) {
    auto& driver = run.bench.driver();
    CheckOutcome found{0, bytes, 0, 0};
    driver.write_host(run.bench.pinned(), &found, sizeof found);
    CheckArguments const look{at, bytes, expected, {}, run.bench.pinned()};
    driver.launch(run.bench.side(run.step.accessor).stream.view(), check_kernel, &look);
    run.bench.wait(run.step.accessor);
    driver.read_host(run.bench.pinned(), &found, sizeof found);
    return found;
}

MappingWay reach(Run& run, const char* way, Partner& partner, Address at, Pattern marker) {
    auto const& step = run.step;
    if (auto const found = look_from_afar(run, at, marker); found.bad != 0) {
        return way_of(way, Result::wrong,
                      fmt::format("{} of {} bytes that the other process wrote on device {} are wrong for device {}",
                                  found.bad, bytes, step.owner, step.accessor));
    }
    Pattern const stored{mix64(marker.key), 0};
    FillArguments const arguments{at, bytes, stored, 16};
    run.bench.driver().launch(run.bench.side(step.accessor).stream.view(), fill_kernel, &arguments);
    run.bench.wait(step.accessor);
    auto const found = partner.look(stored, marker);
    return found.bad == 0
               ? way_of(way, Result::ok)
               : way_of(way, Result::wrong,
                        fmt::format("{} of {} bytes that device {} stored are wrong for the process that owns them",
                                    found.bad, bytes, step.accessor));
}

Result of_refusal(int error_code) {
    return error_code == code::peer_access_unsupported || error_code == code::not_supported ? Result::no
                                                                                            : Result::error;
}

MappingWay import_way(Run& run, const char* way, MemoryKind kind) {
    auto& driver = run.bench.driver();
    auto const& step = run.step;
    auto& partner = run.partners.get();
    run.bench.allow(run.limits.seconds_per_size);  // not the time that a second process takes to start

    Pattern const marker{pattern_key(step.seed, static_cast<std::uint64_t>(step.accessor) << 32 | 0x696d70U,
                                     static_cast<std::uint64_t>(step.owner) << 8 | static_cast<std::uint64_t>(kind)),
                         0};
    std::string reason;
    auto const exported = partner.offer({step.owner, kind, allocation, offset, bytes, marker}, reason);
    if (!exported.usable()) {
        return way_of(way, exported.code == code::out_of_memory ? Result::skipped : of_refusal(exported.code), reason,
                      exported.code);
    }
    auto const imported = driver.import_memory(exported.handle, step.accessor);
    if (!imported.usable()) {
        partner.withdraw();
        return way_of(way, of_refusal(imported.code),
                      fmt::format("device {} could not import memory of device {} from another process: {}, code {}",
                                  step.accessor, step.owner, code_text(imported.code), imported.code),
                      imported.code);
    }
    auto result = reach(run, way, partner, imported.at, marker);
    driver.close_import(imported.at);  // first, for plain memory must not be freed under an import
    partner.withdraw();
    return result;
}

MappingWay guarded(Run& run, const char* way, MemoryKind kind) {
    try {
        return import_way(run, way, kind);
    } catch (const NoPartner& none) {
        run.partners.drop();
        return way_of(way, Result::skipped, none.reason);
    } catch (const TimeUp&) {
        run.partners.drop();
        run.bench.abandon();
        return way_of(way, Result::hang, fmt::format("not done after {}", seconds_text(run.limits.seconds_per_size)));
    } catch (const Error& error) {
        run.partners.drop();
        if (error.info().sticky) {
            run.bench.abandon();
        }
        return way_of(way, Result::error, error.what(), error.code());
    }
}

}  // namespace

MappingWay import_legacy_way(Run& run) {
    return guarded(run, "import_legacy", MemoryKind::plain);
}

MappingWay import_virtual_way(Run& run) {
    auto const owner = run.step.owner;
    if (!run.bench.driver().capabilities(owner).virtual_memory) {
        return way_of("import_virtual", Result::skipped,
                      fmt::format("device {} has no virtual memory management", owner));
    }
    return guarded(run, "import_virtual", MemoryKind::virtual_memory);
}

}  // namespace peerlane::prove
