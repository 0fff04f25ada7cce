#pragma once
/// One fault fact:NAME=VALUE taken apart. A name is a head and what it is about: "acs:0000:40:01.1", "nvlink:0:3"; dots
/// and brackets stand for colons ("nvlink[0].active", "env.CUDA_VISIBLE_DEVICES").

#include <string>
#include <utility>
#include <vector>

#include <peerlane/facts.hpp>

namespace peerlane::fact_words {

/// More links than any device has.
inline constexpr int nvml_most_links_told = 64;

class Word {
  public:
    explicit Word(const Fault& fault);
    std::string head, subject, value;

    /// Throws InputError: "fact:NAME=VALUE: reason".
    [[noreturn]] void refuse(const std::string& reason) const;
    /// What the value stands for; refuses with the known words.
    template <class T>
    T one_of(const std::vector<std::pair<std::string, T>>& words) const {
        std::string all;
        for (auto const& [word, meaning] : words) {
            if (word == value) {
                return meaning;
            }
            all += (all.empty() ? "" : ", ") + word;
        }
        refuse("the value can be " + all);
    }
    [[nodiscard]] int count() const { return number(value, 1'000'000); }
    /// 0 to `most`.
    [[nodiscard]] int number(const std::string& text, int most) const;
    [[nodiscard]] unsigned hexadecimal() const;
    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] double seconds() const;
    [[nodiscard]] std::string version() const;
    /// "error:800" -> 800, "ok" -> 0.
    [[nodiscard]] int error_code() const;
    /// "gen4x16", "gen1", "x4".
    [[nodiscard]] PciRate link_rate() const;
    /// The subject as a bus address.
    [[nodiscard]] std::optional<std::string> address() const;
    /// The value without quotes around it.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool is_list() const { return !value.empty() && value.front() == '['; }
    /// "[0,2]" or "[01:00.0,41:00.0]": devices by number or address.
    [[nodiscard]] std::vector<std::string> list_of_buses(const Facts& facts) const;

  private:
    std::string whole_;
};

/// Addresses of the devices that `which` names: a number, an address, "any" or "*". Refuses what is none of them.
std::vector<std::string> buses(const Facts& facts, const Word& word, const std::string& which);
std::vector<std::string> all_buses(const Facts& facts);
/// The function with this address; made where there is none.
PciFunction& function(Facts& facts, const std::string& bus);
NvmlDevice* managed(Facts& facts, const std::string& bus);
NvmlPair& pair(Facts& facts, const std::string& accessor, const std::string& owner);
/// Gives the devices these addresses in this order: existing ones are put in order, new ones rename.
void set_order(Facts& facts, const std::vector<std::string>& order);
/// `up` active links, then `down` inactive ones.
std::vector<NvmlLink> links(int up, int down);
/// How many the part has, 4 where that is not known.
int usual_links(const NvmlDevice& device);

/// A bridge that shows its access control.
PciFunction bridge(const std::string& bus, unsigned control);
/// A device that nothing is known to be above gets a root port.
void give_port(Facts& facts, const std::string& bus);

/// The heads that apply_facts knows.
std::vector<std::string> heads();

}  // namespace peerlane::fact_words
