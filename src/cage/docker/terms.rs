//! How is a profile said in Docker's words, and how is it known that Docker heard?
//!
//! Every field that matters is set, so that no default of the engine's decides; what the engine then reports of the
//! container is compared with it before the container is started.

use std::collections::HashMap;

use bollard::models::{
    ContainerInspectResponse, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, ResourcesUlimits,
};

use crate::cage::engine::EngineError;
use crate::cage::profile::{NAMESERVER, Profile};
use crate::cage::seccomp;
use crate::text::Shown;

/// The profile as fields of a create call.
pub(super) fn host_config(profile: &Profile) -> HostConfig {
    let limits = profile.limits();
    let memory = i64::try_from(limits.memory()).unwrap_or(i64::MAX);
    let user = profile.user();
    let tmpfs = profile.scratch().iter().map(|scratch| {
        let owner =
            if scratch.owned { format!(",uid={},gid={}", user.uid(), user.gid()) } else { String::new() };
        let options = format!("rw,nosuid,nodev,noexec,size={},mode={:o}{owner}", scratch.bytes, scratch.mode);
        (scratch.path.to_owned(), options)
    });
    HostConfig {
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(vec!["no-new-privileges:true".into(), format!("seccomp={}", seccomp::oci())]),
        readonly_rootfs: Some(!profile.writable_root()),
        tmpfs: Some(tmpfs.collect()),
        network_mode: Some("none".into()),
        dns: Some(vec![NAMESERVER.into()]),
        dns_search: Some(vec![".".into()]),
        // low ports are init's own to listen on: it is not root
        sysctls: Some(HashMap::from([("net.ipv4.ip_unprivileged_port_start".into(), "0".into())])),
        memory: Some(memory),
        memory_swap: Some(memory),
        pids_limit: Some(limits.pids().into()),
        // half of what everything else has: a server that computes leaves the host, and its own launcher, usable
        cpu_shares: Some(512),
        nano_cpus: Some(i64::from(limits.milli_cpus()) * 1_000_000),
        ulimits: Some(vec![ResourcesUlimits {
            name: Some("nofile".into()),
            soft: Some(limits.nofile().into()),
            hard: Some(limits.nofile().into()),
        }]),
        ipc_mode: Some("none".into()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: Some(HashMap::new()) }),
        // an install cage is still needed when its programs have ended: it is sealed, then removed
        auto_remove: Some(!profile.writable_root()),
        masked_paths: Some(MASKED.iter().map(ToString::to_string).collect()),
        readonly_paths: Some(READ_ONLY.iter().map(ToString::to_string).collect()),
        init: Some(false),
        privileged: Some(false),
        ..Default::default()
    }
}

/// Read-only inside: what Docker makes so unasked.
const READ_ONLY: &[&str] = &["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// Hidden inside: what Docker hides unasked, `/dev/mqueue`, which it mounts even where there is no ipc, and
/// `/proc/pressure`, the whole machine's load, where any user may also have the kernel watch for more of it.
const MASKED: &[&str] = &[
    "/dev/mqueue",
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
];

/// Refuses a container whose engine took something else down than was asked.
pub(super) fn compare(asked: &HostConfig, made: ContainerInspectResponse) -> Result<(), EngineError> {
    // a base image can declare volumes, which would be writable and outlive the cage
    if made.mounts.is_some_and(|mounts| !mounts.is_empty()) {
        return Err(EngineError::Weaker {
            row: Shown::new("the engine mounted something that was not asked for"),
        });
    }
    let made = made.host_config.unwrap_or_default();
    macro_rules! same {
        ($($field:ident),* $(,)?) => {
            $(if asked.$field != made.$field {
                let row = format!(
                    "asked for {} {:?}, and the engine wrote down {:?}",
                    stringify!($field), asked.$field, made.$field
                );
                return Err(EngineError::Weaker { row: Shown::new(&row) });
            })*
        };
    }
    same!(
        cap_drop,
        readonly_rootfs,
        network_mode,
        dns,
        memory,
        memory_swap,
        pids_limit,
        nano_cpus,
        ipc_mode,
        cgroupns_mode,
        ulimits,
        security_opt,
        tmpfs,
        sysctls,
        auto_remove,
        masked_paths,
        readonly_paths,
        log_config,
        dns_search,
        cpu_shares,
        init
    );
    let added = made.cap_add.as_ref().is_some_and(|caps| !caps.is_empty());
    let shared = [&made.pid_mode, &made.uts_mode, &made.userns_mode]
        .into_iter()
        .any(|mode| mode.as_deref().is_some_and(|mode| !mode.is_empty()));
    if shared {
        return Err(EngineError::Weaker {
            row: Shown::new("the engine shares one of the host's namespaces with the cage"),
        });
    }
    let opened = made.binds.as_ref().is_some_and(|binds| !binds.is_empty())
        || made.devices.as_ref().is_some_and(|devices| !devices.is_empty())
        || made.device_requests.as_ref().is_some_and(|requests| !requests.is_empty())
        || made.device_cgroup_rules.as_ref().is_some_and(|rules| !rules.is_empty())
        || made.volumes_from.as_ref().is_some_and(|from| !from.is_empty())
        || made.extra_hosts.as_ref().is_some_and(|hosts| !hosts.is_empty());
    if added || opened || made.privileged == Some(true) {
        return Err(EngineError::Weaker {
            row: Shown::new("the engine added capabilities, mounts or devices of its own"),
        });
    }
    Ok(())
}
