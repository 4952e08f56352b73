"""The ClickHouse client: one read-only statement at a time per handle, killed on cancel.

The only module that imports the driver. The driver is blocking, so every call runs in a thread;
a cancelled or late question kills its statement in the database and only then lets go.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from schemas.errors import (
    ConfigError,
    QueryError,
    QueryTimeout,
    ResultTooLarge,
    ToolError,
)
from schemas.language import Both

client_log = logging.getLogger("portfolio_agent.clickhouse")

Parameters = Mapping[str, Any]

_MARK = "portfolio-agent"
# The embedded engine writes files even in a read-only session; a server leaves that to its client.
_OUTFILE = re.compile(r"\binto\s+outfile\b", re.IGNORECASE)
_TIMEOUT_CODES = frozenset({159, 160, 209})
_TOO_LARGE_CODES = frozenset({158, 241, 307, 396, 191, 290})
_ACCESS_CODES = frozenset({497, 516, 192, 193, 194})
_MISSING_CODES = frozenset({60, 81})
_READONLY_CODES = frozenset({164})
_CANCELLED_CODE = 394
_HINT = re.compile(r"Maybe you meant:? (?:\[[^\]]*\]|\S+)", re.IGNORECASE)
_CODE = re.compile(r"Code: (\d+)\.")
_CODE_NAME = re.compile(r"\(([A-Z][A-Z_0-9]+)\)")


@dataclass(frozen=True)
class Limits:
    """What one statement may use."""

    timeout_s: float = 30.0
    max_rows: int = 200_000
    max_result_bytes: int = 200_000_000
    max_read_bytes: int = 50_000_000_000
    max_memory_bytes: int = 4_000_000_000

    def as_settings(self) -> dict[str, Any]:
        """Return them as ClickHouse settings; too much is an error, never a silent cut."""
        return {
            "max_execution_time": self.timeout_s,
            "max_result_rows": self.max_rows,
            "max_result_bytes": self.max_result_bytes,
            "result_overflow_mode": "throw",
            "max_bytes_to_read": self.max_read_bytes,
            "read_overflow_mode": "throw",
            "max_memory_usage": self.max_memory_bytes,
        }


@dataclass(frozen=True)
class Reply:
    """What a statement gave: names and ClickHouse types of columns, rows, and what it took."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    query_id: str
    statement: str
    parameters: Mapping[str, Any]
    read_rows: int
    elapsed_s: float

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, in order."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Address:
    """A DSN taken apart. `shown` is safe to show: it has no password."""

    embedded_path: str | None
    host: str = ""
    port: int = 0
    username: str = "default"
    password: str = ""
    database: str = ""
    secure: bool = False

    @property
    def shown(self) -> str:
        """Return the address without user and password."""
        if self.embedded_path is not None:
            return f"chdb://{self.embedded_path}"
        return f"{self.host}:{self.port}"


def parse_dsn(dsn: str) -> Address:
    """Read `chdb:///path` or `clickhouse(s)://user:password@host:port/db`.

    Raises:
        ConfigError: empty, or of another form. The message never repeats the DSN.
    """
    if not dsn.strip():
        raise ConfigError(
            Both(
                "База данных не настроена: заполните настройку DSN "
                "(clickhouse://пользователь:пароль@сервер:8123/база или chdb:///путь).",
                "No database is set: fill the DSN valve "
                "(clickhouse://user:password@host:8123/db or chdb:///path).",
            )
        )
    wrong = ConfigError(
        Both(
            "Настройка DSN не читается: нужен вид clickhouse://пользователь:пароль@сервер:8123/база "
            "или chdb:///путь.",
            "The DSN valve cannot be read: expected clickhouse://user:password@host:8123/db "
            "or chdb:///path.",
        )
    )
    try:
        parts = urlsplit(dsn.strip())
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme == "chdb":
        path = unquote(parts.netloc + parts.path)
        if not path:
            raise wrong
        return Address(embedded_path=path)
    if parts.scheme not in {"clickhouse", "clickhouses", "http", "https"} or not parts.hostname:
        raise wrong
    secure = parts.scheme in {"clickhouses", "https"}
    return Address(
        embedded_path=None,
        host=parts.hostname,
        port=port or (8443 if secure else 8123),
        username=unquote(parts.username or "default"),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.strip("/")),
        secure=secure,
    )


