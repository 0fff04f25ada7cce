#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <sys/stat.h>

#include <fmt/format.h>

#include <peerlane/error.hpp>
#include <peerlane/named.hpp>

namespace peerlane {
namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 20;

struct CloseFile {
    void operator()(std::FILE* file) const {
        if (file != stdin) {
            static_cast<void>(std::fclose(file));
        }
    }
};

std::vector<std::string> similar_machines(const std::string& asked) {
    std::vector<std::string> names;
    for (auto const& machine : named_machines()) {
        names.push_back(machine.name);
    }
    return similar_words(asked, names);
}

}  // namespace

namespace {

std::string read_all(const std::string& path) {
    std::unique_ptr<std::FILE, CloseFile> const file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
    if (!file) {
        auto const why = errno;
        if (why == ENOENT || why == ENOTDIR || why == ENAMETOOLONG || path.empty()) {
            throw NoSuchMachine(path, similar_machines(path));
        }
        throw InputError(path, 0, fmt::format("cannot be opened: {}", std::strerror(why)));
    }
    struct stat what {};
    if (fstat(fileno(file.get()), &what) == 0 && S_ISDIR(what.st_mode)) {
        throw InputError(path, 0, "is a folder, not a description of a machine");
    }
    auto const name = path == "-" ? std::string("standard input") : path;
    auto const too_large = [&] { return InputError(name, 0, fmt::format("is larger than {} MiB", most_bytes >> 20)); };
    if (S_ISREG(what.st_mode) && static_cast<std::size_t>(what.st_size) > most_bytes) {
        throw too_large();
    }
    std::string text;
    std::size_t got = 0;
    do {
        auto const before = text.size();
        text.resize(before + (before < 65536 ? 65536 : before));
        got = std::fread(text.data() + before, 1, text.size() - before, file.get());
        text.resize(before + got);
        if (text.size() > most_bytes) {
            throw too_large();
        }
    } while (got > 0);
    if (std::ferror(file.get()) != 0) {
        throw InputError(name, 0, fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    return text;
}

}  // namespace

std::string read_input(const std::string& path) {
    if (path != "-") {
        return read_all(path);
    }
    // It can be read once only, and is asked for again where the first look was at what kind of document it is.
    static auto const standard_input = read_all(path);
    return standard_input;
}

}  // namespace peerlane
