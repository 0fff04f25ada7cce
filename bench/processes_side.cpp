#include "processes_side.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <peerlane/error.hpp>

#include "kernels/check.hpp"
#include "kernels/copy.hpp"
#include "kernels/fill.hpp"
#include "kernels/kernel.hpp"

namespace peerlane::bench {
namespace {

AllocationRequest request_of(int device, const std::string& kind, std::uint64_t bytes, std::optional<PoolId> pool) {
    AllocationRequest request{gpu(device), bytes + shared_at, MemoryKind::plain};
    if (kind == "pool") {
        request.kind = MemoryKind::pool;
        request.pool = pool;
    } else if (kind == "virtual") {
        request.kind = MemoryKind::virtual_memory;
        request.exportable = true;
    }
    return request;
}

double seconds_of(Driver& driver, StreamView stream, const std::function<void()>& submit) {
    auto const start = driver.now();
    submit();
    driver.synchronize(stream);
    return driver.now() - start;
}

std::string hex(const std::string& bytes) {
    std::string text;
    for (auto const c : bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    return text;
}

std::string unhex(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

}  // namespace

Ready trusted(const Driver& driver) {
    Ready ready;
    ready.machine = driver.machine();
    ready.trust_claimed = true;
    return ready;
}

Buffer::Buffer(Driver& driver, int device, const std::string& kind, std::uint64_t bytes) : driver_(driver) {
    if (kind == "pool") {
        pool_ = driver.create_pool(device);
    }
    memory_ = Allocation(driver, request_of(device, kind, bytes, pool_));
    driver.synchronize_device(device);  // pool memory is there in order of a stream
}

Buffer::Buffer(Buffer&& other) noexcept
    : driver_(other.driver_), pool_(std::exchange(other.pool_, std::nullopt)), memory_(std::move(other.memory_)) {}

Buffer::~Buffer() {
    memory_ = {};
    if (pool_) {
        try {
            driver_.destroy_pool(*pool_);
        } catch (const std::exception&) {  // after a device error nothing can be given back
        }
    }
}

Worker::Worker(Driver& driver, int device, const Sizes& sizes)
    : driver_(driver),
      sizes_(sizes),
      stream_(driver, device),
      outcomes_(driver, {host(), sizeof(CheckOutcome) * std::max<std::uint64_t>(sizes.pages, 1), MemoryKind::pinned}),
      to_(sizes.pages),
      from_(sizes.pages) {
    std::iota(to_.begin(), to_.end(), 0);
    std::iota(from_.begin(), from_.end(), 0);
    std::mt19937 random(1);
    std::shuffle(to_.begin(), to_.end(), random);
    std::shuffle(from_.begin(), from_.end(), random);
}

void Worker::fill(void* at, std::uint64_t key) {
    FillArguments const arguments{address_of(at), sizes_.bytes, {key, 0}, 16};
    driver_.launch(stream(), fill_kernel, &arguments);
    driver_.synchronize(stream());
}

std::uint64_t Worker::bad_in(std::size_t outcomes) const {
    std::vector<CheckOutcome> found(outcomes);
    driver_.read_host(outcomes_.address(), found.data(), found.size() * sizeof found[0]);
    return std::accumulate(found.begin(), found.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const CheckOutcome& one) { return sum + one.bad; });
}

std::uint64_t Worker::check(const void* at, std::uint64_t key) {
    CheckArguments const arguments{address_of(at), sizes_.bytes, {key, 0}, {}, outcomes_.address()};
    driver_.launch(stream(), check_kernel, &arguments);
    driver_.synchronize(stream());
    return bad_in(1);
}

std::uint64_t Worker::check_pages(const void* at, std::uint64_t key) {
    for (std::size_t i = 0; i < to_.size(); ++i) {
        CheckArguments const arguments{address_of(at) + static_cast<std::uint64_t>(to_[i]) * page_bytes, page_bytes,
                                       Pattern{key, static_cast<std::uint64_t>(from_[i]) * page_bytes}, Pattern{},
                                       outcomes_.address() + i * sizeof(CheckOutcome)};
        driver_.launch(stream(), check_kernel, &arguments, {1, 256});
    }
    driver_.synchronize(stream());
    return bad_in(to_.size());
}

Runs Worker::move(Mover& mover, void* to, const void* from, bool pages) {
    PageCopy list;
    list.dst = to;
    list.src = from;
    list.page_bytes = page_bytes;
    list.dst_index = to_.data();
    list.src_index = from_.data();
    list.count = to_.size();
    auto const once = [&] {
        return seconds_of(driver_, stream(), [&] {
            if (pages) {
                mover.copy_pages(list, stream());
            } else {
                mover.copy(to, from, sizes_.bytes, stream());
            }
        });
    };
    // The first ones map and make staging memory, and a host that waited for the other process is slow for a while: its
    // work for a list is an eighth of the time.
    constexpr double warm_s = 0.05;
    double spent = once() + once();
    while (spent < warm_s && sizes_.rounds > 1) {
        spent += once();
    }
    Runs runs;
    for (int i = 0; i < sizes_.rounds; ++i) {
        runs.push_back(once());
    }
    mover.check();
    std::sort(runs.begin(), runs.end());
    return runs;
}

Runs Worker::raw(int device, void* to, const void* from, const std::string& way) {
    Runs runs;
    for (int i = 0; i < sizes_.rounds + 2; ++i) {
        auto const seconds = seconds_of(driver_, stream(), [&] {
            if (way == "automatic" || way == "peer") {
                driver_.copy(stream(), {{gpu(device), address_of(to)},
                                        {gpu(device), address_of(from)},
                                        sizes_.bytes,
                                        way == "peer" ? CopyApi::peer : CopyApi::automatic});
            } else {
                CopyArguments const arguments{address_of(to), address_of(from), sizes_.bytes, 16};
                driver_.launch(stream(), copy_kernel, &arguments, {static_cast<unsigned>(std::stoul(way)), 512});
            }
        });
        if (i >= 2) {
            runs.push_back(seconds);
        }
    }
    std::sort(runs.begin(), runs.end());
    return runs;
}

Side::Side(Driver& driver, int device, const Sizes& sizes, PeerChannel channel)
    : driver_(driver),
      device_(device),
      share_(driver, {step_s}),
      mover_(driver, trusted(driver)),
      worker_(driver, device, sizes),
      peering_(share_, std::move(channel)) {
    for (std::string const kind : memory_kinds) {
        auto const entry = own_.emplace(kind, Buffer(driver, device, kind, sizes.bytes)).first;
        offered_[kind] = peering_.offer(entry->second.at(), sizes.bytes);
    }
    take_all();
}

void Side::take_all() {
    for (std::string const kind : memory_kinds) {
        theirs_[kind] = peering_.take(device_, step_s);
    }
    for (auto const& [kind, id] : offered_) {
        peering_.settle(id, step_s);
    }
}

std::string Side::ask(const std::string& what) {
    peering_.send(what);
    auto answer = peering_.receive(step_s);
    if (answer.rfind("error ", 0) == 0) {
        throw std::runtime_error("the other process, asked to " + what + ": " + answer.substr(6));
    }
    return answer;
}

std::string Side::act(const std::string& what) {
    std::istringstream words(what);
    std::string verb, kind, word;
    std::uint64_t key = 0;
    words >> verb >> kind;
    if (verb == "event") {  // its token
        event_.emplace(driver_, device_, kind == "none" ? std::string() : unhex(kind));
        return "done";
    }
    auto& own = own_.at(kind);
    if (verb == "fill") {
        words >> key;
        worker_.fill(own.at(), key);
        return "done";
    }
    if (verb == "check" || verb == "check-pages") {
        words >> key;
        return std::to_string(verb == "check" ? worker_.check(own.at(), key) : worker_.check_pages(own.at(), key));
    }
    if (verb == "pull-after") {  // behind work of the other process that is not waited for
        words >> key;
        event_->wait(worker_.stream());
        mover_.copy(own.at(), theirs_.at(kind).data(), worker_.sizes().bytes, worker_.stream());
        driver_.synchronize(worker_.stream());
        return std::to_string(worker_.check(own.at(), key));
    }
    if (verb == "record") {  // and leaves the stream at work
        words >> key;
        if (!event_) {
            event_.emplace(driver_, device_);
        }
        FillArguments const arguments{address_of(own.at()), worker_.sizes().bytes, {key, 0}, 4};
        for (int i = 0; i < 8; ++i) {  // long enough that who does not wait reads old bytes
            driver_.launch(worker_.stream(), fill_kernel, &arguments);
        }
        event_->record(worker_.stream());
        return event_->token().empty() ? "none" : hex(event_->token());
    }
    words >> word;
    auto const pages = word == "pages";
    auto* const theirs = theirs_.at(kind).data();
    if (verb == "raw") {  // raw KIND push WAY
        std::string way;
        words >> way;
        return runs_text(word == "push" ? worker_.raw(device_, theirs, own.at(), way)
                                        : worker_.raw(device_, own.at(), theirs, way));
    }
    if (verb == "push") {
        return runs_text(worker_.move(mover_, theirs, own.at(), pages));
    }
    if (verb == "pull") {
        return runs_text(worker_.move(mover_, own.at(), theirs, pages));
    }
    throw std::invalid_argument("no such order: " + what);
}

void Side::serve() {
    for (;;) {
        auto const what = peering_.receive(step_s);
        if (what == "end") {
            break;
        }
        std::string answer;
        try {
            answer = act(what);
        } catch (const PeerGone&) {
            throw;
        } catch (const std::exception& error) {
            answer = std::string("error ") + error.what();
        }
        peering_.send(answer);
    }
    end();
}

void Side::finish() {
    peering_.send("end");
    end();
}

void Side::end() {
    event_.reset();
    for (auto& [kind, import] : theirs_) {
        peering_.close(std::move(import));
    }
    theirs_.clear();
    for (auto const& [kind, id] : offered_) {
        peering_.withdraw(id, step_s);
    }
    own_.clear();
    if (auto const left = share_.findings(); !left.empty()) {
        throw std::runtime_error("left behind: " + left.front().evidence.front());
    }
}

std::string Side::move_until_gone(const std::function<void()>& moving) {
    auto& import = theirs_.at("plain");
    moving();
    for (;;) {
        try {
            mover_.copy(own_.at("plain").at(), import.data(), worker_.sizes().bytes, worker_.stream());
            driver_.synchronize(worker_.stream());
        } catch (const Error& error) {
            return fmt::format("process {} is {}: {}", peering_.channel().process(),
                               peering_.channel().alive() ? "alive" : "gone", error.what());
        }
        if (!peering_.channel().alive()) {
            return fmt::format("process {} is gone", peering_.channel().process());
        }
    }
}

std::string runs_text(const Runs& runs) {
    std::string text;
    for (auto const seconds : runs) {
        text += fmt::format("{:.9f} ", seconds);
    }
    return text;
}

Runs read_runs(const std::string& text) {
    std::istringstream words(text);
    Runs runs;
    for (double seconds = 0; words >> seconds;) {
        runs.push_back(seconds);
    }
    return runs;
}

}  // namespace peerlane::bench
