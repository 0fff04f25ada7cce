#pragma once
/// One process at a time, and the others see what it does. The lock is the kernel's: it goes with its holder, however
/// that ends.

#include <functional>
#include <optional>
#include <string>

#include <peerlane/driver/sharing.hpp>

namespace peerlane::preparing {

class MachineLock {
  public:
    /// A file beside what is locked; made where missing, never removed (those that wait hold it open). Throws Error 1
    /// where it cannot be made.
    explicit MachineLock(const std::string& path);
    MachineLock(const MachineLock&) = delete;
    MachineLock& operator=(const MachineLock&) = delete;

    /// Called about ten times a second while another process holds the lock, with what it says it does.
    using OnWait = std::function<void(const std::string& what)>;
    /// True once this process holds it; false when that is not within `seconds`.
    [[nodiscard]] bool acquire(double seconds, const OnWait& waiting);
    /// Another process held it meanwhile.
    [[nodiscard]] bool waited() const { return waited_; }
    /// Why the holder that this process waited for gave up; empty when it did not, or when it died.
    [[nodiscard]] std::optional<std::string> failure() const;
    /// For those that wait, from the holder.
    void say(const std::string& what);
    void fail(const std::string& why);
    void release();

  private:
    struct Note {
        char what = ' ';
        double at_s = 0;
        int process = 0;
        std::string text{};
    };
    [[nodiscard]] Note note() const;
    void write(char what, const std::string& text);
    Descriptor file_{};
    bool held_ = false, waited_ = false;
    double began_s_ = 0;
};

}  // namespace peerlane::preparing
