// Changes of XML as it travels through editors, shells and tickets: those that keep the meaning give the same machine;
// a cut text is refused.

#include <functional>
#include <random>
#include <regex>

#include <gtest/gtest.h>

#include "support.hpp"

namespace peerlane::test {
namespace {

std::string system_xml() {
    return R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:0a:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:0b:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:0c:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:0c:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0000:0b:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:ca:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="8">
      <gpu dev="2" sm="80" rank="2" gdr="1"/>
    </pci>
    <pci busid="0000:cb:00.0" class="0x020700" link_speed="" link_width="0">
      <nic>
        <net name="mlx5_0" dev="0" speed="100000" port="1" guid="0x1" maxconn="1" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
)";
}

std::string topology_xml() {
    return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000003">
    <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x00000001">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" local_memory="1024"/>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[00-1f]">
        <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:01.0" pci_type="0604 [10b5:8749] [0000:0000] ca" pci_link_speed="15.753846">
          <object type="PCIDev" gp_index="5" pci_busid="0000:0b:00.0" pci_type="0302 [10de:20b0] [10de:16c1] a1" pci_link_speed="31.507692"/>
          <object type="PCIDev" gp_index="6" pci_busid="0000:0c:00.0" pci_type="0302 [10de:20b0] [10de:16c1] a1" pci_link_speed="31.507692"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" local_memory="1024"/>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[c0-ff]">
        <object type="PCIDev" gp_index="7" pci_busid="0000:ca:00.0" pci_type="0302 [10de:20b0] [10de:16c1] a1" pci_link_speed="31.507692"/>
      </object>
    </object>
  </object>
</topology>
)";
}

std::string replaced(const std::string& text, const char* what, const std::string& with) {
    return std::regex_replace(text, std::regex(what), with);
}

std::string each_line(const std::string& text, const std::function<std::string(const std::string&)>& change) {
    std::string out;
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);) {
        out += change(line) + "\n";
    }
    return out;
}

std::string upper_addresses(std::string text) {
    std::regex const address("\"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]\"");
    std::string const plain = text;
    for (std::sregex_iterator at(plain.begin(), plain.end(), address), end; at != end; ++at) {
        for (auto i = at->position(); i < at->position() + at->length(); ++i) {
            auto& c = text[static_cast<std::size_t>(i)];
            c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        }
    }
    return text;
}

struct Change {
    const char* name;
    std::function<std::string(const std::string&)> apply;
};

const std::vector<Change>& keeping() {
    static const std::vector<Change> all{
        {"crlf", [](auto& t) { return each_line(t, [](auto& l) { return l + "\r"; }); }},
        {"old line ends", [](auto& t) { return replaced(t, "\n", "\r"); }},
        {"byte order mark", [](auto& t) { return "\xef\xbb\xbf" + t; }},
        {"comment marks", [](auto& t) { return each_line(t, [](auto& l) { return "# " + l; }); }},
        {"quote marks", [](auto& t) { return each_line(t, [](auto& l) { return "> " + l; }); }},
        {"times", [](auto& t) { return each_line(t, [](auto& l) { return "2024-05-05T10:00:00.1234567Z " + l; }); }},
        {"indented", [](auto& t) { return each_line(t, [](auto& l) { return "\t    " + l; }); }},
        {"trailing blanks", [](auto& t) { return each_line(t, [](auto& l) { return l + " \t"; }); }},
        {"colours", [](auto& t) { return each_line(t, [](auto& l) { return "\x1b[32m" + l + "\x1b[0m"; }); }},
        {"code fence", [](auto& t) { return "This is it:\n\n```xml\n" + t + "```\nThanks\n"; }},
        {"page", [](auto& t) { return "<details><summary>XML</summary>\n<pre>\n" + t + "</pre>\n</details>\n"; }},
        {"prompt", [](auto& t) { return "user@host:~$ cat topo.xml\n" + t + "user@host:~$ exit\n"; }},
        {"one line", [](auto& t) { return replaced(t, "\n *", ""); }},
        {"a line an attribute", [](auto& t) { return replaced(t, " ([a-z_]+=\")", "\n    $1"); }},
        {"single quotes", [](auto& t) { return replaced(t, "=\"([^\"]*)\"", "='$1'"); }},
        {"comments between", [](auto& t) { return replaced(t, "(<cpu|<object)", "<!-- <a> \" -->$1"); }},
        {"ends of their own", [](auto& t) { return replaced(t, "<([a-z]+)([^<>]*)/>", "<$1$2></$1>"); }},
        {"characters by number", [](auto& t) { return replaced(t, "0000:", "0000&#58;"); }},
        {"attributes of the future", [](auto& t) { return replaced(t, "<(pci|cpu|object) ", "<$1 later=\"1\" "); }},
        {"elements of the future",
         [](auto& t) { return replaced(t, "(<pci |<object type=\"PCIDev)", "<later a=\"1\"/>$1"); }},
        {"upper case addresses", upper_addresses},
        {"long domains", [](auto& t) { return replaced(t, "\"(0000:[0-9a-f]{2}:)", "\"0000$1"); }},
    };
    return all;
}

