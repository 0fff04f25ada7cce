/// Reports of others, each a test: what they had, and the causes that must be named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.hpp"

namespace peerlane::testing_diagnose {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Codes = std::set<std::string>;

/// A scene on files of the shared folder.
Scene on(const std::vector<std::string>& files, const std::vector<std::string>& facts = {}) {
    std::vector<std::string> paths;
    for (auto const& file : files) {
        paths.push_back(shared(file));
    }
    return Scene(load_machines(paths).machine(), facts);
}

class Cases : public testing::Test {
  protected:
    void SetUp() override {
        if (!shared_is_here()) {
            GTEST_SKIP() << "the folder of published machines is not beside this project";
        }
    }
};

constexpr const char* two_gpus = "topo-m-2gpu-phb.txt";

TEST_F(Cases, B02_pytorch_84803_zeros_behind_the_iommu) {
    auto scene = on({"topo-m-4x6000ada-2socket-epyc.txt"}, {"iommu=translating", "cmdline=\"\""});
    set(scene.verdicts, -1, -1, Check::push, "wrong(zero)");
    set(scene.verdicts, -1, -1, Check::pull, "wrong(zero)");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "iommu-translating"}));
    EXPECT_THAT(text(found, "iommu-translating"),
                AllOf(HasSubstr("iommu_group/type: DMA-FQ"), HasSubstr("/proc/cmdline: no"), HasSubstr("iommu=pt")));
    EXPECT_THAT(text(found, "claim-broken"), AllOf(HasSubstr("push=wrong(zero)"), HasSubstr("pull=wrong(zero)")));
    EXPECT_EQ(find(found, "claim-broken")->pairs.size(), 12U);
}

TEST_F(Cases, B03_nccl_2079_acs_on_root_ports) {
    auto scene = on({"topo-m-2x4090-node-2nic.txt"}, {"acs[0000:40:01.1]=0x1d", "acs[0000:60:01.1]=0x1d"});
    set(scene.verdicts, -1, -1, Check::store, "hang");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "acs-redirect"}));
    EXPECT_THAT(text(found, "acs-redirect"),
                AllOf(HasSubstr("0000:40:01.1"), HasSubstr("0000:60:01.1"),
                      HasSubstr("0x1d: SrcValid ReqRedir CmpltRedir UpstreamFwd"), HasSubstr("disable_acs_redir")));
}

TEST_F(Cases, B04_nccl_257_stale_bytes_at_a_good_rate) {
    auto scene = on({"p2pbw-4x1080ti-two-islands.txt"}, {"iommu=translating"});
    set(scene.verdicts, 0, 1, Check::push, "wrong(stale)");
    set(scene.verdicts, 1, 0, Check::push, "wrong(stale)");
    refuse(scene.verdicts, 0, 2);
    auto const found = scene.findings();
    EXPECT_TRUE(codes(found).count("claim-broken"));
    EXPECT_TRUE(codes(found).count("iommu-translating"));
    EXPECT_EQ(find(found, "claim-broken")->pairs, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}}));
}

TEST_F(Cases, B05_tinygrad_18_present_and_translating_are_two_states) {
    auto scene = on({two_gpus}, {"iommu=translating",
                                 "log=\"AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:01:00.0 domain=0x0]\""});
    set(scene.verdicts, -1, -1, Check::push, "wrong(zero)");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "iommu-translating", "iommu-fault"}));
    EXPECT_THAT(text(found, "iommu-fault"), HasSubstr("0000:01:00.0"));
    EXPECT_EQ(codes(on({two_gpus}, {"iommu=identity"}).findings()), Codes{});
}

TEST_F(Cases, B10_vllm_33041_firmware_switched_both_on) {
    auto scene = on({"topo-m-4x6000ada-2socket-epyc.txt"}, {"iommu=translating", "acs[*]=0x1d", "cmdline=\"\""});
    set(scene.verdicts, -1, -1, Check::store, "hang");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "iommu-translating", "acs-redirect"}));
    EXPECT_EQ(found.front().code, "claim-broken");
    EXPECT_THAT(text(found, "iommu-translating"), HasSubstr("default of kernel and firmware"));
    EXPECT_THAT(text(found, "acs-redirect"), HasSubstr("kernel and firmware set these bits"));
}

