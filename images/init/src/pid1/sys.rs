//! What needs the system so closely that the compiler cannot check it?
//!
//! The only unsafe code of init: an allocator that wipes, a step between fork and exec, and the flags of
//! descriptors that were there before us. Here too is the one way to signal everything in the cage.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::{Pid, Signal, getpid, kill_process_group};

/// The system's allocator, wiping every block before it is given back.
pub struct Wiping;

// SAFETY: every block comes from `System` and goes back to it with the layout it was asked for with; `realloc` is
// the trait's own, which allocates, copies and calls `dealloc`, so that a block that moves is wiped too.
unsafe impl GlobalAlloc for Wiping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise (a layout that is not empty) is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that `block` is a live block of `layout.size()` bytes that nobody uses again.
        unsafe { block.write_bytes(0, layout.size()) };
        // A write just before a free may be dropped as dead; what is observed may not.
        std::hint::black_box(block);
        // SAFETY: the caller's promise (allocated here, with this layout) is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Has `command` start in a session and process group of its own, and so without a controlling terminal.
///
/// The standard library itself resets the signal mask and SIGPIPE, which Rust programs ignore.
pub fn in_own_session(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; `setsid` is one system call and
    // allocates nothing.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
}

/// Sees to it that no descriptor which init was started with, other than 0, 1 and 2, reaches a program.
pub fn keep_inherited_descriptors() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Ok(number) = entry?.file_name().to_string_lossy().parse::<RawFd>() else { continue };
        if number <= 2 {
            continue;
        }
        // SAFETY: only its flags are touched, here, and the kernel just listed it as open (nothing else runs yet that could close
        // it; that of the listing itself is open until the loop ends).
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let flags = fcntl_getfd(descriptor)?;
        fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC)?;
    }
    Ok(())
}

/// The process group of the program that was started last; only of use where init is not PID 1.
static LAST_GROUP: AtomicU32 = AtomicU32::new(0);

/// Remembers the program that was started last.
pub fn started(pid: u32) {
    LAST_GROUP.store(pid, Ordering::Relaxed);
}

/// Sends a signal to everything in the cage but init itself.
///
/// Where init is not PID 1 it is no cage (tests run it so): only the group of the program started last is meant.
pub fn signal_everything(signal: Signal) {
    let target = if getpid().is_init() {
        // kill(2) takes the group's number negated, and -1 means every process but PID 1 itself: there, group 1 is all of them.
        Some(Pid::INIT)
    } else {
        i32::try_from(LAST_GROUP.load(Ordering::Relaxed))
            .ok()
            .filter(|group| *group > 1)
            .and_then(Pid::from_raw)
    };
    if let Some(target) = target {
        // Fails where nothing is left, which is what is wanted.
        let _ = kill_process_group(target, signal);
    }
}

/// Kills everything in the cage but init itself. What it forks meanwhile is killed too: the kernel takes the whole
/// list at once and lets no fork of a signalled process through.
pub fn end_everything() {
    signal_everything(Signal::KILL);
}
