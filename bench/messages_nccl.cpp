#include "messages_nccl.hpp"

#include <dlfcn.h>

#include <array>
#include <stdexcept>

namespace peerlane::bench {

// As NCCL documents its interface; only what is called here. Results and types are ints there too.
struct Nccl::Library {
    using Comm = void*;
    static constexpr int byte = 0;  // ncclInt8
    void* handle = nullptr;
    std::array<Comm, 2> comms{};
    int (*get_version)(int*) = nullptr;
    int (*init_all)(Comm*, int, const int*) = nullptr;
    int (*destroy)(Comm) = nullptr;
    int (*group_start)() = nullptr;
    int (*group_end)() = nullptr;
    int (*send)(const void*, std::size_t, int, int, Comm, void*) = nullptr;
    int (*receive)(void*, std::size_t, int, int, Comm, void*) = nullptr;
    const char* (*error)(int) = nullptr;

    template <class Function>
    bool find(Function*& function, const char* name) {
        function = reinterpret_cast<Function*>(::dlsym(handle, name));
        return function != nullptr;
    }
    void check(int result) const {
        if (result != 0) {
            throw std::runtime_error(std::string("NCCL: ") + error(result));
        }
    }
};

Nccl::Nccl(std::unique_ptr<Library> library) : library_(std::move(library)) {}

std::unique_ptr<Nccl> Nccl::open(int from, int to, std::string& reason) {
    auto library = std::make_unique<Library>();
    library->handle = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library->handle == nullptr) {
        reason = ::dlerror();
        return nullptr;
    }
    auto& l = *library;
    if (!l.find(l.get_version, "ncclGetVersion") || !l.find(l.init_all, "ncclCommInitAll") ||
        !l.find(l.destroy, "ncclCommDestroy") || !l.find(l.group_start, "ncclGroupStart") ||
        !l.find(l.group_end, "ncclGroupEnd") || !l.find(l.send, "ncclSend") || !l.find(l.receive, "ncclRecv") ||
        !l.find(l.error, "ncclGetErrorString")) {
        reason = "the library lacks a function";
        return nullptr;
    }
    int const devices[2] = {from, to};
    if (auto const result = l.init_all(l.comms.data(), 2, devices); result != 0) {
        reason = l.error(result);
        return nullptr;
    }
    return std::unique_ptr<Nccl>(new Nccl(std::move(library)));
}

Nccl::~Nccl() {
    for (auto* const comm : library_->comms) {
        library_->destroy(comm);
    }
}

void Nccl::send(Address to, Address from, std::uint64_t bytes, StreamView sender, StreamView receiver) {
    auto& l = *library_;
    auto const native = [](StreamView stream) { return reinterpret_cast<void*>(stream.handle); };
    l.check(l.group_start());
    l.check(l.send(pointer_to(from), bytes, Library::byte, 1, l.comms[0], native(sender)));
    l.check(l.receive(pointer_to(to), bytes, Library::byte, 0, l.comms[1], native(receiver)));
    l.check(l.group_end());
}

int Nccl::version() const {
    int version = 0;
    library_->check(library_->get_version(&version));
    return version;
}

}  // namespace peerlane::bench
