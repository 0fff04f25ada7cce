#include "cli/command.hpp"

namespace peerlane::cli {

const std::vector<Command>& commands() {
    static const std::vector<Command> table{
        topo_command(), doctor_command(), advise_command(),   compare_command(), measure_command(),
        plan_command(), copy_command(),   simulate_command(), audit_command(),
    };
    return table;
}

}  // namespace peerlane::cli
