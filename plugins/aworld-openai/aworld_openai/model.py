"""The model: chat requests over one pool of kept-alive connections."""

from __future__ import annotations

import io
import json
import logging
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from aworld_cli.errors import ContextOverflow, EpisodeError, MachineError, did_you_mean
from aworld_cli.model import ChatRequest, ModelContext, Reply
from aworld_cli.resources import Resources
from aworld_openai.config import OpenAIConfig
from aworld_openai.failures import RequestFailed, explain, from_exception, from_status, is_too_long, redactor, shorten
from aworld_openai.retry import Retry
from aworld_openai.wire import decode_reply, encode_request

if TYPE_CHECKING:
    from aiohttp import ClientSession

_log = logging.getLogger(__name__)
_QUIET: Final = 30.0  # seconds between two warnings of failing requests
_LARGE: Final = 2**20  # bytes from which aiohttp wants a body as a file
_PROBE: Final = 30.0  # seconds that the first question may take
_LACKS_MODELS: Final = (404, 405, 501)
_LIMITS: Final = ("connect_timeout", "request_timeout", "max_connections", "retry_attempts", "retry_budget")


class OpenAIModel:
    """A chat model behind an OpenAI-compatible endpoint."""

    def __init__(self, config: OpenAIConfig) -> None:
        self.config = config
        self.name = config.model
        self._retry = Retry(config.retry_attempts, config.retry_budget, config.retry_pause)
        self._redact = redactor(config.secrets)
        self._session: ClientSession | None = None
        self._known: list[str] = []
        self._warned = float("-inf")

    def resources(self) -> Resources:
        """Connections from this process to the endpoint, nothing more."""
        unknown = (f"whether {self.config.base_url} takes the key and has the model {self.config.model}",)
        return Resources(endpoints=(self.config.base_url,), limits=_LIMITS, unknown=unknown)

    async def start(self) -> None:
        """See `Model.start`: opens the pool and asks the endpoint for its models.

        An endpoint that cannot be reached is an error at once; one that is just starting (5xx) is waited for.
        """
        self._session = self._open()
        try:
            await self._retry.run(self._probe, self._report)
        except RequestFailed as error:
            await self.close()
            raise MachineError(str(error)) from error.__cause__
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """See `Model.close`."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def complete(self, request: ChatRequest) -> Reply:
        """See `ChatModel.complete`: sends the request, again where that helps, and reads the reply."""
        body = encode_request(request, self.config.model, self.config.extra_body)

        async def send() -> Reply:
            return await self._ask(body, turn=len(request.messages))

        return await self._retry.run(send, self._report)

    # -- requests ---------------------------------------------------------------------------------------------

    async def _ask(self, body: bytes, *, turn: int) -> Reply:
        where = f"POST {self.config.base_url}/chat/completions"
        status, headers, content = await self._send("POST", "/chat/completions", body, self.config.request_timeout)
        if not 200 <= status < 300:
            raise self._failure(where, status, headers, content)
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            said, _ = self._explain(content)
            raise RequestFailed(f"{where}: its answer is not JSON ({said}); check base_url") from None
        if isinstance(data, dict) and data.get("error") and not data.get("choices"):
            raise self._failure(where, _status_within(data["error"]), headers, content)
        try:
            reply = decode_reply(data, turn=turn)
        except ValueError as error:
            said, _ = self._explain(content)
            raise RequestFailed(f"{where}: its answer is no chat completion: {error} ({said})") from None
        if reply.stop == "abort":  # what it holds is not what the model would have said
            raise RequestFailed(f"{where}: the endpoint broke the reply off; check the server's log")
        return reply

    async def _probe(self) -> None:
        """Find out that the endpoint is there and takes the key."""
        where = f"GET {self.config.base_url}/models"
        try:
            timeout = min(_PROBE, self.config.request_timeout)
            status, headers, content = await self._send("GET", "/models", None, timeout)
        except RequestFailed as error:
            error.again = False
            raise
        if status in _LACKS_MODELS or status == 429:
            return
        if status in (401, 403) and b"missing scopes" in content.lower():
            return  # a restricted OpenAI key that may not list models, but use them
        if not 200 <= status < 300:
            raise self._failure(where, status, headers, content)
        try:
            self._known = [str(item["id"]) for item in json.loads(content)["data"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._known = []  # an endpoint's list of models is a courtesy

    def _failure(self, where: str, status: int, headers: Any, content: bytes) -> EpisodeError:
        said, code = self._explain(content)
        if is_too_long(status, said, code):
            return ContextOverflow(f"{where}: HTTP {status} ({said})")
        if "Location" in headers:
            said = f"to {shorten(self._redact(headers['Location']))}"
        error = from_status(where, status, headers, said, code=code, model=self.config.model)
        if status == 401 and self.config.api_key is None:
            return RequestFailed(f"{where}: HTTP 401 ({said}): add api_key: ${{env:NAME}}", retryable=False, fatal=True)
        if status == 404 and self._known and self.config.model not in self._known:
            near = did_you_mean(self.config.model, self._known)
            return RequestFailed(f"{error}{shorten(near)}", retryable=False, fatal=True)
        return error

    def _explain(self, content: bytes) -> tuple[str, str]:
        return explain(self._redact(content.decode("utf-8", "replace")))

    async def _send(self, method: str, path: str, body: bytes | None, timeout: float) -> tuple[int, Any, bytes]:
        """Return status, headers and body of one HTTP exchange. Raises RequestFailed when there is none."""
        import aiohttp

        if self._session is None:
            raise RuntimeError("the model is not started")
        url, connect = self.config.base_url + path, self.config.connect_timeout
        data = io.BytesIO(body) if body is not None and len(body) > _LARGE else body
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=connect)
        send = self._session.request
        try:
            # No redirects: they would turn a POST into a GET, and carry the key elsewhere.
            async with send(method, url, data=data, allow_redirects=False, timeout=limits) as response:
                return response.status, response.headers, await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise from_exception(f"{method} {url}", error, connect=connect, request=timeout) from error

    def _report(self, error: RequestFailed) -> None:
        now = time.monotonic()
        if now - self._warned > _QUIET:
            self._warned = now
            _log.warning("%s; trying again", error)

    # -- the pool ---------------------------------------------------------------------------------------------

    def _open(self) -> ClientSession:
        import aiohttp

        config = self.config
        headers = {"Content-Type": "application/json"}
        if config.api_key is not None:
            headers["Authorization"] = f"Bearer {config.api_key.get_secret_value()}"
        headers.update((name, value.get_secret_value()) for name, value in config.headers.items())
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=config.max_connections, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            proxy=_proxy(config.base_url),
        )


def _status_within(error: Any) -> int:
    """Return the status of an error that came with HTTP 200, as some gateways send it."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for `url` (HTTPS_PROXY, NO_PROXY and so on); loopback has none.

    aiohttp's own `trust_env` would read ~/.netrc in a thread for each request.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    proxy = getproxies().get(parts.scheme)
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        raise MachineError(f"{parts.scheme}_proxy names no HTTP proxy; set it to one whose URL starts with http://")
    return proxy


def openai(config: OpenAIConfig, context: ModelContext) -> OpenAIModel:
    """Make the model; what earlier stages trained has no place behind a foreign endpoint."""
    if context.checkpoint is not None:
        raise MachineError("an endpoint cannot serve the checkpoint that an earlier stage left; use local or sglang")
    return OpenAIModel(config)
