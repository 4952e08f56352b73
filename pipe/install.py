"""Install the function into a running Open WebUI: create or update, keep valves, switch on.

    python3 -m pipe.install --url http://host:8080 --token TOKEN

Without arguments it reads OPEN_WEBUI_URL and OPEN_WEBUI_TOKEN, or OPEN_WEBUI_EMAIL and
OPEN_WEBUI_PASSWORD, and valves from PORTFOLIO_<VALVE>. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipe.bundle import DESCRIPTION, FUNCTION, TITLE, BundleError, write_bundle

_PREFIX = "PORTFOLIO_"


class InstallError(Exception):
    """It could not be installed; the message is for the administrator."""


class OpenWebUI:
    """The REST interface of a running Open WebUI, as an administrator."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url.rstrip("/")
        self.token = token

    def sign_in(self, email: str, password: str) -> str:
        """Sign in and return the token.

        Raises:
            InstallError: wrong name or password, or no Open WebUI there.
        """
        reply = self.call("POST", "/api/v1/auths/signin", {"email": email, "password": password})
        self.token = str(reply["token"])
        return self.token

    def call(self, method: str, path: str, data: Any = None) -> Any:
        """Make one call and return its JSON.

        Raises:
            InstallError: refused, unreachable, or not an Open WebUI; says which.
        """
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if not self.url.startswith(("http://", "https://")):
            raise InstallError(f"{self.url!r} is not an address: it begins with http:// or https://")
        request = urllib.request.Request(
            self.url + path,
            data=None if data is None else json.dumps(data).encode(),
            headers=headers,
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                body = reply.read()
        except urllib.error.HTTPError as error:
            with error:
                raise InstallError(_refusal(error, path)) from None
        except (urllib.error.URLError, OSError, ValueError):
            raise InstallError(f"nothing answers at {self.url}") from None
        try:
            return json.loads(body)
        except ValueError:
            raise InstallError(f"what answers at {self.url} is not an Open WebUI") from None


def _refusal(error: urllib.error.HTTPError, path: str) -> str:
    try:
        detail = str(json.loads(error.read()).get("detail", ""))[:300]
    except (ValueError, AttributeError):
        detail = ""
    if error.code in (401, 403):
        return f"the token or password was refused ({error.code}): an administrator's is needed"
    if error.code == 404 and not detail:
        return "what answers there is not an Open WebUI (404)"
    return f"{path}: HTTP {error.code} {detail}"


def install_function(
    host: OpenWebUI, source: str, *, valves: Mapping[str, Any] | None = None
) -> str:
    """Create or update the function, switch it on, show it to all users; return what was done.

    Stored valves stay; those given here replace the stored ones of the same name.

    Raises:
        InstallError: the host refused.
    """
    version = str(host.call("GET", "/api/version").get("version", ""))
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < (0, 9):
        raise InstallError(f"Open WebUI {version or '?'} is too old: 0.9 or newer is needed")
    form = {
        "id": FUNCTION,
        "name": TITLE,
        "content": source,
        "meta": {"description": DESCRIPTION},
    }
    known = {item["id"]: item for item in host.call("GET", "/api/v1/functions/")}
    if FUNCTION in known:
        done = "updated"
        host.call("POST", f"/api/v1/functions/id/{FUNCTION}/update", form)
    else:
        done = "created"
        host.call("POST", "/api/v1/functions/create", form)
    if valves:
        stored = host.call("GET", f"/api/v1/functions/id/{FUNCTION}/valves") or {}
        host.call(
            "POST",
            f"/api/v1/functions/id/{FUNCTION}/valves/update",
            {**stored, **dict(valves)},
        )
    if not host.call("GET", f"/api/v1/functions/id/{FUNCTION}")["is_active"]:
        host.call("POST", f"/api/v1/functions/id/{FUNCTION}/toggle")
    # The host reads its functions anew when the models are listed.
    host.call("GET", "/api/models")
    _show_to_all(host)
    host.call("GET", "/api/models")
    return done


def _show_to_all(host: OpenWebUI) -> None:
    """Give the model an entry that every user may read, unless an administrator made one."""
    try:
        host.call("GET", f"/api/v1/models/model?id={FUNCTION}")
    except InstallError:
        host.call(
            "POST",
            "/api/v1/models/create",
            {
                "id": FUNCTION,
                "base_model_id": None,
                "name": TITLE,
                "meta": {
                    "description": DESCRIPTION,
                    "profile_image_url": None,
                    "capabilities": {"builtin_tools": False, "file_context": False},
                    "suggestion_prompts": [
                        {"title": [question, ""], "content": question} for question in QUESTIONS
                    ],
                },
                "params": {},
                "access_grants": [
                    {"principal_type": "user", "principal_id": "*", "permission": "read"}
                ],
            },
        )


QUESTIONS = (
    "Какая доходность портфеля ДУ Горизонт Акции за 2024 год?",
    "Таблица по дням за декабрь 2025: СЧА, приток, отток для ПИФ Горизонт Технологии",
    "Какие у нас ПИФы?",
)


def built_source(root: Path) -> str:
    """Return the bundle, built afresh.

    Raises:
        InstallError: it could not be built.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            return write_bundle(root, Path(folder)).read_text(encoding="utf-8")
        except BundleError as error:
            raise InstallError(f"not bundled: {error}") from None


def install_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 installed, 2 usage, 1 refused."""
    options = argparse.ArgumentParser(prog="python3 -m pipe.install", description=__doc__)
    options.add_argument("--url", default=os.environ.get("OPEN_WEBUI_URL", ""))
    options.add_argument("--token", default=os.environ.get("OPEN_WEBUI_TOKEN", ""))
    options.add_argument("--root", type=Path, default=Path.cwd())
    given = options.parse_args(arguments)
    email, password = os.environ.get("OPEN_WEBUI_EMAIL"), os.environ.get("OPEN_WEBUI_PASSWORD")
    if not given.url or not (given.token or (email and password)):
        print(
            "Give the address and a token: make install OPENWEBUI_URL=http://host:8080 "
            "OPENWEBUI_TOKEN=… (Settings → Account → API keys)",
            file=sys.stderr,
        )
        return 2
    valves = {
        name.removeprefix(_PREFIX): value
        for name, value in os.environ.items()
        if name.startswith(_PREFIX) and value
    }
    host = OpenWebUI(given.url, given.token)
    try:
        if not given.token:
            host.sign_in(str(email), str(password))
        done = install_function(host, built_source(given.root), valves=valves)
    except InstallError as error:
        print(f"Not installed: {error}.", file=sys.stderr)
        return 1
    print(f"{TITLE} is {done} and on at {host.url}.")
    return 0


if __name__ == "__main__":
    sys.exit(install_command())
