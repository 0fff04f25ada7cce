#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peerlane/error.hpp>
#include <peerlane/verdict_cache.hpp>

#include "prove/child_process.hpp"

namespace peerlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "peerlane.cache/1";
constexpr double most_wait_s = 2;

/// A file of ours, closed with its lock.
class File {
  public:
    File(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    [[nodiscard]] bool open() const { return number_ >= 0; }

    /// False when somebody else had it all the time.
    bool lock() const {
        auto const deadline = prove::after(most_wait_s);
        while (::flock(number_, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR) {
                return true;  // a file system without locks: the rename is atomic all the same
            }
            if (prove::Clock::now() >= deadline) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return true;
    }

    bool write(std::string_view text) const {
        while (!text.empty()) {
            auto const wrote = ::write(number_, text.data(), text.size());
            if (wrote < 0 && errno != EINTR) {
                return false;
            }
            text.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
        }
        return ::fsync(number_) == 0;
    }

  private:
    int number_;
};

StoredVerdicts understood(const std::string& text, const std::string& path) {
    auto const json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("schema") || json["schema"] != schema) {
        throw InputError(path, 0, fmt::format("is no {}", schema));
    }
    StoredVerdicts stored;
    if (!json.contains("key") || !json["key"].is_object() || !json.contains("verdicts")) {
        throw InputError(path, 0, "lacks its key or its verdicts");
    }
    for (auto const& [name, value] : json["key"].items()) {
        if (!value.is_string()) {
            throw InputError(path, 0, "its key is not made of texts");
        }
        stored.key.parts.emplace_back(name, value.get<std::string>());
    }
    stored.verdicts = read_verdicts(json["verdicts"].dump(), path);
    return stored;
}

}  // namespace

CacheAnswer read_verdict_cache(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return {{}, errno == ENOENT || errno == ENOTDIR ? "" : fmt::format("{}: {}", path, std::strerror(errno))};
    }
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    try {
        return {understood(text, path), {}};
    } catch (const InputError& error) {
        return {{}, error.what()};
    }
}

std::string write_verdict_cache(const std::string& path, const StoredVerdicts& verdicts) {
    auto const failed = [&] { return fmt::format("{}: {}", path, std::strerror(errno)); };
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    File const lock(path + ".lock", O_RDWR | O_CREAT);
    if (!lock.open()) {
        return failed();
    }
    if (!lock.lock()) {
        return fmt::format("{}: another process holds its lock", path);
    }
    Json key = Json::object();
    for (auto const& part : verdicts.key.parts) {
        key[part.first] = part.second;
    }
    auto const text =
        fmt::format("{{\"schema\":\"{}\",\n\"key\":{},\n\"verdicts\":{}}}\n", schema,
                    key.dump(-1, ' ', false, Json::error_handler_t::replace), write_verdicts(verdicts.verdicts, -1));
    auto const fresh = fmt::format("{}.{}.tmp", path, ::getpid());
    File const file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.open()) {
        return failed();
    }
    if (!file.write(text) || ::rename(fresh.c_str(), path.c_str()) != 0) {
        auto const why = failed();
        ::unlink(fresh.c_str());
        return why;
    }
    return {};
}

}  // namespace peerlane
