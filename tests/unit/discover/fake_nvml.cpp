#include "fake_nvml.hpp"

namespace peerlane::testing_discover {
namespace {

struct Player {
    FakeNvml script;
    std::shared_future<void> released;

    const FakeDevice* device(int index) const {
        return index >= 0 && static_cast<std::size_t>(index) < script.devices.size()
                   ? &script.devices[static_cast<std::size_t>(index)]
                   : nullptr;
    }
    const FakeLink* link(int index, int number) const {
        auto const* const found = device(index);
        return found != nullptr && number >= 0 && static_cast<std::size_t>(number) < found->links.size()
                   ? &found->links[static_cast<std::size_t>(number)]
                   : nullptr;
    }
    void maybe_hang(const char* name) const {
        if (script.hangs_in == name) {
            released.wait();
        }
    }
};

/// An entry that copies one member of the device.
template <class Value, class Member>
std::function<int(int, Value&)> member(std::shared_ptr<Player> player, const char* name, Member FakeDevice::*which) {
    return [player, name, which](int index, Value& value) {
        player->maybe_hang(name);
        auto const* const device = player->device(index);
        if (device == nullptr) {
            return nvml_code::invalid_argument;
        }
        value = device->*which;
        return nvml_code::success;
    };
}

template <class Value, class Get>
std::function<int(int, int, Value&)> of_link(std::shared_ptr<Player> player, Get get) {
    return [player, get](int index, int number, Value& value) {
        auto const* const link = player->link(index, number);
        if (link == nullptr) {
            return player->device(index) != nullptr && player->device(index)->links.empty()
                       ? nvml_code::not_supported
                       : nvml_code::invalid_argument;
        }
        value = get(*player->device(index), *link);
        return nvml_code::success;
    };
}

}  // namespace

std::vector<FakeLink> links_to(const std::string& bus, int count, int remote_type) {
    return std::vector<FakeLink>(static_cast<std::size_t>(count), FakeLink{1, remote_type, bus});
}

std::shared_ptr<const NvmlApi> FakeNvml::api() const {
    auto const player = std::make_shared<Player>(Player{*this, release->get_future().share()});
    auto api = std::make_shared<NvmlApi>();
    api->start = [player] {
        player->maybe_hang("start");
        return player->script.start_code;
    };
    api->stop = [] { return nvml_code::success; };
    api->words = [](int code) { return code == nvml_code::driver_not_loaded ? "Driver Not Loaded" : ""; };
    api->driver_version = [](std::string& text) {
        text = "580.159.04";
        return nvml_code::success;
    };
    api->cuda_version = [](int& version) {
        version = 13000;
        return nvml_code::success;
    };
    api->device_count = [player](int& count) {
        count = static_cast<int>(player->script.devices.size());
        return nvml_code::success;
    };
    api->bus = member<std::string>(player, "bus", &FakeDevice::bus);
    api->name = member<std::string>(player, "name", &FakeDevice::name);
    api->memory_bytes = member<std::uint64_t>(player, "memory", &FakeDevice::memory_bytes);
    api->generation = [](int, int& generation) {
        generation = 1;  // idle
        return nvml_code::success;
    };
    api->most_generation = member<int>(player, "generation", &FakeDevice::most_generation);
    api->width = member<int>(player, "width", &FakeDevice::width);
    api->mig_mode = member<int>(player, "mig", &FakeDevice::mig);
    api->mig_instances = member<int>(player, "instances", &FakeDevice::mig_instances);
    api->fabric_state = member<int>(player, "fabric", &FakeDevice::fabric_state);
    api->virtualization = member<int>(player, "virtualization", &FakeDevice::virtualization);
    api->uuid = [](int index, std::string& uuid) {
        uuid = "GPU-0000000" + std::to_string(index);
        return nvml_code::success;
    };
    api->compute_capability = [player](int index, int& major, int& minor) {
        major = player->device(index)->compute_capability / 10;
        minor = player->device(index)->compute_capability % 10;
        return nvml_code::success;
    };
    api->link_state = of_link<int>(player, [](const FakeDevice&, const FakeLink& link) { return link.active; });
    api->link_version =
        of_link<int>(player, [](const FakeDevice& device, const FakeLink&) { return device.nvlink_version; });
    api->link_gbs = of_link<double>(player, [](const FakeDevice& device, const FakeLink&) { return device.link_gbs; });
    api->link_remote_type =
        of_link<int>(player, [](const FakeDevice&, const FakeLink& link) { return link.remote_type; });
    api->link_remote_bus =
        of_link<std::string>(player, [](const FakeDevice&, const FakeLink& link) { return link.remote_bus; });
    api->p2p_status = [player](int accessor, int owner, NvmlP2p what, int& status) {
        player->maybe_hang("p2p");
        auto const& script = player->script;
        switch (what) {
            case NvmlP2p::read:
                status = script.read_status;
                break;
            case NvmlP2p::write:
                status = script.write_status;
                break;
            case NvmlP2p::nvlink:
                status = script.nvlink_status_of.empty()
                             ? script.nvlink_status
                             : script.nvlink_status_of.at(static_cast<std::size_t>(accessor))
                                   .at(static_cast<std::size_t>(owner));
                break;
            case NvmlP2p::atomics:
                status = script.atomics_status;
                break;
            case NvmlP2p::pcie:
                status = script.pcie_status;
                break;
        }
        return nvml_code::success;
    };
    api->common_ancestor = [player](int, int, int& level) {
        level = player->script.ancestor;
        return nvml_code::success;
    };
    return api;
}

}  // namespace peerlane::testing_discover
