#include "measure/json_lines.hpp"

#include <algorithm>

namespace peerlane::measuring {
namespace {

/// Walks over well-formed JSON without recursion, so that depth costs nothing.
class Walker {
  public:
    explicit Walker(std::string_view text) : text_(text) { blanks(); }

    [[nodiscard]] std::size_t at() const { return at_; }

    /// To the value behind this step of the value that begins here; false when it is not there.
    bool enter(const JsonStep& step) {
        auto const* const key = std::get_if<std::string>(&step);
        if (peek() != (key != nullptr ? '{' : '[')) {
            return false;
        }
        take();
        for (std::size_t index = 0; peek() != '}' && peek() != ']' && peek() != '\0'; ++index) {
            bool here = key == nullptr && index == std::get<std::size_t>(step);
            if (key != nullptr) {
                here = string() == *key;
                take();  // the colon
            }
            if (here) {
                return true;
            }
            skip();
            if (peek() == ',') {
                take();
            }
        }
        return false;
    }

  private:
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void take() {
        ++at_;
        blanks();
    }
    void blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

    /// What stands between the quotes, as written.
    std::string_view string() {
        auto const begin = ++at_;
        while (at_ < text_.size() && text_[at_] != '"') {
            at_ += text_[at_] == '\\' ? 2 : 1;
        }
        auto const end = std::min(at_, text_.size());
        at_ = end;
        take();
        return text_.substr(begin, end - begin);
    }

    void skip() {
        int depth = 0;
        do {
            auto const c = peek();
            if (c == '\0') {
                return;
            }
            if (c == '"') {
                string();
            } else if (c == '{' || c == '[') {
                ++depth;
                take();
            } else if (c == '}' || c == ']') {
                --depth;
                take();
            } else if (c == ',' || c == ':') {
                take();
            } else {
                at_ = std::min(text_.find_first_of(",:]}{[\" \t\r\n", at_), text_.size());
                blanks();
            }
        } while (depth > 0);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

int line_at(std::string_view text, std::size_t offset) {
    auto const before = text.substr(0, std::min(offset, text.size()));
    return 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

int line_of(std::string_view text, std::span<const JsonStep> path) {
    Walker walker(text);
    auto found = walker.at();
    for (auto const& step : path) {
        if (!walker.enter(step)) {
            break;
        }
        found = walker.at();
    }
    return line_at(text, found);
}

}  // namespace peerlane::measuring
