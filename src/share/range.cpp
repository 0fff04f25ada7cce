// A shared range as bytes: fixed fields in little-endian order, two short texts, a checksum.

#include <array>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/pattern.hpp>
#include <peerlane/share.hpp>

namespace peerlane {
namespace {

constexpr std::uint64_t magic = 0x31656e616c726570ULL;  // "perlane1"
constexpr std::size_t most_name = 128;

std::uint64_t sum_of(std::string_view bytes) {
    std::uint64_t sum = bytes.size();
    for (auto const c : bytes) {
        sum = mix64(sum * 31 + static_cast<unsigned char>(c));
    }
    return sum;
}

class Out {
  public:
    void number(std::uint64_t value) {
        for (int i = 0; i < 8; ++i) {
            bytes_.push_back(static_cast<char>(value >> (8 * i) & 0xffU));
        }
    }
    void text(const std::string& value) {
        auto const part = value.substr(0, most_name);
        number(part.size());
        bytes_ += part;
    }
    void raw(const void* data, std::size_t bytes) { bytes_.append(static_cast<const char*>(data), bytes); }
    std::string take() {
        number(sum_of(bytes_));
        return std::move(bytes_);
    }

  private:
    std::string bytes_;
};

[[noreturn]] void refuse(const char* why) {
    throw InputError("shared range", 0, why);
}

class In {
  public:
    explicit In(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t number() {
        auto const part = take(8);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(part[i])) << (8 * i);
        }
        return value;
    }
    std::string text() {
        auto const size = number();
        if (size > most_name) {
            refuse("a name is too long");
        }
        return std::string(take(size));
    }
    std::string_view take(std::size_t bytes) {
        if (bytes_.size() < bytes) {
            refuse("it ends too soon");
        }
        auto const part = bytes_.substr(0, bytes);
        bytes_.remove_prefix(bytes);
        return part;
    }
    [[nodiscard]] bool empty() const { return bytes_.empty(); }

  private:
    std::string_view bytes_;
};

}  // namespace

std::string write_range(const SharedRange& range) {
    auto const& handle = range.handle;
    Out out;
    out.number(magic);
    out.number(static_cast<std::uint64_t>(handle.kind));
    out.number(static_cast<std::uint64_t>(static_cast<std::int64_t>(handle.process)));
    out.number(static_cast<std::uint64_t>(static_cast<std::int64_t>(handle.owner)));
    out.number(static_cast<std::uint64_t>(handle.base));
    for (auto const value : {handle.bytes, handle.offset, range.bytes, range.exporter, range.allocation, range.id,
                             range.marker_key, std::uint64_t{range.host}}) {
        out.number(value);
    }
    out.raw(handle.token.data(), handle.token.size());
    out.text(range.owner.uuid);
    out.text(range.owner.bus);
    out.number(handle.descriptor.number() >= 0 ? 1 : 0);
    return out.take();
}

SharedRange read_range(std::string_view bytes, Descriptor descriptor) {
    if (bytes.size() > most_range_bytes || bytes.size() < 16) {
        refuse("it has not the size of one");
    }
    if (In(bytes.substr(bytes.size() - 8)).number() != sum_of(bytes.substr(0, bytes.size() - 8))) {
        refuse("its checksum is wrong");
    }
    In in(bytes.substr(0, bytes.size() - 8));
    if (in.number() != magic) {
        refuse("it is none of this version");
    }
    SharedRange range;
    auto& handle = range.handle;
    auto const kind = in.number();
    if (kind > static_cast<std::uint64_t>(MemoryKind::pageable)) {
        refuse("its kind of memory is not known");
    }
    handle.kind = static_cast<MemoryKind>(kind);
    handle.process = static_cast<int>(static_cast<std::int64_t>(in.number()));
    handle.owner = static_cast<int>(static_cast<std::int64_t>(in.number()));
    handle.base = Address{in.number()};
    handle.bytes = in.number();
    handle.offset = in.number();
    range.bytes = in.number();
    range.exporter = in.number();
    range.allocation = in.number();
    range.id = in.number();
    range.marker_key = in.number();
    range.host = in.number() != 0;
    auto const token = in.take(handle.token.size());
    std::memcpy(handle.token.data(), token.data(), token.size());
    range.owner.uuid = in.text();
    range.owner.bus = in.text();
    auto const needs_descriptor = in.number() != 0;
    if (!in.empty()) {
        refuse("it goes on behind its end");
    }
    if (range.bytes == 0 || handle.offset >= handle.bytes || range.bytes > handle.bytes - handle.offset) {
        refuse("it reaches outside its allocation");
    }
    if (needs_descriptor && descriptor.number() < 0) {
        refuse("its descriptor did not come with it");
    }
    handle.descriptor = std::move(descriptor);
    return range;
}

}  // namespace peerlane
