#pragma once
/// The built command, run as a user runs it.

#include <string>
#include <vector>

namespace peerlane::cli_tests {

struct Ran {
    int status = -1;  ///< 128 + signal when a signal ended it
    std::string out, err;
};

struct How {
    std::string input{};                     ///< standard input
    std::string out_to{};                    ///< a file that takes standard output; "closed": it is closed
    std::vector<std::string> environment{};  ///< added: "NO_COLOR=1"
    std::string folder{};                    ///< to run in; empty: this one
};

Ran peerlane(const std::vector<std::string>& arguments, const How& how = {});
/// The words of one line, split at blanks.
Ran typed(const std::string& line, const How& how = {});

/// By the shell, with the command first on PATH.
Ran shell(const std::string& command, const How& how = {});

/// A fresh folder that is gone when the test ends.
class Folder {
  public:
    Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
    /// Writes it and gives its path.
    std::string file(const std::string& name, const std::string& text) const;
    [[nodiscard]] std::vector<std::string> names() const;

  private:
    std::string path_;
};

std::string text_of(const std::string& path);

}  // namespace peerlane::cli_tests