TEST_F(Cases, B11_nccl_1999_no_cause_without_evidence) {
    auto scene = on({"topo-m-2x4090-node-2nic.txt"});
    scene.facts = Facts{};
    set(scene.verdicts, -1, -1, Check::store, "hang");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), Codes{"claim-broken"});
    EXPECT_THAT(text(found, "claim-broken"), Not(HasSubstr("NCCL")));
}

TEST_F(Cases, B14_nccl_tests_117_the_management_tool_hangs_too) {
    Scene scene(load_machine("rtx4090-8-dual-epyc").machine(), {"nvml=hangs"});
    for (auto const check : all_checks) {
        set(scene.verdicts, -1, -1, check, "ok");
    }
    set(scene.verdicts, 0, 1, Check::store, "hang");
    EXPECT_EQ(codes(scene.findings()), (Codes{"claim-broken", "management-hang"}));
}

TEST_F(Cases, B15_compute_runtime_935_redirected_refused_or_wrong) {
    auto const* const file = "topo-m-8xtitanv-no-numa-column.txt";
    auto refused = on({file}, {"acs=0x1d"});
    refuse(refused.verdicts);
    EXPECT_EQ(codes(refused.findings()), (Codes{"peer-refused", "acs-redirect"}));
    EXPECT_EQ(least_status(refused.findings()), 1);
    EXPECT_EQ(codes(on({file}, {"acs=0x00"}).findings()), Codes{});
    auto wrong = on({file}, {"acs=0x1d"});
    set(wrong.verdicts, -1, -1, Check::push, "wrong(flip)");
    EXPECT_EQ(codes(wrong.findings()), (Codes{"claim-broken", "acs-redirect"}));
}

TEST_F(Cases, B19_tinygrad_49_boot_console_shifts_the_window) {
    auto scene = on({two_gpus}, {"display[0]=boot-console"});
    for (auto const check : {Check::push, Check::pull, Check::store, Check::load}) {
        set(scene.verdicts, 1, 0, check, "wrong(offset)");
    }
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "display-active-bar1"}));
    EXPECT_EQ(find(found, "claim-broken")->pairs, (std::vector<std::pair<int, int>>{{1, 0}}));
    EXPECT_EQ(find(found, "display-active-bar1")->pairs, (std::vector<std::pair<int, int>>{{1, 0}}));
}

TEST_F(Cases, B20_tinygrad_44_enable_refused) {
    auto scene = on({"topo-m-2x5090-phb.txt"});
    set(scene.verdicts, -1, -1, Check::map, "error205");
    for (auto const check : {Check::push, Check::pull}) {
        set(scene.verdicts, -1, -1, check, "no");
    }
    for (auto const check : {Check::store, Check::load, Check::atomic, Check::flag}) {
        set(scene.verdicts, -1, -1, check, "skipped");
    }
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), Codes{"enable-refused"});
    EXPECT_THAT(text(found, "enable-refused"), AllOf(HasSubstr("code 205"), HasSubstr("0:1")));
    EXPECT_EQ(least_status(found), 2);
}

TEST_F(Cases, B21_club3090_873_a_patched_module_grants_and_nothing_moves) {
    auto scene = on({"topo-m-2x5090-phb.txt"}, {"module=unsigned"});
    scene.facts.run.former_runs = {
        {"a.json", "2026-01-01", false}, {"b.json", "2026-01-02", false}, {"c.json", "2026-01-03", true}};
    set(scene.verdicts, -1, -1, Check::push, "hang");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "module-patched"}));
    EXPECT_THAT(text(found, "module-patched"), AllOf(HasSubstr("a.json: 2026-01-01: the direct path was not used"),
                                                     HasSubstr("c.json: 2026-01-03: the direct path was used")));
}

