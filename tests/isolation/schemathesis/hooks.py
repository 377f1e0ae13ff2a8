"""Requests name what exists, a problem's type is one that the operation documents, and none is an error of a service."""

import json
import os
import re
import uuid
import zlib

import schemathesis

# ids by the prefix of their type, and texts by the name of the member or parameter
with open(os.environ["FUZZ_VALUES"]) as file:
    VALUES = json.load(file)
ID = re.compile(r"([a-z]+)_[0-9a-f]{32}")


def named(name, value, choice):
    """The value with what exists in the place of its ids and names."""
    if isinstance(value, dict):
        return {name: named(name, member, choice) for name, member in value.items()}
    if isinstance(value, list):
        return [named(name, item, choice) for item in value]
    if isinstance(value, str):
        typed = ID.fullmatch(value)
        known = VALUES.get(typed[1] if typed else name)
        if known:
            return known[choice % len(known)].replace("$unique", f"new-{uuid.uuid4().hex}")
    return value


@schemathesis.hook
def before_call(context, case, kwargs):
    # three of four requests name what exists; which ones depends on the request alone
    parts = [case.method, case.path, case.path_parameters, case.query, case.headers, case.body]
    choice = zlib.crc32(repr(parts).encode("utf-8", "surrogatepass"))
    if choice % 4:
        case.path_parameters = named("", case.path_parameters, choice // 4)
        case.query = named("", case.query, choice // 4)
        case.body = named("", case.body, choice // 4)
    # the documented schema is that of a whole item
    (case.query or {}).pop("fields", None)
    # a stream does not end
    if "follow" in (case.query or {}):
        case.query["follow"] = "false"
    if len((case.headers or {}).get("Idempotency-Key", "")) > 1:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if len((case.headers or {}).get("If-Match", "")) > 1:
        case.headers["If-Match"] = "*"


@schemathesis.check
def documented_problem(context, response, case):
    # methods that no operation has are tried, too
    if response.status_code < 400 or case.method.lower() != case.operation.method.lower():
        return
    assert response.headers.get("content-type") == ["application/problem+json"], "the error is not a problem"
    problem = response.json()
    documented = case.operation.definition.raw["responses"].get(str(response.status_code), {})
    content = documented.get("content", {}).get("application/problem+json", {})
    slug = problem["type"].rpartition("/")[2]
    assert slug in content.get("examples", {}), f"{slug} is not documented for {response.status_code}"
    assert problem["status"] == response.status_code, "status and problem differ"


@schemathesis.check
def no_server_error(context, response, case):
    if response.status_code < 500:
        return
    # a busy platform may let a request wait for too long, and says when to send it again
    shed = response.json()["type"].endswith("/overloaded") and "retry-after" in response.headers
    assert shed, f"server error {response.status_code}: {response.text}"
