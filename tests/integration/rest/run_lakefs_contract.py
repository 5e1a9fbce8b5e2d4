"""Prints, as JSON, what every method of the published `lakefs_sdk` can send and what it can read: by the name of the
method, its HTTP method, path, parameters, headers, the fields of its body, and the fields of each answer. Nothing is
sent.

python run_lakefs_contract.py URL KEY SECRET ANYTHING
"""

import datetime
import importlib
import inspect
import json
import sys
from typing import Any, get_args, get_origin

import lakefs_sdk

BASE_MODEL = importlib.import_module("pydantic.v1").BaseModel
methods = importlib.import_module("run_lakefs_sdk").methods
_OURS = ("Accept", "Content-Type")  # which the client gives by itself


class _Recorded(Exception):
    def __init__(self, call: dict[str, Any]) -> None:
        super().__init__()
        self.call = call


def record(path: str, method: str, path_params: Any, query: Any, headers: Any, **more: Any) -> None:
    """In place of `ApiClient.call_api`."""
    answers = more["response_types_map"].items()
    raise _Recorded(
        {
            "method": method,
            "path": path,
            "query": [name for name, _ in query],
            "headers": [name for name in headers if name not in _OURS],
            "body": _fields(type(more["body"])),
            "answers": {status: _fields(getattr(lakefs_sdk, kind or "", None)) for status, kind in answers},
        }
    )


def _fields(kind: Any, before: str = "") -> list[str]:
    """Those of what is in it too, with dots."""
    if not (inspect.isclass(kind) and issubclass(kind, BASE_MODEL)):
        return []
    found = []
    model: Any = kind
    for name, field in model.__fields__.items():
        if name != "additional_properties":
            found += [f"{before}{field.alias}", *_fields(field.type_, f"{before}{field.alias}.")]
    return sorted(found)


def main() -> None:
    client = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host="http://nowhere"))
    client.call_api = record
    found = {f"{api.__name__}.{name}": recorded(api(client), name) for api, name in methods()}
    print(json.dumps(found))
    print("done")


def recorded(api: Any, name: str) -> dict[str, Any]:
    """With all of its parameters given."""
    parameters = inspect.signature(getattr(api, name)).parameters.values()
    given = {each.name: value(each.annotation) for each in parameters if each.kind is not each.VAR_KEYWORD}
    method = inspect.unwrap(getattr(type(api), f"{name}_with_http_info"))
    while hasattr(method, "raw_function"):  # without the validation of values, which are of no matter here
        method = method.raw_function
    try:
        method(api, **given)
    except _Recorded as call:
        return call.call
    raise AssertionError(f"{name} called nothing")


def value(annotation: Any) -> Any:
    for kind in (annotation, *get_args(annotation)):
        several: tuple[Any, ...] = (kind, *get_args(kind))
        for one in several:
            if inspect.isclass(one) and issubclass(one, BASE_MODEL):
                model: Any = one
                return model.construct()
            if get_origin(one) is list or (inspect.isclass(one) and issubclass(one, list)):
                return ["x"]
            if one is datetime.datetime:
                return datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return __file__ if bytes in get_args(annotation) else "x"


if __name__ == "__main__":
    main()
    sys.stdout.flush()
