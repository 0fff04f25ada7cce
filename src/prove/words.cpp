#include "prove/words.hpp"

#include <algorithm>
#include <cstring>

#include <peerlane/error.hpp>

#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "prove/transfer.hpp"

namespace peerlane::prove {
namespace {

constexpr std::uint64_t copy_at = 1024;  ///< in the pinned memory
static_assert(copy_at + Patch::bytes <= Bench::pinned_bytes);

std::uint32_t word_at(const std::vector<std::uint8_t>& bytes, std::uint64_t at) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, 4);
    return word;
}

}  // namespace

std::uint32_t PatchSeen::word(std::uint64_t at) const {
    return word_at(found, at);
}

std::uint64_t PatchSeen::bad_bytes(const std::vector<ExpectedWord>& words) const {
    auto expected = poison;
    for (auto const& word : words) {
        std::memcpy(expected.data() + word.at, &word.value, 4);
    }
    std::uint64_t bad = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        bad += found[i] != expected[i];
    }
    return bad;
}

std::optional<WrongKind> PatchSeen::wrong(const std::vector<ExpectedWord>& words) const {
    if (bad_bytes(words) == 0) {
        return std::nullopt;
    }
    auto const is_word = [&](std::uint64_t at) {
        return std::any_of(words.begin(), words.end(), [&](const ExpectedWord& word) { return word.at == at; });
    };
    auto const bad = std::find_if(words.begin(), words.end(),
                                  [&](const ExpectedWord& expected) { return word(expected.at) != expected.value; });
    if (bad == words.end()) {
        return WrongKind::flip;  // the words are right, and something around them was written
    }
    auto const added = bad->value - word_at(poison, bad->at);
    for (std::uint64_t at = 0; at + 4 <= found.size(); at += 4) {
        auto const changed = word(at) != word_at(poison, at);
        if (!is_word(at) && changed && (word(at) == bad->value || word(at) == word_at(poison, at) + added)) {
            return WrongKind::offset;
        }
    }
    auto const here = word(bad->at);
    if (here == 0) {
        return WrongKind::zero;
    }
    return here == word_at(poison, bad->at) ? WrongKind::stale : WrongKind::flip;
}

Patch::Patch(Bench& bench, int owner, std::uint64_t seed, std::uint64_t name)
    : bench_(bench), owner_(owner), bytes_(bytes) {
    auto const usable = [](std::uint32_t word) { return word >= (1u << 16) && word < (1u << 31) - (1u << 20); };
    for (std::uint64_t nonce = 0;; ++nonce) {
        poison_ = {pattern_key(seed + nonce, static_cast<std::uint64_t>(owner), name), 0};
        write_pattern(poison_, bytes_.data(), bytes);
        if (usable(before(first)) && usable(before(second))) {
            return;
        }
    }
}

Address Patch::address(std::uint64_t at) const {
    return bench_.side(owner_).memory.location(at).address;
}

std::uint32_t Patch::before(std::uint64_t at) const {
    return word_at(bytes_, at);
}

void Patch::poison() {
    FillArguments const arguments{address(0), bytes, poison_, 16};
    bench_.driver().launch(bench_.side(owner_).stream.view(), fill_kernel, &arguments);
}

PatchSeen Patch::look() {
    auto& driver = bench_.driver();
    auto const pinned = bench_.pinned() + copy_at;
    driver.copy(bench_.side(owner_).stream.view(),
                {{host(), pinned}, bench_.side(owner_).memory.location(), bytes, CopyApi::automatic});
    bench_.wait(owner_);
    PatchSeen seen{std::vector<std::uint8_t>(bytes), bytes_};
    driver.read_host(pinned, seen.found.data(), bytes);
    return seen;
}

std::uint32_t Patch::read_by(int accessor, std::uint64_t at) {
    auto& driver = bench_.driver();
    auto& side = bench_.side(accessor);
    CopyArguments const arguments{side.memory.address(), address(at), 4, 4};
    driver.launch(side.stream.view(), copy_kernel, &arguments);
    driver.copy(side.stream.view(),
                {{host(), bench_.pinned() + copy_at}, side.memory.location(), 4, CopyApi::automatic});
    bench_.wait(accessor);
    std::uint32_t word = 0;
    driver.read_host(bench_.pinned() + copy_at, &word, 4);
    return word;
}

WrongKind told_apart(Bench& bench, Patch& patch, int accessor, ExpectedWord word, WrongKind kind) {
    if (kind != WrongKind::stale) {
        return kind;
    }
    try {
        return patch.read_by(accessor, word.at) == word.value ? WrongKind::mirror : kind;
    } catch (const TimeUp&) {
        bench.abandon();
    } catch (const Error& error) {
        if (error.info().sticky) {
            bench.abandon();
        }
    }
    return kind;
}

}  // namespace peerlane::prove
