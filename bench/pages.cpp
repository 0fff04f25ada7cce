// Thousands of scattered pages of one pair: ours against a loop of copies, the batch call, and gather + copy + scatter,
// in one interleaved run; what posting costs the host; pages beside compute.
//
//   pages [--simulated MACHINE] [OUT.json]

#include <numeric>
#include <random>
#include <string>

#include <fmt/format.h>
#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>
#include <peerlane/units.hpp>

#include "bench_main.hpp"
#ifdef PEERLANE_BENCH_PEERS
#include "pages_peers.hpp"
#endif

namespace {

using namespace peerlane;

constexpr std::uint64_t pages_of_a_list = 16384;
constexpr int rounds = 7;
/// So many that starting and waiting weigh little.
int in_a_row(std::uint64_t bytes) {
    return static_cast<int>(std::clamp<std::uint64_t>(512 * MiB / bytes, 8, 64));
}

/// Memory on both devices, lists of both sides, and everything that moves them.
class Bench {
  public:
    explicit Bench(Driver& driver)
        : driver_(driver),
          from_(driver, {gpu(0), room}),
          to_(driver, {gpu(1), room}),
          between_(driver, {gpu(0), 1 * GiB}),
          arrived_(driver, {gpu(1), 1 * GiB}),
          pinned_(driver, {host(), 1 * GiB, MemoryKind::pinned}),
          source_(driver, 0),
          destination_(driver, 1),
          other_(driver, 0),
          lists_(driver, {gpu(0), 4 * MiB}),
          far_lists_(driver, {gpu(1), 4 * MiB}),
          mover_(driver, {driver.machine(), {}, true}) {
        to_index_ = shuffled(1);
        from_index_ = shuffled(2);
        upload(lists_, source_);
        upload(far_lists_, destination_);
    }

    bench::Report run() {
        bench::Report report;
        report.driver = driver_.description();
        report.machine = fmt::format("{} x {}", driver_.device_count(),
                                     driver_.machine().devices.front().model.value_or("unknown device"));
        staged_rows(report);
        driver_.enable_access({0, 1});
        driver_.enable_access({1, 0});
        for (int i = 0; i < 20; ++i) {  // clocks come up before anything is timed
            (void)large(raw());
        }
        report.rows.push_back(bench::interleave("large copy", 1 * GiB, {"ours", [&] { return large(mover_copy()); }},
                                                {{"raw push", [&] { return large(raw()); }}}, rounds));
        for (auto const page : {std::uint64_t{512}, 2_KiB, 4_KiB, 16_KiB, 64_KiB}) {
            page_rows(report, page);
        }
        host_rows(report);
        layer_rows(report);
        return report;
    }

  private:
    static constexpr std::uint64_t room = 4 * GiB;
    using Work = std::function<void()>;

    static std::vector<std::int32_t> shuffled(unsigned seed) {
        std::vector<std::int32_t> all(2 * pages_of_a_list);
        std::iota(all.begin(), all.end(), 0);
        std::shuffle(all.begin(), all.end(), std::mt19937(seed));
        all.resize(pages_of_a_list);
        return all;
    }
    void upload(const Allocation& lists, const Stream& stream) {
        auto const bytes = pages_of_a_list * 4;
        driver_.write_host(pinned_.address(), to_index_.data(), bytes);
        driver_.write_host(pinned_.address() + bytes, from_index_.data(), bytes);
        driver_.copy(stream.view(), {lists.location(), pinned_.location(), 2 * bytes, CopyApi::automatic});
        driver_.synchronize(stream.view());
    }
    [[nodiscard]] Address to_list(const Allocation& lists) const { return lists.address(); }
    [[nodiscard]] Address from_list(const Allocation& lists) const { return lists.address() + pages_of_a_list * 4; }

