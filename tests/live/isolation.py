"""Takes the network away from this process and all that it starts, but for loopback."""

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def without_network():
    """Enters a network namespace of its own. Returns whether that worked: it wants Linux, and a right that some systems keep."""
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
    except AttributeError:
        return False
    user, group = os.getuid(), os.getgid()
    if user != 0:
        if unshare(CLONE_NEWUSER) != 0:
            return False
        for name, text in [("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    if unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return True