TEST_F(Cases, B27_nccl_175_chipset_not_supported) {
    auto scene = on({"topo-p2p-r-2xl4-cns.txt"}, {"hypervisor=kvm"});
    refuse(scene.verdicts);
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"peer-refused", "vm-view-of-pcie"}));
    EXPECT_THAT(text(found, "peer-refused"),
                AllOf(HasSubstr("CNS (chipset not supported)"), HasSubstr("table in the driver decides"),
                      HasSubstr("BAR size, IOMMU and ACS cannot change it")));
    EXPECT_EQ(least_status(found), 0);
}

TEST_F(Cases, B30_nccl_tests_260_guest_without_partition) {
    Scene scene(load_machine("h200-pair").machine(),
                {"hypervisor=kvm", "nvlink=inactive", "nvswitch=absent", "fabric.state=not-started"});
    refuse(scene.verdicts);
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"peer-refused", "vm-view-of-pcie", "fabric-unprovisioned"}));
    EXPECT_THAT(text(found, "fabric-unprovisioned"), AllOf(HasSubstr("not started"), HasSubstr("host")));
    EXPECT_EQ(least_status(found), 1);
}

TEST_F(Cases, B42_tinygrad_6_one_device_drags_its_row_and_column) {
    auto scene = on({"p2pbw-7gpu-one-weak-device.txt"}, {"link:6=gen3x4"});
    auto const found = scene.findings();
    ASSERT_EQ(codes(found), (Codes{"weak-device", "link-downgraded"}));
    EXPECT_EQ(std::count_if(found.begin(), found.end(), [](auto const& one) { return one.code == "weak-device"; }), 1);
    EXPECT_EQ(find(found, "weak-device")->pairs.size(), 12U);
    EXPECT_THAT(text(found, "weak-device"), AllOf(HasSubstr("device 6"), HasSubstr("4 lanes")));
    EXPECT_EQ(least_status(found), 1);
}

TEST_F(Cases, B43_nvtop_6_an_idle_link_is_no_finding) {
    EXPECT_EQ(codes(on({two_gpus}, {"link.idle=gen1x16", "link.load=gen4x16"}).findings()), Codes{});
    auto const found = on({two_gpus}, {"link.idle=gen1x16", "link.load=gen1x16"}).findings();
    EXPECT_EQ(codes(found), Codes{"link-downgraded"});
    EXPECT_THAT(text(found, "link-downgraded"),
                HasSubstr("generation 1 x16 while a copy ran, both ends can generation 4 x16"));
}

TEST_F(Cases, B56_nvidia_docker_1000_two_variables) {
    auto const found =
        on({"topo-m-4x6000ada-2socket-epyc.txt"}, {"env.NVIDIA_VISIBLE_DEVICES=unset", "env.CUDA_VISIBLE_DEVICES=0"})
            .findings();
    EXPECT_EQ(codes(found), Codes{"visible-devices-subset"});
    EXPECT_THAT(text(found, "visible-devices-subset"),
                AllOf(HasSubstr("CUDA_VISIBLE_DEVICES=0 (environment): in force"),
                      HasSubstr("NVIDIA_VISIBLE_DEVICES: not set")));
    EXPECT_EQ(least_status(found), 0);
}

TEST_F(Cases, B57_nccl_290_small_shared_memory) {
    auto scene = on({"p2pbw-2x4090-cannot.txt"}, {"shm=64MiB"});
    refuse(scene.verdicts);
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"peer-refused", "shm-small"}));
    EXPECT_THAT(text(found, "shm-small"), AllOf(HasSubstr("64 MiB in all"), HasSubstr("needed: 128 MiB")));
    EXPECT_EQ(least_status(found), 1);
}

TEST_F(Cases, B84_k8s_device_plugin_296_instances_have_no_peers) {
    auto scene = on({"topo-m-h100-mig-ansi.txt", "nvidia-smi-L-h100-mig.txt", "nvlink-s-h100-mig.txt"});
    refuse(scene.verdicts);
    auto const found = scene.findings();
    EXPECT_TRUE(codes(found).count("mig-enabled"));
    EXPECT_EQ(least_status(found), 0);
    EXPECT_THAT(text(found, "mig-enabled"), HasSubstr("instances have no peers"));
}