    double timed(const Stream& stream, int times, const Work& work) {
        auto const start = driver_.now();
        for (int i = 0; i < times; ++i) {
            work();
        }
        driver_.synchronize(stream.view());
        return (driver_.now() - start) / times;
    }
    double large(const Work& work) { return timed(source_, 1, work); }
    Work raw() {
        return [&] { driver_.copy(source_.view(), {to_.location(), from_.location(), 1 * GiB, CopyApi::peer}); };
    }
    Work mover_copy() {
        return [&] { mover_.copy(pointer_to(to_.address()), pointer_to(from_.address()), 1 * GiB, source_.view()); };
    }

    PageCopy list(std::uint64_t page, Address to, Address from, const Allocation* device_lists) const {
        PageCopy copy;
        copy.dst = pointer_to(to);
        copy.src = pointer_to(from);
        copy.page_bytes = page;
        copy.count = pages_of_a_list;
        copy.dst_index = device_lists != nullptr ? static_cast<const std::int32_t*>(pointer_to(to_list(*device_lists)))
                                                 : to_index_.data();
        copy.src_index = device_lists != nullptr
                             ? static_cast<const std::int32_t*>(pointer_to(from_list(*device_lists)))
                             : from_index_.data();
        return copy;
    }
    Location page_at(const Allocation& memory, std::int32_t number, std::uint64_t page) const {
        return memory.location(static_cast<std::uint64_t>(number) * page);
    }

    /// What people write today, over `page`-sized pages.
    std::vector<std::pair<std::string, Work>> peers(std::uint64_t page) {
        std::vector<std::pair<std::string, Work>> all;
        all.emplace_back("batch call", [this, page] {
            std::vector<CopyRequest> requests;
            requests.reserve(pages_of_a_list);
            for (std::size_t i = 0; i < pages_of_a_list; ++i) {
                requests.push_back(
                    {page_at(to_, to_index_[i], page), page_at(from_, from_index_[i], page), page, CopyApi::automatic});
            }
            driver_.copy_batch(source_.view(), requests);
        });
        all.emplace_back("loop of copies", [this, page] {
            for (std::size_t i = 0; i < pages_of_a_list; ++i) {
                driver_.copy(source_.view(), {page_at(to_, to_index_[i], page), page_at(from_, from_index_[i], page),
                                              page, CopyApi::automatic});
            }
        });
#ifdef PEERLANE_BENCH_PEERS
        if (!driver_.simulated()) {
            for (auto const element : {2U, 4U}) {
                all.emplace_back(fmt::format("gather, copy, scatter ({}-byte elements)", element),
                                 [this, page, element] { gather_copy_scatter(page, element); });
            }
            auto arrays = std::make_shared<Arrays>();
            for (std::size_t i = 0; i < pages_of_a_list; ++i) {
                arrays->to.push_back(pointer_to(page_at(to_, to_index_[i], page).address));
                arrays->from.push_back(pointer_to(page_at(from_, from_index_[i], page).address));
                arrays->sizes.push_back(page);
            }
            for (auto const& [name, call] : {std::pair("batch call, 12.8 signature", &bench::batch_12_8),
                                             std::pair("batch call, 13 signature", &bench::batch_13)}) {
                if (call(source_.view(), arrays->to, arrays->from, arrays->sizes)) {
                    driver_.synchronize(source_.view());
                    all.emplace_back(name, [this, call = call, arrays] {
                        (void)call(source_.view(), arrays->to, arrays->from, arrays->sizes);
                    });
                }
            }
        }
#endif
        return all;
    }

#ifdef PEERLANE_BENCH_PEERS
    struct Arrays {
        std::vector<void*> to{};
        std::vector<const void*> from{};
        std::vector<std::size_t> sizes{};
    };
    void gather_copy_scatter(std::uint64_t page, unsigned element) {
        bench::index_select(source_.view(), between_.address(), from_.address(), from_list(lists_), pages_of_a_list,
                            page, element);
        driver_.copy(source_.view(), {arrived_.location(), between_.location(), pages_of_a_list * page, CopyApi::peer});
        driver_.record(gathered_.view(), source_.view());
        driver_.wait(destination_.view(), gathered_.view());
        bench::index_put(destination_.view(), to_.address(), arrived_.address(), to_list(far_lists_), pages_of_a_list,
                         page, element);
        driver_.record(scattered_.view(), destination_.view());
        driver_.wait(source_.view(), scattered_.view());
    }
#endif

