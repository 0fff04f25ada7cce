#pragma once
/// Random lists of blocks carried out by a Mover and compared byte for byte with what a host loop gives. For any
/// driver.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include <peerlane/driver/owned.hpp>
#include <peerlane/mover.hpp>

#include "kernels/kernel.hpp"

namespace peerlane::testing_lists {

using Bytes = std::vector<unsigned char>;

/// Verdicts in which only these kernel accesses are proven, everywhere; the host always is.
inline Ready proven(Driver& driver, bool store, bool load) {
    Ready ready{driver.machine(), {}, false};
    for (auto const& pair : ready.machine.pairs) {
        PairVerdict verdict;
        verdict.accessor = pair.accessor;
        verdict.owner = pair.owner;
        verdict[Check::store].result = verdict[Check::push].result = store ? Result::ok : Result::wrong;
        verdict[Check::load].result = verdict[Check::pull].result = load ? Result::ok : Result::wrong;
        ready.verdicts.pairs.push_back(verdict);
        ControlVerdict control{pair.accessor, pair.owner, {}};
        control.staged.result = Result::ok;
        ready.verdicts.control.push_back(control);
    }
    return ready;
}

class Oracle {
  public:
    static constexpr std::uint64_t room = 48 * 1024;
    static constexpr std::uint64_t lists_room = 16 * 1024;

    Oracle(Driver& driver, Mover& mover, Place from, Place to, int stream_device, std::uint64_t seed)
        : driver_(driver),
          mover_(mover),
          random_(seed),
          src_(driver, {from, room, from.is_host() ? MemoryKind::pinned : MemoryKind::plain}),
          dst_(driver, {to, room, to.is_host() ? MemoryKind::pinned : MemoryKind::plain}),
          lists_(driver, {gpu(stream_device), lists_room}),
          pinned_(driver, {host(), room, MemoryKind::pinned}),
          stream_(driver, stream_device),
          source_(room),
          poison_(room) {
        std::generate(source_.begin(), source_.end(), [&] { return static_cast<unsigned char>(random_()); });
        std::generate(poison_.begin(), poison_.end(), [&] { return static_cast<unsigned char>(random_()); });
        set(src_, source_);
    }

    /// One list of a random kind.
    void one() {
        set(dst_, poison_);
        expected_ = poison_;
        switch (random_() % 6) {
            case 0:
            case 1:
                pages(false);
                break;
            case 2:
                pages(true);
                break;
            case 3:
                segments();
                break;
            case 4:
                strided();
                break;
            default:
                layers();
        }
        driver_.synchronize(stream_.view());
        auto const found = get(dst_);
        auto const differs = std::mismatch(found.begin(), found.end(), expected_.begin());
        ASSERT_TRUE(differs.first == found.end())
            << what_ << ": first difference at byte " << differs.first - found.begin();
    }

  private:
    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    void set(const Allocation& memory, const Bytes& bytes) {
        if (memory.location().place.is_host()) {
            driver_.write_host(memory.address(), bytes.data(), bytes.size());
            return;
        }
        driver_.write_host(pinned_.address(), bytes.data(), bytes.size());
        driver_.copy(stream_.view(), {memory.location(), pinned_.location(), bytes.size(), CopyApi::automatic});
        driver_.synchronize(stream_.view());
    }
    Bytes get(const Allocation& memory) {
        Bytes bytes(memory.bytes());
        if (!memory.location().place.is_host()) {
            driver_.copy(stream_.view(), {pinned_.location(), memory.location(), bytes.size(), CopyApi::automatic});
            driver_.synchronize(stream_.view());
            driver_.read_host(pinned_.address(), bytes.data(), bytes.size());
        } else {
            driver_.read_host(memory.address(), bytes.data(), bytes.size());
        }
        return bytes;
    }
    unsigned char* to(std::uint64_t offset) { return static_cast<unsigned char*>(pointer_to(dst_.address() + offset)); }
    const unsigned char* from(std::uint64_t offset) {
        return static_cast<const unsigned char*>(pointer_to(src_.address() + offset));
    }
    void expect(std::uint64_t to_offset, std::uint64_t from_offset, std::uint64_t bytes) {
        std::memcpy(expected_.data() + to_offset, source_.data() + from_offset, bytes);
    }
    template <class T>
    const T* on_device(const std::vector<T>& list, std::uint64_t at) {
        driver_.write_host(pinned_.address(), list.data(), list.size() * sizeof(T));
        driver_.copy(stream_.view(),
                     {lists_.location(at), pinned_.location(), list.size() * sizeof(T), CopyApi::automatic});
        driver_.synchronize(stream_.view());
        return static_cast<const T*>(pointer_to(lists_.address() + at));
    }

