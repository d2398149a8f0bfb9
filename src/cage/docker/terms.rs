//! How is a profile said in Docker's words, and how is it known that Docker heard?
//!
//! Every field that matters is set, so that no default of the engine's decides; what the engine then reports of the
//! container is compared with it before the container is started.

use std::collections::HashMap;

use bollard::models::{
    ContainerInspectResponse, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountPoint, MountType, ResourcesUlimits, SystemInfo,
};

use crate::cage::lacking::Lacking;
use crate::cage::profile::{FIXED, HIDDEN, HOME, NAMESERVER, Profile};
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
        masked_paths: Some(HIDDEN.iter().map(ToString::to_string).collect()),
        readonly_paths: Some(FIXED.iter().map(ToString::to_string).collect()),
        init: Some(false),
        runtime: profile.runtime().map(ToString::to_string),
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

/// Every row in which the engine took something else down than was asked.
pub(super) fn compare(asked: &HostConfig, made: ContainerInspectResponse) -> Vec<Lacking> {
    let mut rows = Vec::new();
    // a base image can declare volumes, which would be writable and outlive the cage
    if !mounted(asked.mounts.as_deref().unwrap_or_default(), made.mounts.as_deref().unwrap_or_default()) {
        rows.push(Lacking::new("mounts", "the engine mounts something else than was asked for"));
    }
    let made = made.host_config.unwrap_or_default();
    let alone = |mount: &Mount| {
        let options = |mount: &Mount| mount.bind_options.as_ref().and_then(|options| options.non_recursive);
        let wrote = made.mounts.iter().flatten().find(|wrote| wrote.target == mount.target);
        wrote.is_some_and(|wrote| options(wrote) == options(mount))
    };
    if !asked.mounts.iter().flatten().all(alone) {
        rows.push(Lacking::new("mounts", "the engine would mount what is below a folder, too"));
    }
    macro_rules! same {
        ($($setting:literal: $($field:ident),*;)*) => {
            $($(if asked.$field != made.$field {
                let seen = format!(
                    "asked for {} {:?}, and the engine wrote down {:?}",
                    stringify!($field), asked.$field, made.$field
                );
                rows.push(Lacking::new($setting, seen));
            })*)*
        };
    }
    same!(
        "capabilities": cap_drop;
        "seccomp": security_opt;
        "root file system": readonly_rootfs;
        "writable": tmpfs;
        "mounts": masked_paths, readonly_paths;
        "network": network_mode;
        "DNS": dns, dns_search, sysctls;
        "memory and swap": memory, memory_swap;
        "processes": pids_limit;
        "processors": nano_cpus, cpu_shares;
        "open files": ulimits;
        // the last is another PID 1 than ours
        "ipc, uts, cgroup, pid namespaces": ipc_mode, cgroupns_mode, init;
        "log driver": log_config;
        "removal": auto_remove;
    );
    // what was not asked for is the engine's own, whichever it calls that
    if asked.runtime.is_some() && asked.runtime != made.runtime {
        let seen = format!("asked for {:?}, and the engine wrote down {:?}", asked.runtime, made.runtime);
        rows.push(Lacking::new("runtime", seen));
    }
    let shared = [&made.pid_mode, &made.uts_mode, &made.userns_mode]
        .into_iter()
        .any(|mode| mode.as_deref().is_some_and(|mode| !mode.is_empty()));
    if shared {
        let seen = "the engine shares one of the host's namespaces with the cage";
        rows.push(Lacking::new("ipc, uts, cgroup, pid namespaces", seen));
    }
    if made.cap_add.as_ref().is_some_and(|caps| !caps.is_empty()) || made.privileged == Some(true) {
        rows.push(Lacking::new("capabilities", "the engine added capabilities of its own"));
    }
    let opened = made.binds.as_ref().is_some_and(|binds| !binds.is_empty())
        || made.devices.as_ref().is_some_and(|devices| !devices.is_empty())
        || made.device_requests.as_ref().is_some_and(|requests| !requests.is_empty())
        || made.device_cgroup_rules.as_ref().is_some_and(|rules| !rules.is_empty())
        || made.volumes_from.as_ref().is_some_and(|from| !from.is_empty())
        || made.extra_hosts.as_ref().is_some_and(|hosts| !hosts.is_empty());
    if opened {
        rows.push(Lacking::new("mounts", "the engine added mounts or devices of its own"));
    }
    rows
}

/// Rows that the engine cannot enforce here, by its own word.
pub(super) fn lacking(info: &SystemInfo) -> Vec<Lacking> {
    // what is not said is for the cage itself to show
    let cannot = |can: Option<bool>| can == Some(false);
    let mut rows = Vec::new();
    if cannot(info.memory_limit) {
        rows.push(Lacking::new("memory and swap", "the engine says that it cannot limit memory here"));
    } else if cannot(info.swap_limit) {
        rows.push(Lacking::new("memory and swap", "the engine says that it cannot limit swap here"));
    }
    if cannot(info.pids_limit) {
        rows.push(Lacking::new("processes", "the engine says that it cannot limit processes here"));
    }
    if cannot(info.cpu_cfs_quota) || cannot(info.cpu_cfs_period) {
        rows.push(Lacking::new("processors", "the engine says that it cannot limit processors here"));
    }
    let options = info.security_options.as_deref();
    if options.is_some_and(|options| !options.iter().any(|option| option.contains("seccomp"))) {
        rows.push(Lacking::new("seccomp", "the engine does not list it among its security options"));
    }
    rows
}

/// What else is to be known of an engine: where users have other numbers inside, folders have other owners.
pub(super) fn notes(rootless: bool, users_mapped: bool) -> Vec<Shown> {
    let mut notes = Vec::new();
    if rootless {
        notes.push("the engine runs without root, so users have other numbers in a cage: a server that is given folders is refused; use an engine that runs as root for it");
    } else if users_mapped {
        notes.push("the engine maps users (`userns-remap`), so they have other numbers in a cage: a server that is given folders is refused; use an engine without that for it");
    }
    notes.into_iter().map(Shown::new).collect()
}

/// The row that an engine's warning is about, which it gives where it leaves out what it was asked for.
pub(super) fn warned(warning: &str) -> Lacking {
    let lower = warning.to_ascii_lowercase();
    let has = |word: &str| lower.contains(word);
    let setting = match () {
        () if has("memory") || has("swap") || has("oom") => "memory and swap",
        () if has("pids") => "processes",
        () if has("cpu") || has("cfs") => "processors",
        () if has("seccomp") => "seccomp",
        () if has("mount") || has("volume") => "mounts",
        () if has("dns") => "DNS",
        () => "the engine's warning",
    };
    Lacking::new(setting, Shown::new(warning))
}
