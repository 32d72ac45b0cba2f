"""Commands in a mount namespace of their own, in which nothing of other tests is mounted.

A namespace begins with a copy of every mount there is; as long as it lives, whatever another test
unmounts would stay mounted in it, and its disks busy.
"""

OWN_MOUNTS = (
    *("unshare", "--mount", "--propagation", "private", "sh", "-c"),
    "while read -r source target rest; do "
    'case "$source $target" in /dev/loop*|*" /tmp/"*) umount -l "$target" 2>/dev/null ;; esac; '
    'done < /proc/self/mounts; exec "$@"',
    "sh",
)
"""What stands before such a command."""