    std::uint64_t some_size() {
        static constexpr std::uint64_t sizes[] = {1,  2,  3,  4,   7,   8,   12,  16,  17,  31,
                                                  32, 48, 64, 100, 128, 256, 512, 513, 1024};
        return sizes[below(std::size(sizes))];
    }

    struct Numbers {
        std::vector<std::int64_t> wide;
        std::vector<std::int32_t> narrow;
        PageIndices given;
    };
    /// Numbers below `fits`: different ones when `unique`; at times in runs, at times none at all (null).
    void number(Numbers& numbers, std::uint64_t count, std::uint64_t fits, bool unique, bool narrow, bool device,
                std::uint64_t at) {
        std::vector<std::int64_t> all(fits);
        std::iota(all.begin(), all.end(), 0);
        if (!unique) {
            for (auto& n : all) {
                n = static_cast<std::int64_t>(below(fits));
            }
        }
        auto const kind = below(4);
        if (kind == 0) {
            numbers.given = {};
            numbers.wide.resize(count);
            std::iota(numbers.wide.begin(), numbers.wide.end(), 0);
            return;
        }
        if (kind > 1) {
            std::shuffle(all.begin(), all.end(), random_);
        }
        numbers.wide.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
        numbers.narrow.assign(numbers.wide.begin(), numbers.wide.end());
        if (count == 0) {
            numbers.given = narrow ? PageIndices(numbers.narrow.data()) : PageIndices(numbers.wide.data());
        } else if (narrow) {
            numbers.given = device ? PageIndices(on_device(numbers.narrow, at)) : PageIndices(numbers.narrow.data());
        } else {
            numbers.given = device ? PageIndices(on_device(numbers.wide, at)) : PageIndices(numbers.wide.data());
        }
    }

    void pages(bool device) {
        PageCopy copy;
        copy.page_bytes = some_size();
        auto const gap = below(3) == 0 ? some_size() : 0;
        auto const to_at = below(2) * below(40), from_at = below(2) * below(40);
        copy.dst_pitch = copy.page_bytes + (below(2) != 0 ? gap : 0);
        copy.src_pitch = copy.page_bytes + gap;
        copy.dst = to(to_at);
        copy.src = from(from_at);
        auto const fits = [&](std::uint64_t pitch, std::uint64_t at) {
            return std::min<std::uint64_t>((room - at - copy.page_bytes) / pitch + 1, 200);
        };
        copy.count = below(fits(copy.dst_pitch, to_at) + 1);
        auto const from_fits = fits(copy.src_pitch, from_at);
        copy.count = std::min(copy.count, from_fits);
        Numbers dst, src;
        auto const narrow = below(2) == 0;
        number(dst, copy.count, fits(copy.dst_pitch, to_at), true, narrow, device, 0);
        number(src, copy.count, from_fits, below(2) == 0, narrow, device, lists_room / 2);
        copy.dst_index = dst.given;
        copy.src_index = src.given;
        for (std::uint64_t i = 0; i < copy.count; ++i) {
            expect(to_at + static_cast<std::uint64_t>(dst.wide[i]) * copy.dst_pitch,
                   from_at + static_cast<std::uint64_t>(src.wide[i]) * copy.src_pitch, copy.page_bytes);
        }
        what_ = "pages of " + std::to_string(copy.page_bytes) + (device ? ", numbers on the device" : "");
        EXPECT_EQ(mover_.first_bad_page(copy, stream_.view()), std::nullopt);
        mover_.copy_pages(copy, stream_.view());
        spoil(dst);
        spoil(src);
    }
    /// Host arrays may be reused when the call returns.
    static void spoil(Numbers& numbers) {
        std::fill(numbers.wide.begin(), numbers.wide.end(), -1);
        std::fill(numbers.narrow.begin(), numbers.narrow.end(), -1);
    }

