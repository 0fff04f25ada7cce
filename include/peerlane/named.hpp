#pragma once
/// Machines by name or by file. The named ones are part of the library; reading files happens here and nowhere else in
/// it.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <peerlane/simulated.hpp>

namespace peerlane {

struct NamedMachine {
    std::string name;   ///< "dgx-1v"
    std::string about;  ///< one line: what it is
    int devices = 0;
    std::string document;  ///< `peerlane.machine/1`, with the key "simulation"
};

/// All of them, by name. Made at the first call; safe from several threads.
const std::vector<NamedMachine>& named_machines();

/// Neither a named machine nor a file.
class NoSuchMachine : public std::runtime_error {
  public:
    NoSuchMachine(const std::string& asked, std::vector<std::string> similar);
    [[nodiscard]] const std::string& asked() const noexcept { return asked_; }
    /// Named machines whose names are near, nearest first; may be empty.
    [[nodiscard]] const std::vector<std::string>& similar() const noexcept { return similar_; }

  private:
    std::string asked_;
    std::vector<std::string> similar_;
};

/// Of `known`, those that a person who typed `word` may have meant, nearest first, at most three.
std::vector<std::string> similar_words(std::string_view word, const std::vector<std::string>& known);

/// The whole file, "-" for standard input. Throws NoSuchMachine when it is not there, InputError when it is a folder,
/// cannot be read or is larger than a description of a machine can be (256 MiB).
std::string read_input(const std::string& path);

/// `name_or_path`: a named machine, `sim:...` (a machine in one line), "-" (standard input) or a file in any format
/// that a reader knows. A file whose name is that of a named machine is meant by "./name". Throws NoSuchMachine and
/// InputError.
SimulatedMachine load_machine(const std::string& name_or_path);

/// Several descriptions of one machine, merged (peerlane/merge.hpp); figures of the simulation are those of the first
/// that has some. `fabric`: as with_fabric takes it; empty for none. Throws also std::invalid_argument when there is no
/// description or `fabric` is not of that form.
SimulatedMachine load_machines(const std::vector<std::string>& names_or_paths, const std::string& fabric = {});

}  // namespace peerlane
