#include "driver/sim/extents.hpp"

#include <algorithm>
#include <cstring>

namespace peerlane::sim {
namespace {

constexpr std::uint64_t piece = 1 << 20;  ///< bytes made at a time when contents must be compared one by one
constexpr std::uint64_t small_literal = 4096;

/// True when `next` goes on where `first` ends after `n` bytes, so that one description serves both.
bool continues(const Content& first, std::uint64_t n, const Content& next) {
    if (first.kind != next.kind || first.inverted != next.inverted || first.via != next.via) {
        return false;
    }
    switch (first.kind) {
        case Content::Kind::pattern:
            return first.pattern.key == next.pattern.key && first.pattern.offset + n == next.pattern.offset;
        case Content::Kind::literal:
            return first.bytes == next.bytes && first.skip + n == next.skip;
        case Content::Kind::constant:
            return first.value == next.value;
    }
    return false;
}

}  // namespace

Content Content::of(Pattern pattern) {
    Content content;
    content.kind = Kind::pattern;
    content.pattern = pattern;
    return content;
}

Content Content::of(const void* data, std::uint64_t n) {
    Content content;
    auto const* begin = static_cast<const std::uint8_t*>(data);
    content.kind = Kind::literal;
    content.bytes = std::make_shared<const std::vector<std::uint8_t>>(begin, begin + n);
    return content;
}

Content Content::repeat(std::uint8_t value) {
    Content content;
    content.value = value;
    return content;
}

Content Content::after(std::uint64_t n) const {
    auto later = *this;
    later.pattern.offset += n;
    later.skip += n;
    return later;
}

std::uint8_t Content::at(std::uint64_t i) const {
    std::uint8_t byte = 0;
    read(i, &byte, 1);
    return byte;
}

void Content::read(std::uint64_t from, void* out, std::uint64_t n) const {
    auto* bytes_out = static_cast<std::uint8_t*>(out);
    switch (kind) {
        case Kind::pattern:
            write_pattern({pattern.key, pattern.offset + from}, out, n);
            break;
        case Kind::literal:
            std::memcpy(out, bytes->data() + skip + from, n);
            break;
        case Kind::constant:
            std::memset(out, value, n);
            break;
    }
    if (inverted) {
        std::transform(bytes_out, bytes_out + n, bytes_out,
                       [](std::uint8_t b) { return static_cast<std::uint8_t>(~b); });
    }
}

Extents::Extents(std::uint64_t bytes, Pattern garbage) {
    if (bytes != 0) {
        map_.emplace(0, Entry{bytes, Content::of(garbage)});
    }
}

void Extents::split(std::uint64_t at) {
    auto next = map_.upper_bound(at);
    if (next == map_.begin()) {
        return;
    }
    auto const entry = std::prev(next);
    auto const into = at - entry->first;
    if (into == 0 || into >= entry->second.bytes) {
        return;
    }
    Entry later{entry->second.bytes - into, entry->second.content.after(into)};
    entry->second.bytes = into;
    map_.emplace_hint(next, at, std::move(later));
}

void Extents::join_before(std::map<std::uint64_t, Entry>::iterator at) {
    if (at == map_.begin() || at == map_.end()) {
        return;
    }
    auto const before = std::prev(at);
    if (continues(before->second.content, before->second.bytes, at->second.content)) {
        before->second.bytes += at->second.bytes;
        map_.erase(at);
        return;
    }
    // Many small literals one after another (a host writing words) become one, so that their number stays bounded.
    auto& a = before->second;
    auto& b = at->second;
    if (a.content.kind == Content::Kind::literal && b.content.kind == Content::Kind::literal &&
        a.content.via == b.content.via && !a.content.inverted && !b.content.inverted &&
        a.bytes + b.bytes <= small_literal) {
        std::vector<std::uint8_t> joined(a.bytes + b.bytes);
        a.content.read(0, joined.data(), a.bytes);
        b.content.read(0, joined.data() + a.bytes, b.bytes);
        auto const via = a.content.via;
        a.content = Content::of(joined.data(), joined.size());
        a.content.via = via;
        a.bytes = joined.size();
        map_.erase(at);
    }
}

void Extents::write(std::uint64_t offset, std::uint64_t bytes, const Content& content) {
    if (bytes == 0) {
        return;
    }
    split(offset);
    split(offset + bytes);
    map_.erase(map_.lower_bound(offset), map_.lower_bound(offset + bytes));
    auto const [entry, added] = map_.emplace(offset, Entry{bytes, content});
    join_before(std::next(entry));
    join_before(entry);
}

void Extents::write(std::uint64_t offset, const std::vector<Stretch>& stretches) {
    for (auto const& stretch : stretches) {
        write(offset + stretch.offset, stretch.bytes, stretch.content);
    }
}

std::vector<Stretch> Extents::read(std::uint64_t offset, std::uint64_t bytes) const {
    std::vector<Stretch> found;
    auto const end = offset + bytes;
    if (bytes == 0) {
        return found;
    }
    for (auto entry = std::prev(map_.upper_bound(offset)); entry != map_.end() && entry->first < end; ++entry) {
        auto const from = std::max(entry->first, offset);
        auto const to = std::min(entry->first + entry->second.bytes, end);
        found.push_back({from - offset, to - from, entry->second.content.after(from - entry->first)});
    }
    return found;
}

void Extents::read(std::uint64_t offset, void* out, std::uint64_t bytes) const {
    for (auto const& stretch : read(offset, bytes)) {
        stretch.content.read(0, static_cast<std::uint8_t*>(out) + stretch.offset, stretch.bytes);
    }
}

CheckOutcome Extents::check(std::uint64_t offset, std::uint64_t bytes, Pattern expected, Pattern poison) const {
    CheckOutcome sum;
    std::vector<std::uint8_t> made;
    for (auto const& stretch : read(offset, bytes)) {
        Pattern const right{expected.key, expected.offset + stretch.offset};
        auto const& content = stretch.content;
        if (content.kind == Content::Kind::pattern && !content.inverted && content.pattern == right) {
            continue;  // the same description of the same bytes
        }
        Pattern const before{poison.key, poison.offset + stretch.offset};
        made.resize(std::min(piece, stretch.bytes));
        for (std::uint64_t done = 0; done < stretch.bytes; done += made.size()) {
            auto const n = std::min<std::uint64_t>(made.size(), stretch.bytes - done);
            content.read(done, made.data(), n);
            add_outcome(
                sum,
                check_pattern(made.data(), n, {right.key, right.offset + done}, {before.key, before.offset + done}),
                stretch.offset + done);
        }
    }
    return sum;
}

}  // namespace peerlane::sim