    void page_rows(bench::Report& report, std::uint64_t page) {
        auto const pushed = [this, page] {
            mover_.copy_pages(list(page, to_.address(), from_.address(), &lists_), source_.view());
        };
        auto const pulled = [this, page] {
            mover_.copy_pages(list(page, to_.address(), from_.address(), &far_lists_), destination_.view());
        };
        // As chosen: the list is posted by the side that the mover would have move it.
        auto const choice = mover_.choose_pages(gpu(0), gpu(1), pages_of_a_list * page, page);
        auto const by_destination = choice.routes.front().legs.front().issuer == gpu(1);
        auto const& stream = by_destination ? destination_ : source_;
        auto const ours = by_destination ? Work(pulled) : Work(pushed);
        auto const ours_host = [this, page, &stream] {
            mover_.copy_pages(list(page, to_.address(), from_.address(), nullptr), stream.view());
        };
        std::vector<bench::Contender> others;
        for (auto& [name, work] : peers(page)) {
            others.push_back({name, [this, work = work] { return timed(source_, 1, work); }});
        }
        others.push_back({"raw copy of as many bytes", [this, page] {
                              return timed(source_, in_a_row(pages_of_a_list * page), [&] {
                                  driver_.copy(source_.view(), {to_.location(), from_.location(),
                                                                pages_of_a_list * page, CopyApi::peer});
                              });
                          }});
        auto const bytes = pages_of_a_list * page;
        auto const name = size_word(page);
        auto const add = [&](const char* how, int times, const Stream& on, const Work& work,
                             const std::vector<bench::Contender>& against, int runs) {
            report.rows.push_back(bench::interleave(fmt::format("pages of {}, {}", name, how), bytes,
                                                    {"ours", [&] { return timed(on, times, work); }}, against, runs));
        };
        add("back to back", in_a_row(bytes), stream, ours, others, rounds);
        add("one list synchronised", 1, stream, ours, {}, 5 * rounds);
        add("from a stream of the source, back to back", in_a_row(bytes), source_, pushed, {}, rounds);
        add("numbers on the host, back to back", in_a_row(bytes), stream, ours_host, {}, rounds);
    }

    /// Nothing mapped: our pipeline through pinned memory against our staged copy of the same bytes.
    void staged_rows(bench::Report& report) {
        constexpr std::uint64_t page = 16 * KiB;
        Mover unmapped(driver_, staged_only());
        auto const pages = [&] {
            unmapped.copy_pages(list(page, to_.address(), from_.address(), nullptr), source_.view());
        };
        auto const copy = [&] {
            unmapped.copy(pointer_to(to_.address()), pointer_to(from_.address()), pages_of_a_list * page,
                          source_.view());
        };
        report.rows.push_back(bench::interleave("pages of 16KiB, nothing mapped", pages_of_a_list * page,
                                                {"ours", [&] { return timed(source_, 1, pages); }},
                                                {{"our staged copy", [&] { return timed(source_, 1, copy); }}},
                                                rounds));
    }
    [[nodiscard]] Ready staged_only() const {
        Ready ready{driver_.machine(), {}, false};
        for (auto const& pair : ready.machine.pairs) {
            PairVerdict verdict;
            verdict.accessor = pair.accessor;
            verdict.owner = pair.owner;
            ready.verdicts.pairs.push_back(verdict);
            ControlVerdict control{pair.accessor, pair.owner, {}};
            control.staged.result = Result::ok;
            ready.verdicts.control.push_back(control);
        }
        return ready;
    }