class ClickHouse:
    """A pool of read-only handles to one address.

    Safe to share between questions: it keeps no state of any of them.
    """

    def __init__(self, dsn: str, *, limits: Limits | None = None, handles: int = 8) -> None:
        self.address = parse_dsn(dsn)
        self.limits = limits or Limits()
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(max_workers=handles, thread_name_prefix="clickhouse")
        self._killers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="clickhouse-kill")

    async def query(
        self,
        statement: str,
        parameters: Parameters | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Reply:
        """Run one read-only statement with bound `{name:Type}` parameters.

        Columns keep the order of the SELECT; an empty result has columns and no rows.
        On cancellation the statement is killed in the database before this returns.

        Raises:
            QueryTimeout: stopped after `timeout_s`, or the limits' own.
            ResultTooLarge: more rows, bytes or memory than the limits.
            QueryError: refused; carries the code.
            ConfigError: no database there, wrong password, missing table or right.
        """
        query_id = str(uuid.uuid4())
        wait_s = timeout_s if timeout_s is not None else self.limits.timeout_s
        queued = self._threads.submit(self._run, statement, dict(parameters or {}), query_id)
        work = asyncio.wrap_future(queued)
        try:
            return await asyncio.wait_for(asyncio.shield(work), timeout=wait_s + 2)
        except TimeoutError:
            # One that still waits for a thread must not run after its time.
            if not queued.cancel():
                await self._kill_and_wait(query_id, work)
            raise QueryTimeout(_late(wait_s)) from None
        except asyncio.CancelledError:
            if not queued.cancel():
                await asyncio.shield(self._kill_and_wait(query_id, work))
            raise

    async def _kill_and_wait(self, query_id: str, work: asyncio.Future[Reply]) -> None:
        """Kill a statement and wait, for at most five seconds, until its thread is back."""
        loop = asyncio.get_running_loop()
        for _ in range(3):
            killing = loop.run_in_executor(self._killers, self._kill, query_id)
            await asyncio.wait({killing}, timeout=2)
            done, _pending = await asyncio.wait({work}, timeout=1.0)
            if done:
                work.exception()
                return
        work.add_done_callback(lambda late: late.cancelled() or late.exception())
        client_log.warning("statement %s is still running after it was killed", query_id)

    def _run(self, statement: str, parameters: dict[str, Any], query_id: str) -> Reply:
        if self.address.embedded_path is not None and _OUTFILE.search(statement):
            raise QueryError(
                Both("Запись в файл не разрешена.", "Writing to a file is not allowed."),
                code=None,
                name="READONLY",
            )
        handle = self._take()
        started = time.monotonic()
        healthy = True
        try:
            result = handle.query(
                f"/* {_MARK} {query_id} */ {statement}",
                parameters=parameters or None,
                settings=self._per_query(query_id),
            )
            summary = result.summary or {}
            return Reply(
                names=tuple(result.column_names),
                types=tuple(str(kind.name) for kind in result.column_types),
                rows=list(result.result_rows),
                query_id=query_id,
                statement=statement,
                parameters=parameters,
                read_rows=int(summary.get("read_rows", 0) or 0),
                elapsed_s=time.monotonic() - started,
            )
        except Exception as error:
            healthy = _code_of(error) is not None
            raise self._translate(error) from None
        finally:
            self._give_back(handle, healthy=healthy)

    def _per_query(self, query_id: str) -> dict[str, Any] | None:
        return None if self.address.embedded_path is not None else {"query_id": query_id}

    def _kill(self, query_id: str) -> None:
        handle = self._take(limited=False)
        try:
            # The mark is matched in the text: the embedded engine takes no query_id of ours.
            handle.command(
                f"KILL QUERY WHERE startsWith(query, '/* {_MARK} {query_id} */') ASYNC"
            )
        except Exception as error:  # the person is leaving; say it to the administrator only
            client_log.warning("could not kill %s: %s", query_id, type(error).__name__)
        finally:
            self._close(handle)

    def _take(self, *, limited: bool = True) -> Any:
        if limited:
            with self._lock:
                if self._idle:
                    return self._idle.pop()
        return self._open(limited=limited)

    def _give_back(self, handle: Any, *, healthy: bool) -> None:
        if not healthy:
            self._close(handle)
            return
        with self._lock:
            self._idle.append(handle)

    def _open(self, *, limited: bool) -> Any:
        try:
            import clickhouse_connect
        except ImportError:
            raise ConfigError(
                Both(
                    "Не установлен пакет clickhouse-connect.",
                    "The package clickhouse-connect is not installed.",
                )
            ) from None
        try:
            if self.address.embedded_path is not None:
                return self._open_embedded(clickhouse_connect, limited=limited)
            return self._open_server(clickhouse_connect, limited=limited)
        except ToolError:
            raise
        except ConfigError:
            raise
        except Exception as error:
            raise self._translate(error) from None

    def _open_embedded(self, driver: Any, *, limited: bool) -> Any:
        path = Path(str(self.address.embedded_path))
        if not path.exists():
            raise ConfigError(
                Both(
                    f"Встроенной базы нет по пути {path}: создайте её (make demo) или исправьте DSN.",
                    f"There is no embedded database at {path}: make one (make demo) or correct DSN.",
                )
            )
        try:
            handle = driver.get_client(interface="chdb", path=str(path))
        except ImportError:
            raise ConfigError(
                Both(
                    "Для встроенной базы нужен пакет chdb.",
                    "The embedded database needs the package chdb.",
                )
            ) from None
        if limited:
            # Once readonly is set the session takes no other setting: limits go first.
            for name, value in self.limits.as_settings().items():
                shown = f"'{value}'" if isinstance(value, str) else value
                handle.command(f"SET {name} = {shown}")
            handle.command("SET readonly = 1")
        return handle

    def _open_server(self, driver: Any, *, limited: bool) -> Any:
        handle = driver.get_client(
            host=self.address.host,
            port=self.address.port,
            username=self.address.username,
            password=self.address.password,
            database=self.address.database or "default",
            interface="https" if self.address.secure else "http",
            connect_timeout=5,
            send_receive_timeout=self.limits.timeout_s + 10,
            autogenerate_session_id=False,
        )
        if limited:
            for name, value in {**self.limits.as_settings(), "readonly": 1}.items():
                known = handle.server_settings.get(name)
                if known is not None and not known.readonly:
                    handle.set_client_setting(name, value)
        return handle

    @staticmethod
    def _close(handle: Any) -> None:
        try:
            handle.close()
        except Exception as error:
            client_log.debug("closing a handle failed: %s", type(error).__name__)

    def close(self) -> None:
        """Close idle handles and threads; running statements end on their own."""
        with self._lock:
            idle, self._idle = self._idle, []
        for handle in idle:
            self._close(handle)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._killers.shutdown(wait=False, cancel_futures=True)

    def _translate(self, error: Exception) -> Exception:
        """Turn a driver error into ours, without DSN, password or cell values."""
        text = str(error)
        code = _code_of(error)
        if code is None and isinstance(error, _VALUE_ERRORS):
            return QueryError(
                Both("База не приняла значение параметра.", "The database did not take a value."),
                code=None,
                name="BAD_VALUE",
            )
        if code is None:
            return self._unreachable(text)
        name = (_CODE_NAME.findall(text) or ["UNKNOWN"])[-1]
        if code in _TIMEOUT_CODES:
            return QueryTimeout(_late(self.limits.timeout_s))
        if code == _CANCELLED_CODE:
            return QueryTimeout(
                Both("Запрос был остановлен.", "The query was stopped.")
            )
        if code in _TOO_LARGE_CODES:
            return ResultTooLarge(
                Both(
                    "Запрос затрагивает слишком много данных: сузьте период или список портфелей.",
                    "The query touches too much data: narrow the period or the portfolios.",
                )
            )
        if code in _ACCESS_CODES:
            return ConfigError(
                Both(
                    f"База {self.address.shown} не пускает: проверьте имя, пароль и права ({name}).",
                    f"The database {self.address.shown} refused access: "
                    f"check user, password and rights ({name}).",
                )
            )
        if code in _READONLY_CODES:
            return QueryError(
                Both(
                    "Запрос не выполнен: разрешено только чтение.",
                    "The query was not run: only reading is allowed.",
                ),
                code=code,
                name=name,
            )
        if code in _MISSING_CODES:
            return QueryError(
                Both(
                    f"В базе нет такой таблицы ({name}).", f"There is no such table ({name})."
                ),
                code=code,
                name=name,
                hint=_hint_of(text),
            )
        return QueryError(
            Both(
                f"База не выполнила запрос: {name}, код {code}.",
                f"The database did not run the query: {name}, code {code}.",
            ),
            code=code,
            name=name,
            hint=_hint_of(text),
        )

    def _unreachable(self, text: str) -> Exception:
        client_log.warning("database %s: %s", self.address.shown, _redact(text, self.address))
        if self.address.embedded_path is not None:
            if "already initialized" in text or "another path" in text:
                return ConfigError(
                    Both(
                        "В этом процессе уже открыта другая встроенная база: "
                        "после смены DSN перезапустите Open WebUI.",
                        "This process already holds another embedded database: "
                        "restart Open WebUI after changing DSN.",
                    )
                )
            return ConfigError(
                Both(
                    f"Встроенная база {self.address.embedded_path} не открывается: "
                    "её держит другая программа (например, запущенное демо) или путь неверен.",
                    f"The embedded database {self.address.embedded_path} cannot be opened: "
                    "another program holds it (such as a running demo) or the path is wrong.",
                )
            )
        return ConfigError(
            Both(
                f"База данных {self.address.shown} не отвечает.",
                f"The database {self.address.shown} does not answer.",
            )
        )


def _late(seconds: float) -> Both:
    return Both(
        f"Запрос не уложился в {seconds:g} с и остановлен: сузьте период или список портфелей.",
        f"The query did not finish in {seconds:g} s and was stopped: narrow the period or portfolios.",
    )


# What Python says of a value that cannot be sent, before any database is asked.
_VALUE_ERRORS = (UnicodeError, TypeError, OverflowError)


def _code_of(error: Exception) -> int | None:
    code = getattr(error, "code", None)
    if isinstance(code, int) and code > 0:
        return code
    found = _CODE.search(str(error))
    if found is None or "EmbeddedServer" in str(error):
        return None
    return int(found.group(1))


def _hint_of(text: str) -> str:
    found = _HINT.search(text)
    return found.group(0) if found else ""


def _redact(text: str, address: Address) -> str:
    shown = text.replace(address.password, "***") if address.password else text
    return shown[:300]
