#include <peerlane/host_segment.hpp>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <peerlane/error.hpp>

namespace peerlane {
namespace {

[[noreturn]] void fail(int code, const char* call, const std::string& cure) {
    throw Error({code, call, -1, -1, cure});
}

std::string system_text() {
    return std::strerror(errno);
}

}  // namespace

HostSegment::HostSegment(std::uint64_t bytes) : bytes_(bytes) {
    if (bytes == 0) {
        throw std::invalid_argument("host segment: 0 bytes");
    }
    file_ = Descriptor(::memfd_create("peerlane", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file_.number() < 0 || ::ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0) {
        fail(code::out_of_memory, "memfd_create", fmt::format("{} bytes of host memory: {}", bytes, system_text()));
    }
    // Nobody may shrink it under those that map it: touching it would end them.
    static_cast<void>(::fcntl(file_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
    map();
}

HostSegment::HostSegment(const Descriptor& descriptor, std::uint64_t bytes) : bytes_(bytes) {
    struct stat what {};
    if (descriptor.number() < 0 || ::fstat(descriptor.number(), &what) != 0 || !S_ISREG(what.st_mode) ||
        static_cast<std::uint64_t>(what.st_size) != bytes || bytes == 0) {
        fail(code::invalid_value, "import of host memory", "the descriptor is not host memory of the size told");
    }
    auto const seals = ::fcntl(descriptor.number(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        fail(code::invalid_value, "import of host memory",
             "its owner could shrink it while it is mapped here: export memory of Share::allocate_host");
    }
    file_ = Descriptor(::fcntl(descriptor.number(), F_DUPFD_CLOEXEC, 0));
    if (file_.number() < 0) {
        fail(code::out_of_memory, "dup", system_text());
    }
    map();
}

void HostSegment::map() {
    auto* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
    if (at == MAP_FAILED) {
        fail(code::out_of_memory, "mmap", fmt::format("{} bytes of host memory: {}", bytes_, system_text()));
    }
    data_ = at;
}

HostSegment::HostSegment(HostSegment&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

HostSegment& HostSegment::operator=(HostSegment&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

HostSegment::~HostSegment() {
    if (data_ != nullptr) {
        ::munmap(data_, bytes_);
    }
}

Descriptor HostSegment::descriptor() const {
    Descriptor copy(::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0));
    if (copy.number() < 0) {
        fail(code::out_of_memory, "dup", system_text());
    }
    return copy;
}

}  // namespace peerlane
