#include "play.hpp"
#include "table.hpp"

namespace peerlane::validation {

std::vector<Table> pair_tables() {
    return {};
}

}  // namespace peerlane::validation
