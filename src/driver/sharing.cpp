#include <peerlane/driver/sharing.hpp>

#include <unistd.h>

namespace peerlane {

Descriptor::~Descriptor() {
    if (number_ >= 0) {
        ::close(number_);
    }
}

}  // namespace peerlane
