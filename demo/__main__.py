"""`python -m demo`: a local Open WebUI with the function, demo data and a model that plans."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from datetime import date
from pathlib import Path
from types import FrameType

from demo.data import last_business_day, prepare
from demo.openwebui import (
    ADMIN_EMAIL,
    USER_EMAIL,
    Child,
    StartError,
    answers,
    free_port,
    kept_secret,
    port_is_free,
    start,
    start_open_webui,
    wait_until,
)
from pipe.install import InstallError, OpenWebUI, built_source, install_function

OLLAMA = "http://127.0.0.1:11434"


def demo_command() -> int:
    """Start everything, print where it is, wait for Ctrl-C, stop everything."""
    options = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    options.add_argument("--port", type=int, default=8080)
    options.add_argument("--folder", type=Path, default=Path(".demo"))
    options.add_argument("--last-day", type=date.fromisoformat, default=None)
    given = options.parse_args()
    # Also where a shell started it in the background, which ignores Ctrl-C by default.
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    children: list[Child] = []
    try:
        _serve(given.port, given.folder.resolve(), given.last_day, children)
    except (StartError, InstallError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopping…")
        return 0
    finally:
        for child in reversed(children):
            child.stop()
    return 0


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _serve(port: int, folder: Path, last_day: date | None, children: list[Child]) -> None:
    if not port_is_free(port):
        raise StartError(f"Port {port} is in use. Take another: make demo PORT={port + 1}")
    day = last_day or last_business_day(date.today())
    _say(f"Demo data up to {day}")
    engine = folder / "clickhouse"
    prepare(engine, last_day=day)
    model_url, model_key, model, ollama = _model(folder, children)
    _say("Starting Open WebUI (the first start takes about half a minute)")
    admin, person = kept_secret(folder / "admin-password"), kept_secret(folder / "user-password")
    child = start_open_webui(
        folder,
        port=port,
        admin_password=admin,
        model_url=model_url,
        model_key=model_key,
        ollama_url=ollama,
    )
    children.append(child)
    address = f"http://127.0.0.1:{port}"
    wait_until(lambda: answers(f"{address}/health"), child, timeout_s=240, tick=_dot)
    print()
    host = OpenWebUI(address)
    host.sign_in(ADMIN_EMAIL, admin)
    valves = {"DSN": f"chdb://{engine}", "MODEL": model}
    install_function(host, built_source(Path.cwd()), valves=valves)
    _add_person(host, person)
    _print_welcome(address, admin, person, day)
    while child.process.poll() is None:
        time.sleep(0.5)
    raise StartError(f"Open WebUI ended. Its log, {child.log}:\n{child.tail()}")


def _model(folder: Path, children: list[Child]) -> tuple[str, str, str, str]:
    """Return address, key and name of the model that plans, and Ollama's address if it is one."""
    url = os.environ.get("OPENAI_API_BASE_URL", "")
    if url:
        _say(f"Planning with the model at {url.split('@')[-1]}")
        return url, os.environ.get("OPENAI_API_KEY", "x"), os.environ.get("OPENAI_MODEL", ""), ""
    if answers(f"{OLLAMA}/api/tags"):
        _say("Planning with Ollama")
        return "", "x", os.environ.get("OPENAI_MODEL", ""), OLLAMA
    port = free_port()
    _say("No model is set: the offline planner answers (keyword rules)")
    child = start(
        "The offline planner",
        [sys.executable, "-m", "demo.offline_planner", "--port", str(port)],
        folder / "logs" / "offline-planner.log",
        os.environ,
    )
    children.append(child)
    base = f"http://127.0.0.1:{port}/v1"
    wait_until(lambda: answers(f"{base}/models"), child, timeout_s=30, tick=_dot)
    return base, "x", "", ""


def _add_person(host: OpenWebUI, password: str) -> None:
    try:
        host.call(
            "POST",
            "/api/v1/auths/add",
            {"name": "Analyst", "email": USER_EMAIL, "password": password, "role": "user"},
        )
    except InstallError as error:
        if "HTTP 400" not in str(error):
            raise


def _say(text: str) -> None:
    print(f"• {text}", flush=True)


def _dot() -> None:
    print(".", end="", flush=True)


def _print_welcome(address: str, admin: str, person: str, day: date) -> None:
    months = (
        "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь".split()
    )
    print(
        f"""
Portfolio Agent is at {address}

  analyst        {USER_EMAIL}   {person}
  administrator  {ADMIN_EMAIL}     {admin}

Ask, for example:
  Какая доходность портфеля ДУ Горизонт Акции за 2024 год?
  Таблица по дням за {months[day.month - 1]} {day.year}: СЧА, приток, отток для ПИФ Горизонт Технологии
  Какие у нас ПИФы?

Ctrl-C stops everything.""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(demo_command())