TEST(CasesWithoutFiles, B85_pytorch_35710_initialisation_802) {
    Machine const nothing;
    auto const of = [&](const std::vector<std::string>& told) {
        Facts facts = healthy_facts(nothing);
        return diagnose(nothing, apply_facts(facts, facts_faults(told)), Verdicts{});
    };
    auto const missing = of({"driver-init=802", "nvswitch=4", "fabric-manager=absent"});
    EXPECT_EQ(codes(missing), Codes{"fabric-manager-missing"});
    EXPECT_THAT(text(missing, "fabric-manager-missing"), AllOf(HasSubstr("802"), HasSubstr("4 NVSwitches")));
    auto const version = of({"driver-init=802", "nvswitch=4", "fabric-manager=550.54.15", "driver=550.90.07"});
    EXPECT_EQ(codes(version), Codes{"fabric-manager-version"});
    EXPECT_THAT(text(version, "fabric-manager-version"), AllOf(HasSubstr("550.54.15"), HasSubstr("550.90.07")));
}

TEST_F(Cases, B87_azhpc_diagnostics_73_two_links_inactive) {
    auto const found = on({"nvlink-s-v100-inactive-links.txt"}).findings();
    EXPECT_EQ(codes(found), Codes{"nvlink-inactive"});
    EXPECT_THAT(text(found, "nvlink-inactive"),
                AllOf(HasSubstr("links 3, 5 inactive, 4 of 6 up"), HasSubstr("the part has 6")));
    EXPECT_EQ(least_status(found), 1);
}

TEST_F(Cases, B89_nccl_557_badly_seated_bridge) {
    auto scene =
        on({"topo-m-2gpu-nv3-partial-bridge-header-shifted.txt"}, {"topo-query=112s", "model=NVIDIA RTX A6000"});
    set(scene.verdicts, -1, -1, Check::store, "hang");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "nvlink-inactive", "query-slow"}));
    EXPECT_THAT(text(found, "query-slow"), HasSubstr("112 s"));
    EXPECT_THAT(text(found, "nvlink-inactive"), HasSubstr("3 links up, the part has 4"));
}

TEST_F(Cases, B90_nvsentinel_1481_no_bridge_is_not_down) {
    auto const found = on({"topo-m-2xa100pcie-no-bridge.txt", "nvlink-s-a100pcie-all-inactive.txt"}).findings();
    EXPECT_EQ(codes(found), Codes{"nvlink-absent"});
    EXPECT_EQ(least_status(found), 0);
}

TEST_F(Cases, B94_club3090_786_pairs_are_no_mesh_and_nothing_is_wrong) {
    EXPECT_EQ(codes(on({"topo-m-4xa100pcie-nv12-pairs-2socket.txt"}).findings()), Codes{});
}

// Cases of other parts of the command that end in a cause.

TEST_F(Cases, B28_nccl_1674_a_guests_view) {
    EXPECT_EQ(codes(on({"nccl-vm-4xa800-numaid-minus1.xml"}, {"hypervisor=kvm"}).findings()).count("vm-view-of-pcie"),
              1U);
}

TEST_F(Cases, B35_nccl_442_no_pci_tree) {
    EXPECT_EQ(codes(Scene(load_machine("h200-pair").machine(), {"pci-tree=absent"}).findings()), Codes{"tree-unknown"});
}

TEST_F(Cases, B54_unsloth_6352_two_numberings) {
    auto const found = on({"topo-m-2x4090-node-2nic.txt"},
                          {"nvml=[01:00.0,41:00.0]", "runtime=[41:00.0,01:00.0]", "env.CUDA_DEVICE_ORDER=unset"})
                           .findings();
    EXPECT_EQ(codes(found), Codes{"visible-devices-order"});
    EXPECT_THAT(text(found, "visible-devices-order"),
                AllOf(HasSubstr("management library: 0000:01:00.0, 0000:41:00.0"), HasSubstr("runtime: 0000:41:00.0"),
                      HasSubstr("CUDA_DEVICE_ORDER: not set")));
}

