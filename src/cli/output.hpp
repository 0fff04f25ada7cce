#pragma once
/// Where results go: standard output, and the file of --save. Progress and errors go to standard error.

#include <memory>
#include <string>
#include <string_view>

#include "cli/globals.hpp"

namespace peerlane::cli {

/// Takes care that the three standard streams are open, so that no file of ours takes the place of one, and that a
/// reader who went away is an error of writing, not our end.
void prepare_streams();

/// A file that appears whole or not at all.
class SaveFile {
  public:
    /// Throws OutputError when it could not be written later on: status `missing` where the folder does not exist.
    explicit SaveFile(std::string path);
    SaveFile(const SaveFile&) = delete;
    SaveFile& operator=(const SaveFile&) = delete;
    ~SaveFile();
    /// Throws OutputError; then nothing is left behind, and what stood there before still does.
    void write(std::string_view text);

  private:
    [[noreturn]] void fail(int why) const;
    std::string path_;       ///< as asked
    std::string target_;     ///< with links followed
    std::string temporary_;  ///< empty: written in place (a pipe, a device)
    int file_ = -1;
};

class Output {
  public:
    /// `save`: empty for none.
    Output(const std::string& save, Color color);
    ~Output();
    /// To standard output. Throws OutputError when it cannot take it, but not when its reader went away.
    void print(std::string_view text);
    /// The document of --save, where that was asked for. At most once.
    void save(std::string_view document);
    [[nodiscard]] bool saving() const { return save_ != nullptr; }
    [[nodiscard]] bool color() const { return color_; }
    /// One line of progress that replaces the one before; only where standard error is a terminal. Empty: wipes it.
    void progress(std::string_view line);

  private:
    std::unique_ptr<SaveFile> save_;
    bool color_ = false;
    bool gone_ = false;
    bool progress_ = false;
    bool line_shown_ = false;
};

/// To standard error, with a line end.
void complain(std::string_view text);

/// Ends this process without giving anything back. What was printed and saved is out already.
[[noreturn]] void leave_at_once(int status);

}  // namespace peerlane::cli
