#include "conformance/witness.hpp"

#include "kernels/check.hpp"
#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::conformance {

Witness::Witness(Driver& driver)
    : driver_(driver), report_(driver, {host(), sizeof(CheckOutcome), MemoryKind::pinned}) {}

StreamView Witness::stream(int device) {
    auto found = streams_.find(device);
    if (found == streams_.end()) {
        found = streams_.emplace(device, Stream(driver_, device)).first;
    }
    return found->second.view();
}

void Witness::fill(Location at, std::uint64_t bytes, Pattern pattern, std::optional<StreamView> by) {
    if (at.place.is_host()) {
        driver_.fill_host(at.address, bytes, pattern);
        return;
    }
    auto const in = by.value_or(stream(at.place.index));
    FillArguments const arguments{at.address, bytes, pattern, 16};
    driver_.launch(in, fill_kernel, &arguments);
    driver_.synchronize(in);
}

CheckOutcome Witness::find(Location at, std::uint64_t bytes, Pattern expected, Pattern poison,
                           std::optional<StreamView> by) {
    if (at.place.is_host()) {
        return driver_.check_host(at.address, bytes, expected, poison);
    }
    // A check that never ran must not look like a clean one.
    CheckOutcome outcome{0, bytes, 0, 0};
    driver_.write_host(report_.address(), &outcome, sizeof outcome);
    auto const in = by.value_or(stream(at.place.index));
    CheckArguments const arguments{at.address, bytes, expected, poison, report_.address()};
    driver_.launch(in, check_kernel, &arguments);
    driver_.synchronize(in);
    driver_.read_host(report_.address(), &outcome, sizeof outcome);
    return outcome;
}

testing::AssertionResult Witness::holds(Location at, std::uint64_t bytes, Pattern expected, Pattern poison,
                                        std::optional<StreamView> by) {
    auto const found = find(at, bytes, expected, poison, by);
    if (found == CheckOutcome{}) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << to_string(at.place) << " finds " << found.bad << " of " << bytes
                                       << " bytes wrong, the first at " << found.first_bad << "; " << found.zero
                                       << " are zero, " << found.old << " are the old ones";
}

testing::AssertionResult Witness::copies(StreamView stream, const Buffer& to, const Buffer& from, CopyApi api) {
    return copies(stream, to, 0, from, 0, from.bytes(), api);
}

testing::AssertionResult Witness::copies(StreamView stream, const Buffer& to, std::uint64_t to_offset,
                                         const Buffer& from, std::uint64_t from_offset, std::uint64_t bytes,
                                         CopyApi api) {
    Content const content(++content_number_);
    auto const what = [&] {
        return from.text() + " to " + to.text() + ", issued by " + to_string(gpu(stream.device)) +
               (api == CopyApi::peer ? ", peer call: " : ", automatic call: ");
    };
    auto const shifted = [](Pattern pattern, std::uint64_t offset) { return Pattern{pattern.key, offset}; };
    fill(from.at(), from.bytes(), content.data);
    fill(to.at(), to.bytes(), content.poison);
    driver_.copy(stream, {to.at(to_offset), from.at(from_offset), bytes, api});
    driver_.synchronize(stream);

    auto const end = to_offset + bytes;
    auto result =
        holds(to.at(to_offset), bytes, shifted(content.data, from_offset), shifted(content.poison, to_offset));
    if (result && to_offset != 0) {
        result = holds(to.at(), to_offset, content.poison, content.data) << " (before the destination)";
    }
    if (result && end != to.bytes()) {
        result = holds(to.at(end), to.bytes() - end, shifted(content.poison, end), content.data)
                 << " (after the destination)";
    }
    if (result) {
        result = holds(from.at(), from.bytes(), content.data, content.poison) << " (the source)";
    }
    return result ? testing::AssertionSuccess() : testing::AssertionFailure() << what() << result.message();
}

testing::AssertionResult Witness::reached(const Buffer& memory, int accessor, std::optional<StreamView> owner_stream) {
    Content const stored(++content_number_), loaded(++content_number_);
    auto const in = stream(accessor);
    auto const bytes = memory.bytes();

    fill(memory.at(), bytes, stored.poison, owner_stream);
    FillArguments const store{memory.address(), bytes, stored.data, 16};
    driver_.launch(in, fill_kernel, &store);
    driver_.synchronize(in);
    auto result = holds(memory.at(), bytes, stored.data, stored.poison, owner_stream);
    if (!result) {
        return result << " (stored by " << to_string(gpu(accessor)) << " into " << memory.text() << ")";
    }

    Buffer const local(driver_, gpu(accessor), MemoryKind::plain, bytes);
    fill(memory.at(), bytes, loaded.data, owner_stream);
    fill(local.at(), bytes, loaded.poison);
    CopyArguments const load{local.address(), memory.address(), bytes, 16};
    driver_.launch(in, copy_kernel, &load);
    driver_.synchronize(in);
    return holds(local.at(), bytes, loaded.data, loaded.poison)
           << " (loaded by " << to_string(gpu(accessor)) << " from " << memory.text() << ")";
}

}  // namespace peerlane::conformance
