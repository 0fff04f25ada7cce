#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include <peerlane/audit.hpp>

namespace peerlane::audit {

/// Findings, each cause once: the same between the same parties again only counts.
class Book {
  public:
    /// `key` tells causes of one code apart.
    void add(AuditFinding finding, const std::string& key) {
        const auto known = places_.emplace(finding.code + '\n' + key, findings_.size());
        if (known.second) {
            findings_.push_back(std::move(finding));
        } else {
            ++findings_[known.first->second].count;
        }
    }
    [[nodiscard]] bool has(const std::string& code, const std::string& key) const {
        return places_.count(code + '\n' + key) > 0;
    }
    /// Counts once more what was found already; false when it was not, so that texts are made only then.
    bool again(const std::string& code, const std::string& key) {
        const auto known = places_.find(code + '\n' + key);
        if (known == places_.end()) {
            return false;
        }
        ++findings_[known->second].count;
        return true;
    }
    [[nodiscard]] const std::vector<AuditFinding>& all() const { return findings_; }

  private:
    std::vector<AuditFinding> findings_{};
    std::unordered_map<std::string, std::size_t> places_{};
};

}  // namespace peerlane::audit
