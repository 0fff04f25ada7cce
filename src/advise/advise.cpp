#include <peerlane/advise.hpp>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "advise/choose.hpp"
#include "advise/software.hpp"

namespace peerlane {

const char* to_string(Software software) {
    switch (software) {
        case Software::nccl:
            return "nccl";
        case Software::vllm:
            return "vllm";
        case Software::sglang:
            return "sglang";
        case Software::torch:
            break;
    }
    return "torch";
}

std::optional<Software> parse_software(std::string_view word) {
    for (auto const software : {Software::nccl, Software::vllm, Software::sglang, Software::torch}) {
        if (word == to_string(software)) {
            return software;
        }
    }
    return std::nullopt;
}

namespace advising {

bool in_trouble(const Neighbours& pair) {
    return pair.standing >= Standing::part;
}

std::string pairs_text(std::size_t count) {
    return fmt::format("{} pair{}", count, count == 1 ? "" : "s");
}

std::string troubles_text(const std::vector<Neighbours>& pairs) {
    constexpr std::size_t most = 3;
    std::vector<std::string> words;
    for (auto const& pair : pairs) {
        if (words.size() < most) {
            words.push_back(pair.trouble);
        }
    }
    auto const text = fmt::format("{}", fmt::join(words, ", "));
    return pairs.size() > most ? fmt::format("{} and {} more", text, pairs.size() - most) : text;
}

std::string visible_devices(const std::vector<int>& devices) {
    return fmt::format("{}", fmt::join(devices, ","));
}

void add_visibility(const Chosen& chosen, Advice& advice) {
    advice.settings.push_back({AdvisedSetting::Kind::variable, "CUDA_DEVICE_ORDER", "PCI_BUS_ID",
                               "numbers then mean what they mean here and in nvidia-smi: bus order", ""});
    advice.settings.push_back({AdvisedSetting::Kind::variable, "CUDA_VISIBLE_DEVICES", visible_devices(chosen.devices),
                               "these devices, in this order", "programs number them from 0 again"});
}

}  // namespace advising

bool Advice::clean() const {
    return std::none_of(pairs.begin(), pairs.end(), advising::in_trouble);
}

Advice advise(const Machine& machine, const Verdicts& verdicts, Software software, int count) {
    auto const all = static_cast<int>(machine.devices.size());
    if (count < 0 || count > all) {
        throw std::invalid_argument(fmt::format("{} devices of {}", count, all));
    }
    auto const wanted = count == 0 ? all : count;
    auto pairs = neighbours_of(machine, verdicts);
    advising::Matrix const matrix(pairs, all);
    advising::Chosen chosen{machine, verdicts, {}, {}};
    for (auto const place : advising::order_devices(matrix, advising::choose_devices(matrix, wanted))) {
        chosen.devices.push_back(machine.devices[static_cast<std::size_t>(place)].id);
    }
    auto const is_chosen = [&](int device) {
        return std::find(chosen.devices.begin(), chosen.devices.end(), device) != chosen.devices.end();
    };
    std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(chosen.pairs),
                 [&](const Neighbours& pair) { return is_chosen(pair.a) && is_chosen(pair.b); });

    Advice advice;
    advice.software = software;
    advice.devices = chosen.devices;
    advice.pairs = chosen.pairs;
    for (auto const& device : machine.devices) {
        if (!is_chosen(device.id)) {
            advice.left_out.push_back(device.id);
        }
    }
    if (!advice.clean()) {
        advice.clean_devices = advising::most_without_trouble(matrix, wanted);
    }
    advising::add_visibility(chosen, advice);
    switch (software) {
        case Software::nccl:
            break;
        case Software::vllm:
            advising::add_vllm(chosen, advice);
            break;
        case Software::sglang:
            advising::add_sglang(chosen, advice);
            break;
        case Software::torch:
            advising::add_torch(chosen, advice);
            break;
    }
    advising::add_nccl(chosen, advice);  // the others stand on it
    return advice;
}

}  // namespace peerlane
