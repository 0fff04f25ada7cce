#pragma once
/// Text in, machine out. A reader is a pair of functions: does this text look like mine, and read it. The format is
/// detected from the content, never from the name. To add one: a file of its own, and a line in the table of read.cpp.

#include <string>
#include <string_view>
#include <vector>

#include <peerlane/error.hpp>
#include <peerlane/machine.hpp>

namespace peerlane::read {

struct Source {
    std::string_view name;  ///< of the file, for messages and notices
    std::string_view text;
};

struct Reader {
    const char* format;                         ///< "nvidia-smi topo -m", for messages
    bool (*recognizes)(std::string_view text);  ///< cheap; the first reader that says yes reads
    Machine (*read)(const Source& source);      ///< throws InputError: file:line: reason
    bool in_pastes = false;                     ///< its text may stand beside that of others in one paste
};

/// The table, in the order in which readers are asked.
const std::vector<Reader>& readers();

/// Detects the format and reads. Throws InputError when no reader knows the text (the message names what was looked
/// for).
Machine read_machine(const Source& source);

}  // namespace peerlane::read