TEST_F(Cases, B91_tensorrt_llm_19210_capability_bits_are_no_links) {
    std::vector<std::string> told;
    for (auto const* device : {"0", "1"}) {
        for (auto const* what : {"capable=36", "active=18", "error=18"}) {
            told.push_back(std::string("nvlink[") + device + "]." + what);
        }
    }
    EXPECT_EQ(codes(Scene(load_machine("h200-pair").machine(), told).findings()), Codes{});
}

TEST_F(Cases, B103_nvbandwidth_53_modules_without_nvlink) {
    auto const found = on({"topo-m-8xa100sxm-no-nv-cells.txt"}, {"model=NVIDIA A100-SXM4-40GB"}).findings();
    EXPECT_EQ(codes(found), Codes{"nvlink-inactive"});
    EXPECT_EQ(least_status(found), 1);
}

TEST_F(Cases, B17_unsloth_10613_a_setting_is_read_as_a_value) {
    auto scene = on({"topo-m-2x6000ada-wrx90-phb.txt", "p2pbw-2x6000ada-wrx90.txt"}, {"env.P2P=0"});
    set(scene.verdicts, -1, -1, Check::push, "wrong(flip)");
    auto const found = scene.findings();
    EXPECT_TRUE(codes(found).count("forced-setting"));
    EXPECT_THAT(text(found, "forced-setting"), HasSubstr("P2P=0 (environment): off"));
}

TEST_F(Cases, B34_distlearn_5_old_virtual_layer) {
    auto scene = on({two_gpus}, {"hypervisor=xen"});
    refuse(scene.verdicts);
    EXPECT_EQ(codes(scene.findings()), (Codes{"peer-refused", "vm-view-of-pcie"}));
    EXPECT_EQ(least_status(scene.findings()), 0);
}

TEST_F(Cases, B38_nccl_tests_74_per_pair_not_per_machine) {
    auto scene = on({"topo-m-4xa100pcie-nv12-pairs-2socket.txt"});
    for (auto& route : scene.verdicts.routes) {
        auto const bridged = scene.machine.pair(route.source, route.destination)->path == PathClass::nv;
        route.direct_gbs = bridged ? 270 : 9;
        route.staged_gbs = 21;
        route.use = bridged ? RouteVerdict::Use::direct : RouteVerdict::Use::staged;
    }
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), Codes{"peer-slower-than-host"});
    EXPECT_EQ(found.front().pairs.size(), 8U);
}

TEST_F(Cases, B40_nccl_1309_neighbours_share_their_uplink) {
    auto scene = on({"topo-m-8gpu-pix-pxb-sys-mlx5.txt"});
    refuse(scene.verdicts);
    for (auto& route : scene.verdicts.routes) {
        auto const path = scene.machine.pair(route.source, route.destination)->path;
        route.staged_gbs = path == PathClass::pix || path == PathClass::pxb ? 18.4 : 22.0;
    }
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"peer-refused", "shared-uplink"}));
    EXPECT_EQ(least_status(found), 0);
}

TEST_F(Cases, B48_tinygrad_44_no_gain) {
    auto scene = on({"p2pbw-2x4090-patched-x8.txt"});
    for (auto& route : scene.verdicts.routes) {  // a simulated run knows the figures of its model only
        route.direct_gbs = 24;
        route.staged_gbs = 22;
    }
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), Codes{"peer-no-gain"});
    EXPECT_THAT(text(found, "peer-no-gain"), HasSubstr("0>1 direct 6.6 GB/s, through the host 6.34 GB/s"));
    EXPECT_EQ(least_status(found), 0);
}

TEST_F(Cases, B88_open_gpu_kernel_modules_1150_links_drop) {
    Scene scene(load_machine("h200-pair").machine());
    auto const bus = scene.facts.nvml.devices[0].bus;
    scene.facts =
        apply_facts(scene.facts, facts_faults({"nvlink:0:4=down", "log=NVRM: Xid (PCI:" + bus.substr(0, 10) + "): 149",
                                               "changed:nvlink:" + bus + "=18 up>17 up"}));
    EXPECT_EQ(codes(scene.findings()), (Codes{"path-changed", "nvlink-inactive", "xid-logged"}));
}

