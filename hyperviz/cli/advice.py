"""How to get what is missing, in the words of the machine's own package manager."""

from __future__ import annotations

import platform
import sys

# What it is called → the packages of each system; a system stands under its own name or one that it says it is like.
PACKAGES = {
    "compiler": {"debian": "g++", "fedora": "gcc-c++", "arch": "gcc", "alpine": "g++", "suse": "gcc-c++"},
    "headers": {"debian": "python3-dev", "fedora": "python3-devel", "arch": "python", "alpine": "python3-dev", "suse": "python3-devel"},
    "browser": {"debian": "chromium", "fedora": "chromium", "arch": "chromium", "alpine": "chromium", "suse": "chromium"},
}
INSTALL = {
    "debian": "apt-get install",
    "fedora": "dnf install",
    "arch": "pacman -S",
    "alpine": "apk add",
    "suse": "zypper install",
}
ELSEWHERE = {
    "darwin": {
        "compiler": "xcode-select --install && brew install libomp",
        "headers": "brew install python",
        "browser": "brew install chromium",
    },
    "win32": {
        "compiler": "install Visual Studio's Build Tools with C++, and start from its developer prompt",
        "headers": "install Python from python.org",
        "browser": "winget install Hibbiki.Chromium",
    },
}


def how_to_get(what: str) -> str:
    """The command that installs it here.

    Args:
        what: one of ``PACKAGES``.

    Returns:
        A command, or a phrase where this system is not known.
    """
    if sys.platform in ELSEWHERE:
        return ELSEWHERE[sys.platform][what]
    system = next((name for name in _systems() if name in INSTALL), None)
    return (
        f"{INSTALL[system]} {PACKAGES[what][system]}"
        if system
        else f"install your system's package like Debian's {PACKAGES[what]['debian']}"
    )


def _systems() -> list[str]:
    """What this Linux calls itself and what it says it is like, nearest first."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return []
    return [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