std::vector<std::pair<std::string, std::string>> inputs() {
    std::vector<std::pair<std::string, std::string>> all{{"system", system_xml()}, {"topology", topology_xml()}};
    for (auto const* name : {"nccl-azure-ndv4.xml", "nccl-oci-H100-topology.xml", "nccl-yccl-topo.xml",
                             "rccl-topo_8p_90a.xml", "h200-pair-vm.nccl.xml"}) {
        if (auto const text = shared_text(name)) {
            all.emplace_back(name, *text);
        }
    }
    return all;
}

Machine essence(Machine machine) {
    machine.notices.clear();
    return machine;
}

TEST(XmlMutations, OfTheInputsThemselves) {
    EXPECT_EQ(classes(read(system_xml())), "X NV4 SYS / NV4 X SYS / SYS SYS X");
    EXPECT_EQ(classes(read(topology_xml())), "X PIX SYS / PIX X SYS / SYS SYS X");
}

TEST(XmlMutations, MeaningKept) {
    std::size_t tried = 0;
    for (auto const& [name, text] : inputs()) {
        auto const plain = essence(read(text));
        for (auto const& change : keeping()) {
            auto const changed = change.apply(text);
            tried += changed == text ? 0 : 1;  // not every file has what a change is about
            ASSERT_EQ(refusal(changed), "") << name << ", " << change.name << "\n" << changed.substr(0, 2000);
            EXPECT_TRUE(essence(read(changed)) == plain) << name << ", " << change.name << "\n"
                                                         << changed.substr(0, 2000);
        }
    }
    EXPECT_GE(tried, 2 * keeping().size() - 1) << "a change that changes nothing";
}

TEST(XmlMutations, CutAnywhereIsRefused) {
    std::mt19937 random(23);
    for (auto const& [name, text] : inputs()) {
        auto const end = text.rfind("</");
        for (int i = 0; i < 60; ++i) {
            auto const at = 1 + random() % end;
            EXPECT_NE(refusal(text.substr(0, at)), "") << name << ", cut at " << at;
        }
    }
}

TEST(XmlMutations, AnElementThatLostItsMarkIsRefused) {
    auto const system = replaced(system_xml(), "<pci busid=\"0000:cb", "pci busid=\"0000:cb");
    EXPECT_NE(refusal(replaced(system, "<nic>[^]*</nic>\\s*</pci>", "")).find("input:20: \"pci busid="),
              std::string::npos)
        << refusal(replaced(system, "<nic>[^]*</nic>\\s*</pci>", ""));
    auto const topology = replaced(topology_xml(), "<object type=\"PCIDev\" gp_index=\"6\"", "object type=\"PCIDev\"");
    EXPECT_NE(refusal(topology).find("stands between elements"), std::string::npos) << refusal(topology);
}

// What a GPU of the file was known by is lost: it is not left out without a word.
TEST(XmlMutations, ALostClassIsTold) {
    auto const machine = read(replaced(system_xml(), "ca:00.0\" class=\"0x030200\"", "ca:00.0\""));
    EXPECT_EQ(machine.devices.size(), 3U) << "its gpu element still tells it";
    auto text = replaced(system_xml(), "ca:00.0\" class=\"0x030200\"", "ca:00.0\"");
    text = replaced(text, "<gpu dev=\"2\"[^>]*>", "");
    auto const without = read(text);
    EXPECT_EQ(without.devices.size(), 2U);
    EXPECT_EQ(notice_line(without, "class-unknown"), 17);
}

}  // namespace
}  // namespace peerlane::test