TEST_F(Cases, B49_nccl_324_one_device_a_container) {
    auto const found = on({"topo-m-2gpu-nv2.txt"}, {"visible=[0]", "host-devices=2"}).findings();
    EXPECT_EQ(codes(found), Codes{"visible-devices-subset"});
}

TEST_F(Cases, B50_nccl_945_containers_share_nothing) {
    auto const found = on({two_gpus}, {"ns.ipc=different", "ns.pid=different", "shm.device=same"}).findings();
    EXPECT_EQ(codes(found), Codes{"namespace-split"});
    EXPECT_THAT(text(found, "namespace-split"), AllOf(HasSubstr("ns/ipc"), HasSubstr("ns/pid"), HasSubstr("shared")));
}

TEST_F(Cases, B52_tensorpipe_266_disjoint_sets) {
    auto scene = on({two_gpus}, {"A.visible=[0]", "B.visible=[1]", "same-host=yes", "import=error:217"});
    refuse(scene.verdicts);
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"peer-refused", "visible-devices-subset"}));
    EXPECT_THAT(text(found, "visible-devices-subset"), HasSubstr("code 217"));
}

TEST_F(Cases, B58_mscclpp_467_no_channel) {
    EXPECT_EQ(codes(on({two_gpus}, {"fabric-handle=error:800", "imex-channels=0"}).findings()), Codes{"imex-missing"});
}

TEST_F(Cases, B62_nccl_51_more_peers_than_places) {
    auto scene = on({"hwloc-nvidiaDGX2.xml"});
    for (auto& pair : scene.verdicts.pairs) {
        auto const place = (pair.owner - pair.accessor + 16) % 16;
        if (place > 8) {
            set(scene.verdicts, pair.accessor, pair.owner, Check::map, "no");
            pair[Check::map].code = 711;
        }
    }
    auto const found = scene.findings();
    EXPECT_TRUE(codes(found).count("peer-limit"));
    EXPECT_FALSE(codes(found).count("claim-broken"));
    EXPECT_EQ(find(found, "peer-limit")->pairs.size(), 16U * 7U);
    EXPECT_EQ(codes(on({"p2pbw-12gpu-more-than-8-peers-excerpt.txt"}).findings()).count("peer-limit"), 0U);
}

TEST_F(Cases, B64_nccl_241_the_display_server_holds_a_place) {
    Scene scene(load_machine("rtx4090-8-dual-epyc").machine(), {"graphics-processes[0]=1"});
    for (auto const check : all_checks) {
        set(scene.verdicts, -1, -1, check, "ok");
    }
    auto* const last = scene.verdicts.pair(0, 7);
    (*last)[Check::map].result = Result::no;
    (*last)[Check::map].code = 711;
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), Codes{"foreign-peer-holder"});
    EXPECT_THAT(text(found, "foreign-peer-holder"), AllOf(HasSubstr("graphics process"), HasSubstr("6 of device 0")));
}

TEST_F(Cases, B12_rtx6kpro_15_busy_without_a_process) {
    auto scene = on({"topo-m-2x5090-phb.txt"}, {"busy:0=100"});
    set(scene.verdicts, 0, 1, Check::store, "hang");
    auto const found = scene.findings();
    EXPECT_EQ(codes(found), (Codes{"claim-broken", "wedge-after-test"}));
    EXPECT_THAT(text(found, "wedge-after-test"), HasSubstr("100 % busy, 120 W, 0 processes"));
}

TEST_F(Cases, B25_club3090_1332_the_host_was_reset) {
    auto const found = on({two_gpus}, {"open-step=0:1:store"}).findings();
    EXPECT_EQ(codes(found), Codes{"probe-interrupted"});
    EXPECT_EQ(least_status(found), 2);
}

}  // namespace
}  // namespace peerlane::testing_diagnose
