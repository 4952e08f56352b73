"""Start a local Open WebUI and stop it: used by the demo and by the tests."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


class StartError(Exception):
    """Something could not be started; the message is for the person at the keyboard."""


@dataclass
class Child:
    """A process of its own group, and its log."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        """Stop the whole group: politely, then by force."""
        for sent, wait_s in ((signal.SIGTERM, 8.0), (signal.SIGKILL, 5.0)):
            if self.process.poll() is not None:
                break
            try:
                os.killpg(self.process.pid, sent)
                self.process.wait(timeout=wait_s)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def tail(self, lines: int = 15) -> str:
        """Return the end of the log."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


def start(name: str, command: list[str], log: Path, environment: Mapping[str, str]) -> Child:
    """Start a process in a group of its own, its output in `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    return Child(name, process, log)


def port_is_free(port: int) -> bool:
    """Say whether nothing listens on a local port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a local port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    """Say whether an address answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=3) as reply:
            return bool(reply.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except (urllib.error.URLError, OSError):
        return False


def wait_until(
    ready: Callable[[], bool], child: Child, *, timeout_s: float, tick: Callable[[], None]
) -> None:
    """Wait for a child to be ready.

    Raises:
        StartError: it ended or was not ready in time; the end of its log is told.
    """
    deadline = time.monotonic() + timeout_s
    while not ready():
        if child.process.poll() is not None:
            raise StartError(f"{child.name} ended at once. Its log, {child.log}:\n{child.tail()}")
        if time.monotonic() > deadline:
            raise StartError(f"{child.name} is not ready after {timeout_s:.0f} s, see {child.log}")
        tick()
        time.sleep(0.3)


def kept_secret(path: Path) -> str:
    """Return the secret kept in a file, made on first use and readable by its owner only."""
    if path.is_file():
        return path.read_text().strip()
    path.parent.mkdir(parents=True, exist_ok=True)
    value = secrets.token_urlsafe(9)
    path.touch(mode=0o600)
    path.write_text(value)
    return value


def start_open_webui(
    folder: Path,
    *,
    port: int,
    admin_password: str,
    model_url: str,
    model_key: str = "x",
    ollama_url: str = "",
    extra: Mapping[str, str] | None = None,
) -> Child:
    """Start Open WebUI on localhost with its data in `folder`.

    It stays off the network and installs nothing: its packages are those of this interpreter.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPENAI_", "WEBUI_", "PORTFOLIO_"))
    }
    environment.update(
        {
            "USE_SLIM_DOCKER": "true",
            "FROM_INIT_PY": "true",
            "DATA_DIR": str(folder / "data"),
            "STATIC_DIR": str(folder / "static"),
            "WEBUI_SECRET_KEY": kept_secret(folder / "secret"),
            "OFFLINE_MODE": "true",
            "ENABLE_PERSISTENT_CONFIG": "false",
            "ENABLE_OLLAMA_API": "true" if ollama_url else "false",
            "OLLAMA_BASE_URL": ollama_url,
            "ENABLE_OPENAI_API": "true" if model_url else "false",
            "OPENAI_API_BASE_URL": model_url,
            "OPENAI_API_KEY": model_key,
            "WEBUI_ADMIN_EMAIL": ADMIN_EMAIL,
            "WEBUI_ADMIN_PASSWORD": admin_password,
            "WEBUI_ADMIN_NAME": "Admin",
            "ENABLE_API_KEYS": "true",
            "ENABLE_SIGNUP": "false",
            "DEFAULT_MODELS": "portfolio_agent",
            "RAG_EMBEDDING_ENGINE": "openai",
            "ANONYMIZED_TELEMETRY": "false",
            "DO_NOT_TRACK": "true",
            **(extra or {}),
        }
    )
    (folder / "data").mkdir(parents=True, exist_ok=True)
    return start(
        "Open WebUI",
        [
            sys.executable, "-m", "uvicorn", "open_webui.main:app",
            "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning",
        ],
        folder / "logs" / "open-webui.log",
        environment,
    )


ADMIN_EMAIL = "admin@example.com"
USER_EMAIL = "analyst@example.com"