    void host_rows(bench::Report& report) {
        constexpr std::uint64_t page = 16 * KiB;
        auto const bytes = pages_of_a_list * page;
        auto to_host = list(page, pinned_.address(), from_.address(), &lists_);
        auto from_host = list(page, from_.address(), pinned_.address(), &lists_);
        // Half of the memory only: numbers below its pages.
        auto const halve = [&](PageCopy& copy, bool out) { (out ? copy.dst_index : copy.src_index) = {}; };
        to_host.count = from_host.count = pages_of_a_list;
        halve(to_host, true);
        halve(from_host, false);
        report.rows.push_back(bench::interleave(
            "pages of 16KiB to the host", bytes,
            {"ours", [&] { return timed(source_, 2, [&] { mover_.copy_pages(to_host, source_.view()); }); }},
            {{"raw copy of as many bytes",
              [&] {
                  return timed(source_, 2, [&] {
                      driver_.copy(source_.view(), {pinned_.location(), from_.location(), bytes, CopyApi::automatic});
                  });
              }}},
            rounds));
        report.rows.push_back(bench::interleave(
            "pages of 16KiB from the host", bytes,
            {"ours", [&] { return timed(source_, 2, [&] { mover_.copy_pages(from_host, source_.view()); }); }},
            {{"raw copy of as many bytes",
              [&] {
                  return timed(source_, 2, [&] {
                      driver_.copy(source_.view(), {from_.location(), pinned_.location(), bytes, CopyApi::automatic});
                  });
              }}},
            rounds));
        for (std::uint64_t const count : {std::uint64_t{16384}, std::uint64_t{100000}}) {
            std::vector<std::int32_t> numbers(count);
            std::iota(numbers.begin(), numbers.end(), 0);
            std::shuffle(numbers.begin(), numbers.end(), std::mt19937(5));
            Allocation const on_device(driver_, {gpu(0), count * 4});
            driver_.write_host(pinned_.address(), numbers.data(), count * 4);
            driver_.copy(source_.view(), {on_device.location(), pinned_.location(), count * 4, CopyApi::automatic});
            driver_.synchronize(source_.view());
            auto copy = list(4096, to_.address(), from_.address(), nullptr);
            copy.count = count;
            auto const submit = [&](const std::int32_t* at) {
                copy.dst_index = copy.src_index = at;
                auto const start = driver_.now();
                mover_.copy_pages(copy, source_.view());
                auto const taken = driver_.now() - start;
                driver_.synchronize(source_.view());
                return taken;
            };
            auto const* const device_numbers = static_cast<const std::int32_t*>(pointer_to(on_device.address()));
            report.rows.push_back(
                bench::interleave(fmt::format("host time of a list of {}, numbers on the device", count), 0,
                                  {"ours", [&] { return submit(device_numbers); }}, {}, 5 * rounds));
            report.rows.push_back(
                bench::interleave(fmt::format("host time of a list of {}, numbers on the host", count), 0,
                                  {"ours", [&] { return submit(numbers.data()); }}, {}, 3 * rounds));
        }
    }

    /// One list for all layers of a model, posted in one call, and the same beside compute.
    struct Layers {
        std::string name;
        std::uint64_t layers, count, page;
    };
    void layer_rows(bench::Report& report) {
        layers_of(report, {"61 layers x 2 x 2048 pages of 4KiB", 122, 2048, 4 * KiB});
        // 131,072 tokens of 512 bytes a layer (latent attention) in blocks of 16 to 128 tokens.
        for (auto const page : {8_KiB, 16_KiB, 32_KiB, 64_KiB}) {
            layers_of(report, {"61 layers, 128k tokens, pages of " + size_word(page), 61, 131072 * 512 / page, page});
        }
    }

