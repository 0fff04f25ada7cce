// The C interface: memory of other processes.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include <peerlane/error.hpp>

#include "c/handles.hpp"

namespace {

using namespace peerlane;
using c::given;
using c::guarded;

static_assert(PEERLANE_RANGE_BYTES == most_range_bytes);

peerlane_peer* peer_of(peerlane_share* share, PeerChannel channel) {
    auto const& sharing = given(share, "the share").sharing;
    auto const process = channel.process();
    return new peerlane_peer{sharing, process, Peering(sharing->share, std::move(channel))};
}

}  // namespace

peerlane_status peerlane_share_open(peerlane_driver* driver, peerlane_share** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        into = new peerlane_share{std::make_shared<c::Sharing>(given(driver, "the driver").driver)};
    });
}

void peerlane_share_close(peerlane_share* share) {
    delete share;
}

peerlane_status peerlane_share_allocate_host(peerlane_share* share, uint64_t bytes, void** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        into = given(share, "the share").sharing->share.allocate_host(bytes);
    });
}

peerlane_status peerlane_share_free_host(peerlane_share* share, void* memory) {
    return guarded([&] { given(share, "the share").sharing->share.free_host(memory); });
}

peerlane_status peerlane_export(peerlane_share* share, const void* at, uint64_t bytes, peerlane_range* out) {
    return guarded([&] {
        auto& into = given(out, "out");
        auto range = given(share, "the share").sharing->share.export_range(at, bytes);
        auto const text = write_range(range);
        into.id = range.id;
        into.bytes = text.size();
        std::memcpy(into.data, text.data(), text.size());
        into.descriptor = range.handle.descriptor.release();
    });
}

peerlane_status peerlane_restore(peerlane_share* share, uint64_t id) {
    return guarded([&] { given(share, "the share").sharing->share.restore(id); });
}

peerlane_status peerlane_withdraw(peerlane_share* share, uint64_t id, int even_if_open) {
    return guarded([&] {
        if (!given(share, "the share").sharing->share.withdraw(id, even_if_open != 0)) {
            throw std::invalid_argument("the range is still open in another process");
        }
    });
}

peerlane_status peerlane_import(peerlane_share* share, const peerlane_range* range, int device,
                                peerlane_imported** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        auto const& from = given(range, "the range");
        if (from.bytes > sizeof from.data) {
            throw std::invalid_argument("the range: `bytes` is more than it holds");
        }
        Descriptor descriptor;
        if (from.descriptor >= 0) {
            descriptor = Descriptor(::fcntl(from.descriptor, F_DUPFD_CLOEXEC, 0));
            if (descriptor.number() < 0) {
                throw std::invalid_argument(std::string("the range's descriptor: ") + std::strerror(errno));
            }
        }
        auto const& sharing = given(share, "the share").sharing;
        auto const read = read_range({reinterpret_cast<const char*>(from.data), from.bytes}, std::move(descriptor));
        into = new peerlane_imported{sharing, sharing->share.import_range(read, device)};
    });
}

void* peerlane_imported_data(const peerlane_imported* imported) {
    return imported == nullptr ? nullptr : imported->imported.data();
}

uint64_t peerlane_imported_bytes(const peerlane_imported* imported) {
    return imported == nullptr ? 0 : imported->imported.bytes();
}

void peerlane_imported_close(peerlane_imported* imported) {
    delete imported;
}

peerlane_status peerlane_listen(const char* path, peerlane_listener** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        into = new peerlane_listener{Listener(&given(path, "the path"))};
    });
}

void peerlane_listener_close(peerlane_listener* listener) {
    delete listener;
}

peerlane_status peerlane_accept(peerlane_listener* listener, peerlane_share* share, double seconds,
                                peerlane_peer** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        given(share, "the share");
        auto channel = given(listener, "the listener").listener.accept(seconds);
        if (!channel) {
            throw Error({code::launch_timeout, "accept", -1, -1, "nobody connected in the time given"});
        }
        into = peer_of(share, *std::move(channel));
    });
}

peerlane_status peerlane_connect(const char* path, peerlane_share* share, double seconds, peerlane_peer** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        given(share, "the share");
        into = peer_of(share, PeerChannel::connect(&given(path, "the path"), seconds));
    });
}

void peerlane_peer_close(peerlane_peer* peer) {
    delete peer;
}

int peerlane_peer_process(const peerlane_peer* peer) {
    return peer == nullptr ? 0 : peer->process;
}

peerlane_status peerlane_offer(peerlane_peer* peer, const void* at, uint64_t bytes, uint64_t* id) {
    return guarded([&] {
        auto& into = given(id, "id");
        into = given(peer, "the peer").peering.offer(at, bytes);
    });
}

peerlane_status peerlane_settle(peerlane_peer* peer, uint64_t id, double seconds) {
    return guarded([&] { given(peer, "the peer").peering.settle(id, seconds); });
}

peerlane_status peerlane_take(peerlane_peer* peer, int device, double seconds, peerlane_imported** out) {
    return guarded([&] {
        auto& into = given(out, "out");
        auto& from = given(peer, "the peer");
        into = new peerlane_imported{from.sharing, from.peering.take(device, seconds)};
    });
}

peerlane_status peerlane_give_back(peerlane_peer* peer, peerlane_imported* imported) {
    return guarded([&] {
        auto& to = given(peer, "the peer");
        given(imported, "the import");
        std::unique_ptr<peerlane_imported> const owned(imported);
        to.peering.close(std::move(owned->imported));
    });
}

peerlane_status peerlane_take_back(peerlane_peer* peer, uint64_t id, double seconds) {
    return guarded([&] { given(peer, "the peer").peering.withdraw(id, seconds); });
}

peerlane_status peerlane_send(peerlane_peer* peer, const void* data, size_t bytes) {
    return guarded([&] {
        auto const* const from = bytes == 0 ? "" : &given(static_cast<const char*>(data), "data");
        given(peer, "the peer").peering.send({from, bytes});
    });
}

peerlane_status peerlane_receive(peerlane_peer* peer, void* data, size_t room, size_t* bytes, double seconds) {
    return guarded([&] {
        auto& size = given(bytes, "bytes");
        auto const message = given(peer, "the peer").peering.receive(seconds);
        size = message.size();
        if (message.size() > room) {
            throw std::invalid_argument("the message does not fit");
        }
        if (!message.empty()) {
            std::memcpy(&given(static_cast<char*>(data), "data"), message.data(), message.size());
        }
    });
}
