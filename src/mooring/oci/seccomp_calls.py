"""The system calls of the default seccomp profile, as data: what containerd and Docker let pass.

Everything else is refused with EPERM. Left out on purpose is what reaches beyond a container
(mounting, modules, the clock, other namespaces, the kernel's log, raw I/O), what has been a way
out of one (userfaultfd, keyrings, io_uring, bpf, perf), and what is obsolete. Names that a
machine's libseccomp does not know are passed over by the runtime.
"""

from typing import Final

FILES: Final = (
    *("open", "openat", "openat2", "creat", "close", "close_range", "read", "readv", "pread64"),
    *(
        "preadv",
        "preadv2",
        "write",
        "writev",
        "pwrite64",
        "pwritev",
        "pwritev2",
        "lseek",
        "_llseek",
    ),
    *("readahead", "sendfile", "sendfile64", "copy_file_range", "splice", "tee", "vmsplice"),
    *("dup", "dup2", "dup3", "pipe", "pipe2", "fcntl", "fcntl64", "flock", "ioctl"),
    *("access", "faccessat", "faccessat2", "stat", "stat64", "lstat", "lstat64", "fstat"),
    *("fstat64", "fstatat64", "newfstatat", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64"),
    *("statmount", "listmount", "getdents", "getdents64", "getcwd", "chdir", "fchdir", "umask"),
    *("mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat"),
    *("readlink", "readlinkat", "rename", "renameat", "renameat2", "unlink", "unlinkat"),
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "chown32", "fchown", "fchown32"),
    *("fchownat", "lchown", "lchown32", "truncate", "truncate64", "ftruncate", "ftruncate64"),
    *("fallocate", "fadvise64", "fadvise64_64", "sync", "syncfs", "fsync", "fdatasync"),
    *("sync_file_range", "utime", "utimes", "futimesat", "utimensat", "utimensat_time64"),
    *("getxattr", "lgetxattr", "fgetxattr", "getxattrat", "setxattr", "lsetxattr", "fsetxattr"),
    *("setxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat", "removexattr"),
    *("lremovexattr", "fremovexattr", "removexattrat", "name_to_handle_at", "cachestat"),
    *("inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch", "fanotify_mark"),
    *("io_setup", "io_submit", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents"),
    *("io_pgetevents_time64",),
)
WAITING: Final = (
    *("select", "_newselect", "pselect6", "pselect6_time64", "poll", "ppoll", "ppoll_time64"),
    *("epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_wait"),
    *("epoll_wait_old", "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2", "signalfd"),
    *("signalfd4", "pause", "futex", "futex_time64", "futex_wait", "futex_wake", "futex_waitv"),
    *("futex_requeue", "membarrier", "rseq", "get_robust_list", "set_robust_list"),
)
MEMORY: Final = (
    *("brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "mincore", "msync"),
    *("mlock", "mlock2", "mlockall", "munlock", "munlockall", "mseal", "remap_file_pages"),
    *("map_shadow_stack", "memfd_create", "memfd_secret", "pkey_alloc", "pkey_free"),
    *("pkey_mprotect", "process_mrelease"),
)
PROCESSES: Final = (
    *("fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "waitpid"),
    *("kill", "tkill", "tgkill", "pidfd_open", "pidfd_send_signal", "restart_syscall"),
    *("rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn"),
    *("rt_sigsuspend", "rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo"),
    *("sigaltstack", "sigprocmask", "sigreturn", "getpid", "getppid", "gettid", "getpgid"),
    *("getpgrp", "getsid", "setpgid", "setsid", "set_tid_address", "get_thread_area"),
    *("set_thread_area", "prctl", "getcpu", "getpriority", "setpriority", "getrlimit"),
    *("ugetrlimit", "setrlimit", "prlimit64", "getrusage", "times", "uname", "sysinfo"),
    *("ioprio_get", "ioprio_set", "sched_get_priority_max", "sched_get_priority_min"),
    *("sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler"),
    *("sched_rr_get_interval", "sched_rr_get_interval_time64", "sched_setaffinity"),
    *("sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "getrandom"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "uretprobe"),
)
RIGHTS: Final = (
    *("getuid", "getuid32", "geteuid", "geteuid32", "getgid", "getgid32", "getegid", "getegid32"),
    *("getresuid", "getresuid32", "getresgid", "getresgid32", "getgroups", "getgroups32"),
    *("setuid", "setuid32", "setgid", "setgid32", "setreuid", "setreuid32", "setregid"),
    *("setregid32", "setresuid", "setresuid32", "setresgid", "setresgid32", "setfsuid"),
    *("setfsuid32", "setfsgid", "setfsgid32", "setgroups", "setgroups32", "capget", "capset"),
    *("seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"),
    *("lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules"),
)
SOCKETS: Final = (
    *("socketpair", "bind", "listen", "accept", "accept4", "connect", "shutdown", "getsockname"),
    *("getpeername", "getsockopt", "setsockopt", "send", "sendto", "sendmsg", "sendmmsg", "recv"),
    *("recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64", "socketcall"),
)
BETWEEN_PROCESSES: Final = (
    *("ipc", "msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop"),
    *("semtimedop_time64", "shmat", "shmctl", "shmdt", "shmget", "mq_open", "mq_unlink"),
    *("mq_getsetattr", "mq_notify", "mq_timedreceive", "mq_timedreceive_time64", "mq_timedsend"),
    *("mq_timedsend_time64",),
)
TIME: Final = (
    *("time", "gettimeofday", "clock_getres", "clock_getres_time64", "clock_gettime"),
    *("clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64", "nanosleep", "alarm"),
    *("getitimer", "setitimer", "timer_create", "timer_delete", "timer_getoverrun"),
    *("timer_gettime", "timer_gettime64", "timer_settime", "timer_settime64", "timerfd_create"),
    *("timerfd_gettime", "timerfd_gettime64", "timerfd_settime", "timerfd_settime64"),
    # These read the clock too; to set it they need CAP_SYS_TIME, which the kernel asks for.
    *("adjtimex", "clock_adjtime", "clock_adjtime64"),
)
ALWAYS: Final = tuple(
    sorted({*FILES, *WAITING, *MEMORY, *PROCESSES, *RIGHTS, *SOCKETS, *BETWEEN_PROCESSES, *TIME})
)

OF_MACHINE: Final = {
    "x86_64": ("arch_prctl", "modify_ldt"),
    "aarch64": (
        *("arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls"),
        "sync_file_range2",
    ),
}
ARCHITECTURES: Final = {
    "x86_64": ("SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"),
    "aarch64": ("SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"),
}

# What a capability is of no use without.
WITH_CAPABILITY: Final = {
    "CAP_DAC_READ_SEARCH": ("open_by_handle_at",),
    "CAP_SYS_ADMIN": (
        *("mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen"),
        *("fsconfig", "fsmount", "fspick", "quotactl", "quotactl_fd", "fanotify_init", "setns"),
        *("unshare", "clone", "clone3", "sethostname", "setdomainname", "lookup_dcookie", "bpf"),
        *("perf_event_open", "syslog"),
    ),
    "CAP_SYS_BOOT": ("reboot",),
    "CAP_SYS_CHROOT": ("chroot",),
    "CAP_SYS_MODULE": ("init_module", "finit_module", "delete_module"),
    "CAP_SYS_PACCT": ("acct",),
    "CAP_SYS_PTRACE": ("kcmp", "pidfd_getfd", "process_madvise"),
    "CAP_SYS_RAWIO": ("iopl", "ioperm"),
    "CAP_SYS_TIME": ("settimeofday", "stime", "clock_settime", "clock_settime64"),
    "CAP_SYS_TTY_CONFIG": ("vhangup",),
    "CAP_SYS_NICE": ("get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"),
    "CAP_SYSLOG": ("syslog",),
    "CAP_BPF": ("bpf",),
    "CAP_PERFMON": ("perf_event_open",),
}
