#include <peerlane/peering.hpp>

#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "share/channel.hpp"

namespace peerlane {
namespace {

constexpr char offered = 'o', opened = 'i', refused = 'r', closed = 'c', text = 't';
constexpr std::size_t header_bytes = 9;  ///< what, id

[[noreturn]] void late(const char* call, const std::string& why) {
    throw Error({code::launch_timeout, call, -1, -1, why});
}

[[noreturn]] void wrong(int process, const char* why) {
    throw Error({code::invalid_value, "peering", -1, -1, fmt::format("process {} sent {}", process, why)});
}

}  // namespace

Peering::Peering(Share& share, PeerChannel channel) : share_(share), channel_(std::move(channel)) {}

Peering::~Peering() {
    drop_claims();
}

void Peering::drop_claims() noexcept {
    for (auto const id : offered_) {
        try {
            static_cast<void>(share_.withdraw(id, true));
        } catch (const std::exception&) {  // after a device error nothing can be put back
        }
    }
    offered_.clear();
}

void Peering::say(char what, std::uint64_t id, std::string_view rest, const std::vector<int>& descriptors) {
    std::string bytes(header_bytes, what);
    std::memcpy(bytes.data() + 1, &id, sizeof id);
    bytes += rest;
    try {
        channel_.send(bytes, descriptors);
    } catch (const PeerGone&) {
        drop_claims();
        throw;
    }
}

void Peering::handle(PeerMessage message) {
    auto const& bytes = message.bytes;
    if (bytes.size() < header_bytes) {
        wrong(channel_.process(), "less than a message");
    }
    std::uint64_t id = 0;
    std::memcpy(&id, bytes.data() + 1, sizeof id);
    auto const rest = std::string_view(bytes).substr(header_bytes);
    switch (bytes[0]) {
        case offered:
            if (offers_.size() >= most_waiting_messages || message.descriptors.size() > 1) {
                wrong(channel_.process(), "more offers than are kept");
            }
            offers_.push_back(
                read_range(rest, message.descriptors.empty() ? Descriptor() : std::move(message.descriptors.front())));
            return;
        case opened:
        case refused:
            if (offered_.count(id) == 0 || answers_.count(id) != 0) {
                wrong(channel_.process(), "an answer to nothing");
            }
            answers_[id] = {bytes[0] == opened, std::string(rest)};
            share_.restore(id);
            if (bytes[0] == opened) {
                share_.opened_elsewhere(id);
            }
            return;
        case closed:
            if (offered_.count(id) == 0 || share_.open_elsewhere(id) == 0) {
                wrong(channel_.process(), "the end of an import that it does not have");
            }
            share_.closed_elsewhere(id);
            return;
        case text:
            if (messages_.size() >= most_waiting_messages) {
                wrong(channel_.process(), "more messages than are kept");
            }
            messages_.emplace_back(rest);
            return;
        default:
            wrong(channel_.process(), "a message of no known kind");
    }
}

template <class Done>
bool Peering::pump(double seconds, Done&& done) {
    auto const deadline = share::after(seconds);
    while (!done()) {
        auto const left = std::chrono::duration<double>(deadline - share::Clock::now()).count();
        try {
            auto message = channel_.receive(std::max(left, 0.0));
            if (!message) {
                return false;
            }
            handle(*std::move(message));
        } catch (const PeerGone&) {
            drop_claims();
            throw;
        }
    }
    return true;
}

std::uint64_t Peering::offer(const void* at, std::uint64_t bytes) {
    auto const range = share_.export_range(at, bytes);
    offered_.insert(range.id);
    std::vector<int> descriptors;
    if (range.handle.descriptor.number() >= 0) {
        descriptors.push_back(range.handle.descriptor.number());
    }
    say(offered, range.id, write_range(range), descriptors);
    return range.id;
}

void Peering::settle(std::uint64_t id, double seconds) {
    if (offered_.count(id) == 0) {
        throw std::invalid_argument(fmt::format("peering: {} was not offered to this process", id));
    }
    auto const answered = pump(seconds, [&] { return answers_.count(id) != 0; });
    if (answered && answers_[id].ok) {
        return;
    }
    auto const reason = answered ? answers_[id].reason : std::string();
    if (answered) {
        static_cast<void>(share_.withdraw(id, true));
        offered_.erase(id);
        throw Error({code::invalid_value, "import in the other process", -1, -1, reason});
    }
    share_.restore(id);  // a late import finds no marker, and says so
    late("settle", fmt::format("process {} did not import the offer within {:.1f} s", channel_.process(), seconds));
}

Imported Peering::take(int device, double seconds) {
    if (!pump(seconds, [&] { return !offers_.empty(); })) {
        late("take", fmt::format("process {} offered nothing within {:.1f} s", channel_.process(), seconds));
    }
    auto const range = std::move(offers_.front());
    offers_.pop_front();
    Imported imported;
    try {
        imported = share_.import_range(range, device);
    } catch (const std::exception& error) {
        say(refused, range.id, std::string_view(error.what()).substr(0, 1024));
        throw;
    }
    say(opened, range.id);
    return imported;
}

void Peering::close(Imported imported) {
    auto const id = imported.id();
    imported.close();
    say(closed, id);
}

void Peering::withdraw(std::uint64_t id, double seconds) {
    if (offered_.count(id) == 0) {
        throw std::invalid_argument(fmt::format("peering: {} was not offered to this process", id));
    }
    if (!pump(seconds, [&] { return answers_.count(id) != 0 && share_.open_elsewhere(id) == 0; })) {
        late("withdraw",
             fmt::format("stale-mapping: process {} still has the memory open after {:.1f} s; it must close "
                         "it before it is freed",
                         channel_.process(), seconds));
    }
    static_cast<void>(share_.withdraw(id));
    offered_.erase(id);
    answers_.erase(id);
}

void Peering::send(std::string_view bytes) {
    if (bytes.size() > most_message_bytes - 16) {
        throw std::invalid_argument(
            fmt::format("peering: a message of {} bytes; {} fit", bytes.size(), most_message_bytes - 16));
    }
    say(text, 0, bytes);
}

std::string Peering::receive(double seconds) {
    if (!pump(seconds, [&] { return !messages_.empty(); })) {
        late("receive", fmt::format("process {} sent nothing within {:.1f} s", channel_.process(), seconds));
    }
    auto message = std::move(messages_.front());
    messages_.pop_front();
    return message;
}

}  // namespace peerlane
