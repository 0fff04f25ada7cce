#pragma once
/// The fields of every struct of Facts, once, for `v(name, member)`: writing and reading follow the same list. T is
/// const when written; the last parameter only names the struct.

#include <peerlane/facts.hpp>

namespace peerlane {

template <class V, class T>
void fields(V& v, T& x, const PciRate*) {
    v("generation", x.generation);
    v("width", x.width);
}
template <class V, class T>
void fields(V& v, T& x, const PciFunction*) {
    v("bus", x.bus);
    v("vendor", x.vendor);
    v("device", x.device);
    v("class", x.class_code);
    v("numa", x.numa);
    v("local_cpus", x.local_cpus);
    v("current", x.current);
    v("most", x.most);
    v("above", x.above);
    v("root", x.root);
    v("driver", x.driver);
    v("interfaces", x.interfaces);
    v("virtual_function", x.virtual_function);
    v("boot_display", x.boot_display);
    v("iommu_group", x.iommu_group);
    v("iommu_type", x.iommu_type);
    v("config_bytes", x.config_bytes);
    v("port_type", x.port_type);
    v("acs_control", x.acs_control);
    v("largest_window_bytes", x.largest_window_bytes);
}
template <class V, class T>
void fields(V& v, T& x, const NumaFacts*) {
    v("node", x.node);
    v("cpus", x.cpus);
    v("memory_bytes", x.memory_bytes);
    v("socket", x.socket);
    v("distances", x.distances);
    v("device", x.device);
}
template <class V, class T>
void fields(V& v, T& x, const XgmiLink*) {
    v("from", x.from);
    v("to", x.to);
    v("gbs", x.gbs);
}
template <class V, class T>
void fields(V& v, T& x, const HostFacts*) {
    v("cpu_model", x.cpu_model);
    v("sockets", x.sockets);
    v("cpus", x.cpus);
    v("hypervisor_flag", x.hypervisor_flag);
    v("sys_vendor", x.sys_vendor);
    v("product_name", x.product_name);
    v("hypervisor_type", x.hypervisor_type);
    v("boot_id", x.boot_id);
    v("kernel_release", x.kernel_release);
    v("kernel_command_line", x.kernel_command_line);
    v("module_version", x.module_version);
    v("driver_text", x.driver_text);
    v("module_taint", x.module_taint);
    v("module_signer", x.module_signer);
    v("module_parameters", x.module_parameters);
    v("iommus", x.iommus);
    v("wsl", x.wsl);
    v("pci_tree", x.pci_tree);
    v("pci", x.pci);
    v("numa", x.numa);
    v("xgmi", x.xgmi);
}
template <class V, class T>
void fields(V& v, T& x, const NvmlCall*) {
    v("name", x.name);
    v("device", x.device);
    v("seconds", x.seconds);
}
template <class V, class T>
void fields(V& v, T& x, const NvmlLink*) {
    v("number", x.number);
    v("active", x.active);
    v("generation", x.generation);
    v("gbs", x.gbs);
    v("remote", x.remote);
    v("remote_bus", x.remote_bus);
}
template <class V, class T>
void fields(V& v, T& x, const NvmlUser*) {
    v("process", x.process);
    v("kind", x.kind);
}
template <class V, class T>
void fields(V& v, T& x, const NvmlDevice*) {
    v("index", x.index);
    v("bus", x.bus);
    v("uuid", x.uuid);
    v("name", x.name);
    v("memory_bytes", x.memory_bytes);
    v("window_bytes", x.window_bytes);
    v("compute_capability", x.compute_capability);
    v("current", x.current);
    v("most", x.most);
    v("mig", x.mig);
    v("mig_instances", x.mig_instances);
    v("fabric_state", x.fabric_state);
    v("fabric_status", x.fabric_status);
    v("display_attached", x.display_attached);
    v("display_active", x.display_active);
    v("window_used_bytes", x.window_used_bytes);
    v("busy_percent", x.busy_percent);
    v("watts", x.watts);
    v("users", x.users);
    v("virtualization", x.virtualization);
    v("links_code", x.links_code);
    v("links", x.links);
}
template <class V, class T>
void fields(V& v, T& x, const Claims*) {
    v("read", x.read);
    v("write", x.write);
    v("nvlink", x.nvlink);
    v("atomics", x.atomics);
    v("pcie", x.pcie);
}
template <class V, class T>
void fields(V& v, T& x, const NvmlPair*) {
    v("accessor", x.accessor);
    v("owner", x.owner);
    v("claims", x.claims);
    v("ancestor", x.ancestor);
}
template <class V, class T>
void fields(V& v, T& x, const NvmlFacts*) {
    v("state", x.state);
    v("code", x.code);
    v("reason", x.reason);
    v("driver_version", x.driver_version);
    v("library_version", x.library_version);
    v("cuda_version", x.cuda_version);
    v("devices", x.devices);
    v("pairs", x.pairs);
    v("slow", x.slow);
    v("hung", x.hung);
}
template <class V, class T>
void fields(V& v, T& x, const Setting*) {
    v("name", x.name);
    v("value", x.value);
    v("origin", x.origin);
}
template <class V, class T>
void fields(V& v, T& x, const DeviceUser*) {
    v("bus", x.bus);
    v("process", x.process);
    v("kind", x.kind);
}
template <class V, class T>
void fields(V& v, T& x, const NeighbourProcess*) {
    v("name", x.name);
    v("same_host", x.same_host);
    v("visible", x.visible);
    v("import_code", x.import_code);
    v("namespaces", x.namespaces);
    v("shm_device", x.shm_device);
}
template <class V, class T>
void fields(V& v, T& x, const ProcessFacts*) {
    v("settings", x.settings);
    v("init_code", x.init_code);
    v("runtime_order", x.runtime_order);
    v("driver_gpus", x.driver_gpus);
    v("device_files", x.device_files);
    v("shm_bytes", x.shm_bytes);
    v("shm_free_bytes", x.shm_free_bytes);
    v("shm_device", x.shm_device);
    v("namespaces", x.namespaces);
    v("sees_all_processes", x.sees_all_processes);
    v("cgroup", x.cgroup);
    v("memory_limit_bytes", x.memory_limit_bytes);
    v("kernel_log", x.kernel_log);
    v("fabric_manager", x.fabric_manager);
    v("fabric_manager_version", x.fabric_manager_version);
    v("imex_channels", x.imex_channels);
    v("fabric_handle_code", x.fabric_handle_code);
    v("device_users", x.device_users);
    v("neighbours", x.neighbours);
}
template <class V, class T>
void fields(V& v, T& x, const PciErrors*) {
    v("bus", x.bus);
    v("correctable", x.correctable);
    v("nonfatal", x.nonfatal);
    v("fatal", x.fatal);
}
template <class V, class T>
void fields(V& v, T& x, const DeviceCounters*) {
    v("bus", x.bus);
    v("nvlink_replays", x.nvlink_replays);
    v("nvlink_recoveries", x.nvlink_recoveries);
    v("nvlink_crc_errors", x.nvlink_crc_errors);
    v("ecc_corrected", x.ecc_corrected);
    v("ecc_uncorrected", x.ecc_uncorrected);
    v("celsius", x.celsius);
    v("sm_mhz", x.sm_mhz);
    v("memory_mhz", x.memory_mhz);
}
template <class V, class T>
void fields(V& v, T& x, const LoadedLink*) {
    v("bus", x.bus);
    v("rate", x.rate);
}
template <class V, class T>
void fields(V& v, T& x, const DeviceActivity*) {
    v("bus", x.bus);
    v("busy_percent", x.busy_percent);
    v("watts", x.watts);
    v("processes", x.processes);
    v("seconds_after", x.seconds_after);
}
template <class V, class T>
void fields(V& v, T& x, const OpenStep*) {
    v("file", x.file);
    v("step", x.step);
    v("accessor", x.accessor);
    v("owner", x.owner);
    v("boot_id", x.boot_id);
    v("process_alive", x.process_alive);
}
template <class V, class T>
void fields(V& v, T& x, const VerdictKey*) {
    v("in_use", x.in_use);
    v("then", x.then);
    v("now", x.now);
}
template <class V, class T>
void fields(V& v, T& x, const FormerRun*) {
    v("file", x.file);
    v("when", x.when);
    v("direct", x.direct);
}
template <class V, class T>
void fields(V& v, T& x, const RunFacts*) {
    v("errors_before", x.errors_before);
    v("errors_after", x.errors_after);
    v("loaded", x.loaded);
    v("activity", x.activity);
    v("counters_before", x.counters_before);
    v("counters_after", x.counters_after);
    v("open_step", x.open_step);
    v("key", x.key);
    v("former_runs", x.former_runs);
}
template <class V, class T>
void fields(V& v, T& x, const Unread*) {
    v("what", x.what);
    v("where", x.where);
    v("why", x.why);
    v("root_helps", x.root_helps);
}
template <class V, class T>
void fields(V& v, T& x, const Facts*) {
    v("simulated", x.simulated);
    v("host", x.host);
    v("nvml", x.nvml);
    v("process", x.process);
    v("run", x.run);
    v("unread", x.unread);
}

}  // namespace peerlane
