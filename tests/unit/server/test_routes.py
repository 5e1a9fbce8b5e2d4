"""The names that a query string may have, against the published model of S3 that botocore ships."""

from typing import Any

import pytest
from botocore.loaders import Loader

from lochan.server.gateway.request import S3Request
from lochan.server.gateway.routes import BUCKET, OBJECT, ROUTES, SERVICE, Route, check_query
from lochan.server.gateway.routes import find as find_route
from lochan.server.gateway.wire.errors import S3Error

MODEL: dict[str, Any] = Loader().load_service_model("s3", "service-2")
OPERATIONS: dict[str, dict[str, Any]] = MODEL["operations"]
OURS = {route.name: (level, method, mark, route) for (level, method), r in ROUTES.items() for mark, route in r.items()}
NOT_IN_MODEL = {"PostObject"}  # a browser's form
EXTRA = {  # sent by clients, and without a meaning here
    "ListParts": {"encoding-type"},
    "CopyObject": {"versionId"},
    "PutObject": {"versionId", "partNumber"},
    "GetBucketLifecycleConfiguration": {"withUpdatedAt"},
}


class Scope:
    def __init__(self, method: str, query: str, headers: dict[str, str]) -> None:
        self.method, self.query_string, self.path, self.client = method, query, "/", "127.0.0.1:1"
        self.headers, self.scheme = headers, "http"


def s3_request(level: str, method: str, query: str = "", headers: dict[str, str] | None = None) -> S3Request:
    request = S3Request(Scope(method, query, headers or {}), None, "", 0.0)
    request.read_query()
    request.bucket = "" if level == SERVICE else "bucket"
    request.key = "main/a" if level == OBJECT else ""
    return request


def find(request: S3Request) -> Route:
    route = find_route(request)
    check_query(route, request)
    return route


def level_of(operation: dict[str, Any]) -> str:
    path = operation["http"]["requestUri"].partition("?")[0]
    return OBJECT if "{Key" in path else BUCKET if "{Bucket}" in path else SERVICE


def query_names(operation: dict[str, Any]) -> set[str]:
    shape = MODEL["shapes"].get(operation.get("input", {}).get("shape", ""), {})
    return {
        member["locationName"]
        for member in shape.get("members", {}).values()
        if member.get("location") == "querystring"
    }


def sub_resource(operation: dict[str, Any]) -> str:
    return str(operation["http"]["requestUri"].partition("?")[2])


@pytest.mark.parametrize("name", sorted(OURS.keys() - NOT_IN_MODEL))
def test_an_operation_takes_what_the_model_says(name: str) -> None:
    level, method, mark, route = OURS[name]
    model = OPERATIONS[name]
    assert (level, method) == (level_of(model), model["http"]["method"])
    found = mark.partition("+")[0]
    assert found in ({sub_resource(model).partition("=")[0]} | query_names(model)), name
    assert route.query | {found} == query_names(model) | {found} | EXTRA.get(name, set())


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - OURS.keys() - {"WriteGetObjectResponse"}))
def test_an_operation_that_is_not_here_is_not_taken_for_another(name: str) -> None:
    model = OPERATIONS[name]
    if name in ("ListDirectoryBuckets", "GetBucketLifecycle", "GetBucketNotification"):
        return  # the same request as another operation's: ListBuckets, or what the two are called today
    names = [sub_resource(model), *(f"{each}=1" for each in query_names(model))]
    request = s3_request(level_of(model), model["http"]["method"], "&".join(filter(None, names)))
    with pytest.raises(S3Error) as error:
        find(request)
    assert error.value.code in ("NotImplemented", "MethodNotAllowed"), name


@pytest.mark.parametrize(("level", "method"), ROUTES)
def test_a_name_that_nobody_knows_is_refused(level: str, method: str) -> None:
    for mark, route in ROUTES[level, method].items():
        name, _, header = mark.partition("+")
        headers = {header: "b/k"} if header else {}
        own = [f"{name}=2"] if name else []
        assert find(s3_request(level, method, "&".join(own), headers)) is route
        assert find(s3_request(level, method, "&".join((*own, "x-id=1", "X-Amz-Date=1")), headers)) is route
        with pytest.raises(S3Error) as error:
            find(s3_request(level, method, "&".join((*own, "annotation2=")), headers))
        assert error.value.code == "NotImplemented"
