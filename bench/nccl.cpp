#include "nccl.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <numeric>
#include <stdexcept>

namespace peerlane::bench {

// As NCCL documents its interface; only what is called here. Results and types are ints there too.
struct NcclGroup::Library {
    using Comm = void*;
    static constexpr int byte = 0;  // ncclInt8
    void* handle = nullptr;
    std::vector<Comm> comms{};
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
    bool find_all() {
        return find(get_version, "ncclGetVersion") && find(init_all, "ncclCommInitAll") &&
               find(destroy, "ncclCommDestroy") && find(group_start, "ncclGroupStart") &&
               find(group_end, "ncclGroupEnd") && find(send, "ncclSend") && find(receive, "ncclRecv") &&
               find(error, "ncclGetErrorString");
    }
    void check(int result) const {
        if (result != 0) {
            throw std::runtime_error(std::string("NCCL: ") + error(result));
        }
    }
};

NcclGroup::NcclGroup(std::unique_ptr<Library> library) : library_(std::move(library)) {}

std::unique_ptr<NcclGroup> NcclGroup::open(int devices, std::string& reason) {
    // Sends and receives need no multicast, which can take devices of a shared host out of service.
    (void)::setenv("NCCL_NVLS_ENABLE", "0", 1);
    auto library = std::make_unique<Library>();
    library->handle = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library->handle == nullptr) {
        reason = ::dlerror();
        return nullptr;
    }
    if (!library->find_all()) {
        reason = "libnccl.so.2 lacks a function";
        return nullptr;
    }
    std::vector<int> all(static_cast<std::size_t>(devices));
    std::iota(all.begin(), all.end(), 0);
    library->comms.resize(all.size());
    if (auto const result = library->init_all(library->comms.data(), devices, all.data()); result != 0) {
        reason = std::string("NCCL does not start: ") + library->error(result);
        return nullptr;
    }
    return std::unique_ptr<NcclGroup>(new NcclGroup(std::move(library)));
}

NcclGroup::~NcclGroup() {
    for (auto* const comm : library_->comms) {
        library_->destroy(comm);
    }
}

void NcclGroup::send(const std::vector<NcclSend>& sends, const std::vector<StreamView>& streams) {
    auto& l = *library_;
    auto const of = [&](int device) {
        auto const at = static_cast<std::size_t>(device);
        return std::pair{l.comms.at(at), reinterpret_cast<void*>(streams.at(at).handle)};
    };
    l.check(l.group_start());
    for (auto const& one : sends) {
        auto const [sender, out] = of(one.from);
        auto const [receiver, in] = of(one.to);
        l.check(l.send(pointer_to(one.source), one.bytes, Library::byte, one.to, sender, out));
        l.check(l.receive(pointer_to(one.destination), one.bytes, Library::byte, one.from, receiver, in));
    }
    l.check(l.group_end());
}

int NcclGroup::version() const {
    int version = 0;
    library_->check(library_->get_version(&version));
    return version;
}

}  // namespace peerlane::bench
