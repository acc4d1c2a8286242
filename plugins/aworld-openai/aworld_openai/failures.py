"""What can go wrong with a request, each as one clear line that says what to do, and never holds a secret."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping

from aworld_cli.errors import EpisodeError

_HTML_DROPPED = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)
#: How OpenAI, vLLM, SGLang, llama.cpp, TGI, Anthropic's and Google's endpoints say that a request is too long.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|prompt is too long|input token count .*exceeds"
    r"|(?:exceed\w*|longer than) [^.]*context (?:length|window|size)|tokens . .max_new_tokens. must be",
    re.IGNORECASE,
)
_LONGEST = 200  # characters of an endpoint's own words that are shown
_KEY = "check the environment variable that the recipe's api_key names"


class RequestFailed(EpisodeError):
    """A request failed.

    Attributes:
        again: whether this very request may be sent again at once, without a new attempt of the episode.
        retry_after: seconds that the endpoint asked to wait before that.
    """

    def __init__(
        self,
        message: str,
        *,
        again: bool = False,
        retry_after: float | None = None,
        retryable: bool = True,
        fatal: bool = False,
    ) -> None:
        super().__init__("model", message, retryable=retryable, fatal=fatal)
        self.again = again
        self.retry_after = retry_after


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return a function that replaces every secret in a text by `***`."""
    escaped = "|".join(re.escape(secret) for secret in secrets)
    pattern = re.compile(escaped) if escaped else None
    return lambda text: pattern.sub("***", text) if pattern is not None else text


def from_status(
    where: str, status: int, headers: Mapping[str, str], said: str, *, code: str = "", model: str = ""
) -> RequestFailed:
    """Return what a response that is not 2xx means.

    Args:
        where: method and URL.
        headers: the response's.
        said: the endpoint's own words (see `explain`); `code` is its error code.
        model: the model's name, for a chat request.
    """
    line = f"{where}: HTTP {status}" + (f" ({said})" if said else "")
    if (status == 429 and code == "insufficient_quota") or status == 402:
        return _refused(f"{line}: the account has no credit left; top it up, or use another key", fatal=True)
    if status in (408, 425, 429) or status >= 500:
        return RequestFailed(line, again=True, retry_after=_retry_after(headers))
    if status in (401, 403):
        return _refused(f"{line}: the endpoint refused the key; {_KEY}", fatal=True)
    if status == 404:
        advice = f"it has no such path, or no model {model!r}; check base_url (most end in /v1) and model"
        return _refused(f"{line}: {advice}", fatal=True)
    if 300 <= status < 400:
        return _refused(f"{line}: redirects are not followed; give the final address as base_url", fatal=True)
    return _refused(f"{line}: the endpoint does not take this request; extra_body changes what is sent")


def is_too_long(status: int, said: str, code: str) -> bool:
    """Return whether an endpoint refuses a request because it does not fit the model's context."""
    return status in (400, 413, 422) and _TOO_LONG.search(f"{code} {said}") is not None


def _refused(text: str, *, fatal: bool = False) -> RequestFailed:
    return RequestFailed(text, retryable=False, fatal=fatal)


def from_exception(where: str, error: Exception, *, connect: float, request: float) -> RequestFailed:
    """Return what an exception of aiohttp means; the two numbers are the timeouts in seconds."""
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        text = f"no connection within {connect:g} s; check base_url, or raise connect_timeout"
        return RequestFailed(f"{where}: {text}", again=True)
    if isinstance(error, TimeoutError):
        more = "" if where.startswith("GET") else ", or raise request_timeout"
        return RequestFailed(f"{where}: no answer within {request:g} s; check the server's load{more}")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        text = f"there is no host called {error.host!r}; check base_url and the network"
    elif isinstance(error, aiohttp.ClientConnectorCertificateError):
        text = "its TLS certificate is not trusted; set SSL_CERT_FILE to the authority's certificate"
    elif isinstance(error, aiohttp.ClientSSLError):
        text = "no TLS connection; check that base_url's scheme, http or https, is what the server speaks"
    elif isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error.strerror or type(error.os_error).__name__
        if isinstance(error.os_error, ConnectionRefusedError):
            cause = "the connection was refused"
        text = f"{cause}; check that the server runs and that base_url is right"
    else:
        text = f"the connection broke ({type(error).__name__}); check the server's log"
    return RequestFailed(f"{where}: {text}", again=True)


def explain(text: str) -> tuple[str, str]:
    """Return an error body as one short line, and the error code it holds or the empty text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return shorten(_HTML_DROPPED.sub(" ", text) if "<" in text else text), ""
    error = data.get("error", data) if isinstance(data, dict) else data  # endpoints differ in the form
    if not isinstance(error, dict):
        return shorten(error if isinstance(error, str) else json.dumps(error)), ""
    message = error.get("message") or error.get("detail") or error
    return shorten(message if isinstance(message, str) else json.dumps(message)), str(error.get("code") or "")


def shorten(text: str) -> str:
    """Return `text` as one line of printable characters, cut where it is long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` asks for: a number or a date (RFC 9110, 10.2.3)."""
    given = headers.get("Retry-After")
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds < float("inf") else None
