"""A live Open WebUI with the function in it, its model scripted; started once a session."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo.data import prepare
from demo.openwebui import ADMIN_EMAIL, answers, free_port, start_open_webui, wait_until
from pipe.install import OpenWebUI, built_source, install_function
from tests.conftest import LAST_DAY, ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "test-only-password"


@dataclass
class LiveHost:
    """The running host: its address, an administrator and an ordinary user."""

    address: str
    admin: OpenWebUI
    user: OpenWebUI
    model: ScriptedModel


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHost]:
    if importlib.util.find_spec("open_webui") is None:
        pytest.skip("open-webui is not installed: run make test")
    folder = tmp_path_factory.mktemp("host")
    engine = folder / "clickhouse"
    prepare(engine, last_day=LAST_DAY)
    model = ScriptedModel()
    port = free_port()
    child = start_open_webui(
        folder, port=port, admin_password=PASSWORD, model_url=model.url
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until(
            lambda: answers(f"{address}/health"), child, timeout_s=300, tick=lambda: None
        )
        admin = OpenWebUI(address)
        admin.sign_in(ADMIN_EMAIL, PASSWORD)
        install_function(admin, built_source(ROOT), valves={"DSN": f"chdb://{engine}"})
        admin.call(
            "POST",
            "/api/v1/auths/add",
            {"name": "U", "email": "u@example.com", "password": PASSWORD, "role": "user"},
        )
        user = OpenWebUI(address)
        user.sign_in("u@example.com", PASSWORD)
        yield LiveHost(address, admin, user, model)
    finally:
        child.stop()
        model.close()