    void layers_of(bench::Report& report, const Layers& shape) {
        std::vector<void*> to;
        std::vector<const void*> from;
        for (std::uint64_t i = 0; i < shape.layers; ++i) {
            to.push_back(pointer_to(to_.address() + i * shape.count * shape.page));
            from.push_back(pointer_to(from_.address() + i * shape.count * shape.page));
        }
        auto prepared = mover_.prepare_pages({to.data(), from.data(), shape.layers, shape.page, 0, 0});
        std::vector<std::int32_t> numbers(2 * shape.count);
        for (auto const side : {0, 1}) {
            auto const begin = numbers.begin() + side * static_cast<std::ptrdiff_t>(shape.count);
            std::iota(begin, begin + static_cast<std::ptrdiff_t>(shape.count), 0);
            std::shuffle(begin, begin + static_cast<std::ptrdiff_t>(shape.count), std::mt19937(6 + side));
        }
        Allocation const on_device(driver_, {gpu(0), numbers.size() * 4});
        driver_.write_host(pinned_.address(), numbers.data(), numbers.size() * 4);
        driver_.copy(source_.view(),
                     {on_device.location(), pinned_.location(), numbers.size() * 4, CopyApi::automatic});
        driver_.synchronize(source_.view());
        auto const* const at = static_cast<const std::int32_t*>(pointer_to(on_device.address()));
        auto const post = [&] { return prepared.post(at, at + shape.count, shape.count, source_.view()); };
        auto const bytes = shape.layers * shape.count * shape.page;
        report.rows.push_back(bench::interleave(
            shape.name + ", posted at once", bytes, {"ours", [&] { return timed(source_, 2, [&] { (void)post(); }); }},
            {{"raw copy of as many bytes", [&] { return raw_of(bytes); }}}, rounds));
        report.rows.push_back(bench::interleave(shape.name + ", host time of the post", 0,
                                                {"ours",
                                                 [&] {
                                                     auto const start = driver_.now();
                                                     auto const ticket = post();
                                                     auto const taken = driver_.now() - start;
                                                     ticket.wait();
                                                     return taken;
                                                 }},
                                                {}, 5 * rounds));
#ifdef PEERLANE_BENCH_PEERS
        if (!driver_.simulated()) {
            Allocation const scratch(driver_, {gpu(0), 64 * MiB});
            auto const busy = [&] { bench::compute(other_.view(), scratch.address(), 160000, 132 * 8); };
            auto const both = [&](bool wait_for_compute) {
                driver_.synchronize_device(0);
                auto const start = driver_.now();
                busy();
                (void)post();
                driver_.synchronize(wait_for_compute ? other_.view() : source_.view());
                auto const taken = driver_.now() - start;
                driver_.synchronize_device(0);
                driver_.synchronize_device(1);
                return taken;
            };
            report.rows.push_back(bench::interleave(
                shape.name + ", while compute runs", bytes, {"ours", [&] { return both(false); }},
                {{"without compute", [&] { return timed(source_, 1, [&] { (void)post(); }); }}}, rounds));
            report.rows.push_back(bench::interleave(
                shape.name + ", compute meanwhile (as 1 MiB)", 1 * MiB, {"with pages", [&] { return both(true); }},
                {{"without pages", [&] { return timed(other_, 1, busy); }}}, rounds));
        }
#endif
    }
    double raw_of(std::uint64_t bytes) {
        return timed(source_, 2, [&] {
            driver_.copy(source_.view(), {to_.location(), from_.location(), bytes, CopyApi::peer});
        });
    }

    Driver& driver_;
    Allocation from_, to_, between_, arrived_, pinned_;
    Stream source_, destination_, other_;
    Allocation lists_, far_lists_;
    Event gathered_{driver_, 0}, scattered_{driver_, 1};
    Mover mover_;
    std::vector<std::int32_t> to_index_, from_index_;
};

}  // namespace

int main(int argc, char** argv) {
    return bench::main_of("pages", argc, argv, [](Driver& driver) { return Bench(driver).run(); });
}