    void segments() {
        std::vector<void*> dst;
        std::vector<const void*> src;
        std::vector<std::uint64_t> bytes;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
        std::uint64_t at = below(30);
        while (at < room && dst.size() < 150 && below(60) != 0) {
            auto const length = std::min(below(8) == 0 ? 0 : below(4) == 0 ? below(9000) : some_size(), room - at);
            auto const source = below(2) == 0 ? at : below(room - length + 1);
            dst.push_back(to(at));
            src.push_back(from(source));
            bytes.push_back(length);
            expect(at, source, length);
            at += length + below(2) * below(64);
        }
        std::vector<std::size_t> order(dst.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (below(2) == 0) {
            std::shuffle(order.begin(), order.end(), random_);
        }
        std::vector<void*> dst2;
        std::vector<const void*> src2;
        std::vector<std::uint64_t> bytes2;
        for (auto const i : order) {
            dst2.push_back(dst[i]);
            src2.push_back(src[i]);
            bytes2.push_back(bytes[i]);
        }
        what_ = "segments";
        mover_.copy_segments({dst2.data(), src2.data(), bytes2.data(), dst2.size(), 0, {}, {}}, stream_.view());
    }

    void strided() {
        StridedCopy copy;
        copy.row_bytes = some_size() % 300;
        copy.counts = {below(6), below(6)};
        auto const gap = [&] { return below(2) * some_size() % 64; };
        copy.dst_pitch[0] = copy.row_bytes + gap();
        copy.dst_pitch[1] = copy.dst_pitch[0] * copy.counts[0] + gap();
        copy.src_pitch = {copy.row_bytes + gap(), below(2) == 0 ? copy.dst_pitch[1] : some_size()};
        if (below(2) == 0) {  // the other way round
            std::swap(copy.counts[0], copy.counts[1]);
            std::swap(copy.dst_pitch[0], copy.dst_pitch[1]);
            std::swap(copy.src_pitch[0], copy.src_pitch[1]);
        }
        auto const to_at = below(20), from_at = below(20);
        copy.dst = to(to_at);
        copy.src = from(from_at);
        for (std::uint64_t i = 0; i < copy.counts[1]; ++i) {
            for (std::uint64_t j = 0; j < copy.counts[0]; ++j) {
                expect(to_at + i * copy.dst_pitch[1] + j * copy.dst_pitch[0],
                       from_at + i * copy.src_pitch[1] + j * copy.src_pitch[0], copy.row_bytes);
            }
        }
        what_ = "strided";
        mover_.copy_strided(copy, stream_.view());
    }

    void layers() {
        auto const layers = 1 + below(4);
        auto const page = some_size();
        auto const part = room / layers / 16 * 16;
        auto const fits = std::min<std::uint64_t>(part / page, 60);
        std::vector<void*> dst;
        std::vector<const void*> src;
        for (std::uint64_t layer = 0; layer < layers; ++layer) {
            dst.push_back(to(layer * part));
            src.push_back(from((layers - 1 - layer) * part));
        }
        auto prepared = mover_.prepare_pages({dst.data(), src.data(), layers, page, 0, 0});
        auto const count = below(fits + 1);
        Numbers to_numbers, from_numbers;
        auto const device = below(2) == 0;
        number(to_numbers, count, fits, true, true, device, 0);
        number(from_numbers, count, fits, false, true, device, lists_room / 2);
        for (std::uint64_t layer = 0; layer < layers; ++layer) {
            for (std::uint64_t i = 0; i < count; ++i) {
                expect(layer * part + static_cast<std::uint64_t>(to_numbers.wide[i]) * page,
                       (layers - 1 - layer) * part + static_cast<std::uint64_t>(from_numbers.wide[i]) * page, page);
            }
        }
        what_ = "layers";
        auto const ticket = prepared.post(to_numbers.given, from_numbers.given, count, stream_.view());
        ticket.wait();
        EXPECT_TRUE(ticket.done());
    }

    Driver& driver_;
    Mover& mover_;
    std::mt19937_64 random_;
    Allocation src_, dst_, lists_, pinned_;
    Stream stream_;
    Bytes source_, poison_, expected_;
    std::string what_;
};

}  // namespace peerlane::testing_lists
