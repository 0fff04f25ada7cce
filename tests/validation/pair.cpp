// Two H200 as they were measured on 2026-11-30 (bench/results holds other runs of the same pair). "fitted" marks the
// rows that constants of h200-pair were chosen on: large copies, and pushing by size.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/units.hpp>

#include "pair_runs.hpp"
#include "pair_tables.hpp"

namespace peerlane::validation {
namespace {

constexpr double giga = 1e9;

Table large_copies() {
    auto result = pair_table("large copies");
    add(
        result, "pushed, 1 GiB", 396.7, [](Driver& d) { return first_rate(d, {push(0, 1)}); }, true);
    add(
        result, "pulled, 1 GiB", 395.6, [](Driver& d) { return first_rate(d, {pull(0, 1)}); }, true);
    add(
        result, "device to host alone", 55.3,
        [](Driver& d) {
            return first_rate(d, {{gpu(0), host(), 0}});
        },
        true);
    add(
        result, "host to device alone", 55.5,
        [](Driver& d) {
            return first_rate(d, {{host(), gpu(0), 0}});
        },
        true);
    for (auto const& [ctas, gbs] : {std::pair(8U, 353.0), std::pair(16U, 348.0), std::pair(32U, 353.0),
                                    std::pair(64U, 366.0), std::pair(132U, 370.0)}) {
        auto const grid = ctas;
        add(
            result, fmt::format("kernel push, {} blocks", ctas), gbs,
            [grid](Driver& d) { return kernel_rate(d, 0, grid); }, true);
    }
    for (auto const& [ctas, gbs] : {std::pair(8U, 203.0), std::pair(16U, 359.0), std::pair(32U, 373.0),
                                    std::pair(64U, 374.0), std::pair(132U, 375.0)}) {
        auto const grid = ctas;
        add(
            result, fmt::format("kernel pull, {} blocks", ctas), gbs,
            [grid](Driver& d) { return kernel_rate(d, 1, grid); }, true);
    }
    return result;
}

Table together() {
    auto result = pair_table("both directions, and host legs together");
    add(result, "0>1 and 1>0 at once, sum", 784, [](Driver& d) { return sum_of_rates(d, {push(0, 1), push(1, 0)}); });
    add(result, "out of 0 while into 1", 53.1, [](Driver& d) {
        return first_rate(d, {{gpu(0), host(), 0}, {host(), gpu(1), 1}});
    });
    add(result, "into 1 while out of 0", 53.1, [](Driver& d) {
        return first_rate(d, {{host(), gpu(1), 1}, {gpu(0), host(), 0}});
    });
    return result;
}

struct BySize {
    std::uint64_t bytes;
    double push, pull, copy_us, kernel_us;
};
constexpr BySize by_size_rows[] = {{4_KiB, 1.40, 0.66, 11.4, 10.0},   {64_KiB, 23.0, 10.5, 11.2, 10.1},
                                   {256_KiB, 90.4, 33.7, 11.8, 10.7}, {1_MiB, 222, 101, 14.0, 13.4},
                                   {4_MiB, 320, 226, 21.7, 21.6},     {16_MiB, 361, 322, 54.9, 55.3},
                                   {64_MiB, 388, 372, 182, 192}};

Table by_size(const std::string& title, double BySize::*column, bool fitted) {
    auto result = pair_table(title);
    for (auto const& row : by_size_rows) {
        auto const bytes = row.bytes;
        // Fixed costs are read off the smallest row, for they show nowhere else; how long a pull takes to get going was
        // chosen with sight of the rows from 256 KiB to 4 MiB.
        auto const taken = fitted || bytes == 4_KiB || (column == &BySize::pull && bytes >= 256_KiB && bytes <= 4_MiB);
        std::function<double(Driver&)> play;
        if (column == &BySize::push || column == &BySize::pull) {
            auto const issuer = column == &BySize::push ? 0 : 1;
            play = [bytes, issuer](Driver& d) { return back_to_back(d, issuer, bytes); };
        } else if (column == &BySize::copy_us) {
            play = [bytes](Driver& d) { return 1e6 * copy_and_wait(d, bytes); };
        } else {
            play = [bytes](Driver& d) { return 1e6 * kernel_and_wait(d, bytes); };
        }
        add(result, fmt::format("{} KiB", bytes / 1_KiB), row.*column, play, taken);
    }
    return result;
}

Table through_host() {
    auto result = pair_table("through pinned memory, by chunk");
    for (auto const& [chunk, gbs] :
         {std::pair(256_KiB, 28.5), std::pair(1_MiB, 44.7), std::pair(4_MiB, 52.0), std::pair(16_MiB, 53.4)}) {
        auto const bytes = chunk;
        add(
            result, fmt::format("own pipeline, {} KiB, 4 slots", chunk / 1_KiB), gbs,
            [bytes](Driver& d) { return static_cast<double>(1_GiB) / staged(d, 1_GiB, bytes, 4) / giga; },
            bytes == 256_KiB);  // the fixed cost of a leg is read off it
    }
    add(result, "two plain copies joined by the host", 27.7,
        [](Driver& d) { return static_cast<double>(1_GiB) / staged(d, 1_GiB, 1_GiB, 1) / giga; });
    return result;
}

Table split() {
    auto result = pair_table("split: NVLink and a host lane, ratio to the plain copy");
    struct Row {
        std::uint64_t total, chunk;
        double ratio[7];
    };
    constexpr int shares[] = {4, 6, 8, 9, 10, 11, 12};
    constexpr Row rows[] = {{32_MiB, 512_KiB, {1.04, 1.01, 0.86, 0.80, 0.76, 0.69, 0.63}},
                            {64_MiB, 1_MiB, {1.04, 1.06, 1.07, 0.93, 0.93, 0.84, 0.76}},
                            {128_MiB, 2_MiB, {1.04, 1.06, 1.08, 1.07, 1.07, 0.94, 0.85}},
                            {256_MiB, 4_MiB, {1.05, 1.06, 1.08, 1.10, 1.10, 1.02, 0.91}},
                            {512_MiB, 4_MiB, {1.04, 1.07, 1.08, 1.10, 1.11, 1.09, 1.02}},
                            {1_GiB, 8_MiB, {1.04, 1.07, 1.08, 1.10, 1.11, 1.12, 1.06}},
                            {2_GiB, 8_MiB, {1.04, 1.07, 1.08, 1.10, 1.11, 1.12, 1.06}}};
    for (auto const& row : rows) {
        for (std::size_t i = 0; i < std::size(shares); ++i) {
            auto const total = row.total;
            auto const chunk = row.chunk;
            auto const share = shares[i];
            add(result, fmt::format("{} MiB, {} %", total / 1_MiB, share), row.ratio[i],
                [total, chunk, share](Driver& d) { return split_ratio(d, total, chunk, share / 100.0); });
        }
    }
    return result;
}

Table helped() {
    auto result = pair_table("host copies with the other device's link helping");
    add(result, "in, half in chunks of 16 MiB over device 1", 107.9,
        [](Driver& d) { return helped_in(d, 1_GiB, 16_MiB); });
    add(result, "out", 107.8, [](Driver& d) { return helped_out(d, 1_GiB, 16_MiB); });
    return result;
}

Table pages() {
    auto result = pair_table("blocks, scattered: loop of copies, one batch call");
    // Host costs of these calls show nowhere else: they were chosen on these rows, so none is judged.
    for (auto const& [bytes, loop, batch] :
         {std::tuple(4_KiB, 1.7, 4.1), std::tuple(16_KiB, 6.5, 16.0), std::tuple(64_KiB, 24.5, 86.3)}) {
        auto const block = bytes;
        add(
            result, fmt::format("{} KiB, loop", bytes / 1_KiB), loop,
            [block](Driver& d) { return page_loop(d, block); }, true);
        add(
            result, fmt::format("{} KiB, batch", bytes / 1_KiB), batch,
            [block](Driver& d) { return page_batch(d, block); }, true);
    }
    return result;
}

Table kernel_pages() {
    auto result = pair_table("blocks, scattered: one kernel with index arrays");
    struct Row {
        std::uint64_t block;
        double by_32, by_132;
    };
    // What a piece costs was read off the smallest one, for it shows nowhere else.
    for (auto const& row : {Row{512, 210, 250}, Row{2_KiB, 333, 336}, Row{4_KiB, 352, 352}, Row{16_KiB, 367, 366},
                            Row{64_KiB, 368, 368}}) {
        auto const block = row.block;
        add(
            result, fmt::format("{} B, 32 blocks", block), row.by_32,
            [block](Driver& d) { return page_kernel(d, block, 32); }, block == 512);
        add(
            result, fmt::format("{} B, 132 blocks", block), row.by_132,
            [block](Driver& d) { return page_kernel(d, block, 132); }, block == 512);
    }
    return result;
}

Table driver_staging() {
    auto result = pair_table("nothing enabled: staged by the driver");
    result.access = false;
    add(result, "peer copy, 1 GiB", 37.3, [](Driver& d) { return first_rate(d, {push(0, 1)}); });
    return result;
}

Table strides() {
    auto result = pair_table("4-byte reads of device 1 by stride, useful GB/s");
    struct Row {
        std::uint64_t stride;
        double local, remote;
    };
    // Rate of issue, least burst of the memory, header of a packet and the cache's part were chosen with sight of the
    // rows marked here.
    for (auto const& row :
         {Row{4, 1682, 359}, Row{8, 1587, 186}, Row{32, 566, 46.7}, Row{128, 247, 35.2}, Row{4096, 485, 31.3}}) {
        auto const stride = row.stride;
        add(
            result, fmt::format("stride {}, local", stride), row.local,
            [stride](Driver& d) { return useful_reads(d, 1, stride); }, stride != 8 && stride != 32);
        add(
            result, fmt::format("stride {}, remote", stride), row.remote,
            [stride](Driver& d) { return useful_reads(d, 0, stride); }, stride == 128);
    }
    return result;
}

Table touches() {
    auto result = pair_table("256 MiB touched by device 1, us");
    struct Row {
        unsigned times;
        double local, remote, copied;
    };
    for (auto const& row :
         {Row{1, 66, 725, 755}, Row{2, 125, 1440, 813}, Row{4, 245, 2875, 933}, Row{8, 481, 5739, 1169}}) {
        auto const times = row.times;
        add(result, fmt::format("local, {} times", times), row.local,
            [times](Driver& d) { return 1e6 * touched(d, 1, times, false); });
        add(result, fmt::format("remote, {} times", times), row.remote,
            [times](Driver& d) { return 1e6 * touched(d, 0, times, false); });
        add(result, fmt::format("copied, then local, {} times", times), row.copied,
            [times](Driver& d) { return 1e6 * touched(d, 0, times, true); });
    }
    return result;
}

}  // namespace

std::vector<Table> pair_tables() {
    std::vector<Table> tables{large_copies(),
                              together(),
                              by_size("by size, pushed, back to back", &BySize::push, true),
                              by_size("by size, pulled, back to back", &BySize::pull, false),
                              by_size("by size, one pushed copy and its wait, us", &BySize::copy_us, false),
                              by_size("by size, one kernel and its wait, us", &BySize::kernel_us, false),
                              through_host(),
                              split(),
                              helped(),
                              pages(),
                              kernel_pages(),
                              driver_staging(),
                              strides(),
                              touches()};
    for (auto& table : concurrent_tables()) {
        tables.push_back(std::move(table));
    }
    return tables;
}

}  // namespace peerlane::validation
