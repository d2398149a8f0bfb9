//! How is a profile said in Docker's words, and how is it known that Docker heard?
//!
//! Every field that matters is set, so that no default of the engine's decides; what the engine then reports of the
//! container is compared with it before the container is started.

use std::collections::HashMap;

use bollard::models::{
    ContainerInspectResponse, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountPoint, MountType, ResourcesUlimits,
};

use crate::cage::engine::EngineError;
use crate::cage::profile::{HOME, NAMESERVER, Profile};
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
        // said either way: an engine's own default is noexec
        let exec = if scratch.exec { "exec" } else { "noexec" };
        let options = format!("rw,nosuid,nodev,{exec},size={},mode={:o}{owner}", scratch.bytes, scratch.mode);
        (scratch.path.to_owned(), options)
    });
    HostConfig {
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(vec![
            "no-new-privileges:true".into(),
            format!("seccomp={}", seccomp::oci(profile.socket_files())),
        ]),
        readonly_rootfs: Some(!profile.writable_root()),
        tmpfs: Some(tmpfs.collect()),
        mounts: Some(mounts(profile)),
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

/// Folders, and a home that is kept.
///
/// Never as `Binds`, which an older engine fills with what it makes itself: a mount whose source is missing is an error.
/// Not recursive: what is mounted below a folder would come along, and be writable whatever is said here (before Engine
/// 25 read-only is the uppermost mount alone). The API has no `nosuid` and `nodev` for a mount of a folder; what they
/// would stop is stopped by no-new-privileges and by the devices that a container may open.
fn mounts(profile: &Profile) -> Vec<Mount> {
    let bind = |bind: &crate::cage::folder::Bind| Mount {
        typ: Some(MountType::BIND),
        source: Some(bind.path().to_owned()),
        target: Some(bind.path().to_owned()),
        // the engine leaves out what is false
        read_only: (!bind.writable()).then_some(true),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            non_recursive: Some(true),
            ..Default::default()
        }),
        ..Default::default()
    };
    let kept = profile.kept().map(|kept| Mount {
        typ: Some(MountType::VOLUME),
        source: Some(kept.volume().to_owned()),
        target: Some(HOME.to_owned()),
        ..Default::default()
    });
    profile.binds().iter().map(bind).chain(kept).collect()
}

/// Whether the engine mounts exactly what was asked for, each as it was.
fn mounted(asked: &[Mount], made: &[MountPoint]) -> bool {
    let same = |asked: &Mount, made: &MountPoint| {
        let bind = asked.typ == Some(MountType::BIND)
            && made.typ.as_deref() == Some("bind")
            && asked.source == made.source
            && made.propagation.as_deref() == Some("rprivate");
        // a volume's source is where the engine keeps it
        let volume = asked.typ == Some(MountType::VOLUME)
            && made.typ.as_deref() == Some("volume")
            && asked.source == made.name
            && made.driver.as_deref() == Some("local");
        (bind || volume) && asked.target == made.destination && made.rw == Some(asked.read_only != Some(true))
    };
    asked.len() == made.len() && asked.iter().all(|asked| made.iter().any(|made| same(asked, made)))
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
    if !mounted(asked.mounts.as_deref().unwrap_or_default(), made.mounts.as_deref().unwrap_or_default()) {
        return Err(EngineError::Weaker {
            row: Shown::new("the engine mounts something else than was asked for"),
        });
    }
    let made = made.host_config.unwrap_or_default();
    let alone = |mount: &Mount| {
        let options = |mount: &Mount| mount.bind_options.as_ref().and_then(|options| options.non_recursive);
        let wrote = made.mounts.iter().flatten().find(|wrote| wrote.target == mount.target);
        wrote.is_some_and(|wrote| options(wrote) == options(mount))
    };
    if !asked.mounts.iter().flatten().all(alone) {
        return Err(EngineError::Weaker {
            row: Shown::new("the engine would mount what is below a folder, too"),
        });
    }
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
