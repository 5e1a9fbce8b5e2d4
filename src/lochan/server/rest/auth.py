"""Handles users, groups, their credentials and policies as lakeFS's API has them, and short-lived credentials, which
lakeFS does not have. The verbs do all the work and check the rights."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

from lochan.api.access import SessionInfo
from lochan.errors import Conflict, NotFound
from lochan.server.api.errors import HttpError
from lochan.server.rest.auth_wire import (
    AuthUser,
    CredentialsList,
    CredentialsWithSecret,
    GroupCreation,
    GroupList,
    PolicyList,
    UserCreation,
    UserList,
    WireCredentials,
    WireGroup,
    WirePolicy,
)
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import PageQuery, page_by_name
from lochan.server.rest.wire import WireRequest, WireValue, seconds

RESOURCE = Resource("auth")
_USER = "/auth/users/{userId}"
_GROUP = "/auth/groups/{groupId}"
_POLICY = "/auth/policies/{policyId}"
_CREDENTIALS = f"{_USER}/credentials"
T = TypeVar("T")


# --- users -----------------------------------------------------------------------------------------------------------
@RESOURCE.operation("GET", "/auth/users", {200: UserList}, query=PageQuery)
async def list_users(call: RestCall) -> Answer:
    """List users."""
    found, page = await page_by_name(call.lake.access.users(), lambda each: each.name, call.query)
    return UserList(pagination=page, results=[AuthUser.of(each) for each in found])


@RESOURCE.operation("POST", "/auth/users", {201: AuthUser}, body=UserCreation)
async def create_user(call: RestCall) -> Answer:
    """Create a user, who may do nothing until a policy is attached."""
    return AuthUser.of(await call.lake.access.create_user(call.body.id, key=call.key))


@RESOURCE.operation("GET", _USER, {200: AuthUser})
async def get_user(call: RestCall) -> Answer:
    """Get a user."""
    return AuthUser.of(await call.lake.access.user(call.name("userId")))


@RESOURCE.operation("DELETE", _USER, {204: None})
async def delete_user(call: RestCall) -> Answer:
    """Delete a user with all its credentials."""
    await call.lake.access.delete_user(call.name("userId"), key=call.key)
    return None


@RESOURCE.operation("GET", f"{_USER}/groups", {200: GroupList}, query=PageQuery)
async def list_user_groups(call: RestCall) -> Answer:
    """List the groups that a user is in."""
    access = call.lake.access
    names = sorted((await access.user(call.name("userId"))).groups)
    groups = [each async for each in access.groups() if each.name in names]
    found, page = await page_by_name(_each(groups), lambda each: each.name, call.query)
    return GroupList(pagination=page, results=[WireGroup.of(each) for each in found])


# --- credentials -----------------------------------------------------------------------------------------------------
@RESOURCE.operation("GET", _CREDENTIALS, {200: CredentialsList}, query=PageQuery)
async def list_user_credentials(call: RestCall) -> Answer:
    """List the access keys of a user, without their secrets."""
    keys = [each async for each in call.lake.access.keys(call.name("userId"))]
    ordered = sorted(keys, key=lambda each: each.access_key_id)
    found, page = await page_by_name(_each(ordered), lambda each: each.access_key_id, call.query)
    return CredentialsList(pagination=page, results=[WireCredentials.of(each) for each in found])


@RESOURCE.operation("POST", _CREDENTIALS, {201: CredentialsWithSecret})
async def create_credentials(call: RestCall) -> Answer:
    """Create an access key. Its secret is in this answer alone."""
    made = await call.lake.access.create_key(call.name("userId"), key=call.key)
    now = call.api.clock.wall() // 1_000_000
    return CredentialsWithSecret(
        access_key_id=made.access_key_id, secret_access_key=made.secret_access_key, creation_date=now
    )


@RESOURCE.operation("GET", f"{_CREDENTIALS}/{{accessKeyId}}", {200: WireCredentials})
async def get_credentials(call: RestCall) -> Answer:
    """Get an access key of a user, without its secret."""
    async for each in call.lake.access.keys(call.name("userId")):
        if each.access_key_id == call.name("accessKeyId"):
            return WireCredentials.of(each)
    raise _no_key(call)


@RESOURCE.operation("DELETE", f"{_CREDENTIALS}/{{accessKeyId}}", {204: None})
async def delete_credentials(call: RestCall) -> Answer:
    """Revoke an access key."""
    id = call.name("accessKeyId")
    if (await call.lake.access.key(id)).user != call.name("userId"):
        raise _no_key(call)
    await call.lake.access.revoke_key(id, key=call.key)
    return None


def _no_key(call: RestCall) -> NotFound:
    return NotFound(f"user {call.name('userId')!r} has no access key {call.name('accessKeyId')!r}")


# --- groups ----------------------------------------------------------------------------------------------------------
@RESOURCE.operation("GET", "/auth/groups", {200: GroupList}, query=PageQuery)
async def list_groups(call: RestCall) -> Answer:
    """List groups."""
    found, page = await page_by_name(call.lake.access.groups(), lambda each: each.name, call.query)
    return GroupList(pagination=page, results=[WireGroup.of(each) for each in found])


@RESOURCE.operation("POST", "/auth/groups", {201: WireGroup}, body=GroupCreation)
async def create_group(call: RestCall) -> Answer:
    """Create a group."""
    return WireGroup.of(await call.lake.access.create_group(call.body.id, key=call.key))


@RESOURCE.operation("GET", _GROUP, {200: WireGroup})
async def get_group(call: RestCall) -> Answer:
    """Get a group."""
    return WireGroup.of(await call.lake.access.group(call.name("groupId")))


@RESOURCE.operation("DELETE", _GROUP, {204: None})
async def delete_group(call: RestCall) -> Answer:
    """Delete a group. Its members stay, without its policies."""
    await call.lake.access.delete_group(call.name("groupId"), key=call.key)
    return None


@RESOURCE.operation("GET", f"{_GROUP}/members", {200: UserList}, query=PageQuery)
async def list_group_members(call: RestCall) -> Answer:
    """List the members of a group."""
    access = call.lake.access
    members = (await access.group(call.name("groupId"))).members
    users = [each async for each in access.users() if each.name in members]
    found, page = await page_by_name(_each(users), lambda each: each.name, call.query)
    return UserList(pagination=page, results=[AuthUser.of(each) for each in found])


@RESOURCE.operation("PUT", f"{_GROUP}/members/{{userId}}", {201: None})
async def add_group_membership(call: RestCall) -> Answer:
    """Add a user to a group."""
    await call.lake.access.add_member(call.name("groupId"), call.name("userId"), key=call.key)
    return None


@RESOURCE.operation("DELETE", f"{_GROUP}/members/{{userId}}", {204: None})
async def delete_group_membership(call: RestCall) -> Answer:
    """Remove a user from a group."""
    await call.lake.access.remove_member(call.name("groupId"), call.name("userId"), key=call.key)
    return None


# --- policies --------------------------------------------------------------------------------------------------------
class UserPoliciesQuery(PageQuery, frozen=True):
    effective: bool = False  # whether to include those of the user's groups


@RESOURCE.operation("GET", "/auth/policies", {200: PolicyList}, query=PageQuery)
async def list_policies(call: RestCall) -> Answer:
    """List policies, those that every lake has among them."""
    names = [each.name async for each in call.lake.access.policies()]
    return await _policies(call, names)


@RESOURCE.operation("POST", "/auth/policies", {201: WirePolicy}, body=WirePolicy)
async def create_policy(call: RestCall) -> Answer:
    """Create a policy."""
    wanted: WirePolicy = call.body
    access = call.lake.access
    try:
        await access.policy(wanted.id)
    except NotFound:
        return WirePolicy.of(await access.put_policy(wanted.id, wanted.text(), key=call.key))
    raise Conflict(f"there is a policy {wanted.id!r} already", hint="update it instead")


@RESOURCE.operation("GET", _POLICY, {200: WirePolicy})
async def get_policy(call: RestCall) -> Answer:
    """Get a policy."""
    return WirePolicy.of(await call.lake.access.policy(call.name("policyId")))


@RESOURCE.operation("PUT", _POLICY, {200: WirePolicy}, body=WirePolicy)
async def update_policy(call: RestCall) -> Answer:
    """Replace a policy, for everybody who has it."""
    name, wanted = call.name("policyId"), call.body
    if wanted.id != name:
        raise HttpError(400, f"the policy in the body is {wanted.id!r}, and the one in the path is {name!r}")
    await call.lake.access.policy(name)
    return WirePolicy.of(await call.lake.access.put_policy(name, wanted.text(), key=call.key))


@RESOURCE.operation("DELETE", _POLICY, {204: None})
async def delete_policy(call: RestCall) -> Answer:
    """Delete a policy that nobody has."""
    await call.lake.access.delete_policy(call.name("policyId"), key=call.key)
    return None


@RESOURCE.operation("GET", f"{_USER}/policies", {200: PolicyList}, query=UserPoliciesQuery)
async def list_user_policies(call: RestCall) -> Answer:
    """List the policies of a user; with `effective`, also those of its groups."""
    access = call.lake.access
    user = await access.user(call.name("userId"))
    names = list(user.policies)
    if call.query.effective:
        names += [name for group in user.groups for name in (await access.group(group)).policies]
    return await _policies(call, names)


@RESOURCE.operation("PUT", f"{_USER}/policies/{{policyId}}", {201: None})
async def attach_policy_to_user(call: RestCall) -> Answer:
    """Attach a policy to a user."""
    await call.lake.access.attach(call.name("policyId"), call.name("userId"), key=call.key)
    return None


@RESOURCE.operation("DELETE", f"{_USER}/policies/{{policyId}}", {204: None})
async def detach_policy_from_user(call: RestCall) -> Answer:
    """Detach a policy from a user."""
    await call.lake.access.detach(call.name("policyId"), call.name("userId"), key=call.key)
    return None


@RESOURCE.operation("GET", f"{_GROUP}/policies", {200: PolicyList}, query=PageQuery)
async def list_group_policies(call: RestCall) -> Answer:
    """List the policies of a group."""
    return await _policies(call, (await call.lake.access.group(call.name("groupId"))).policies)


@RESOURCE.operation("PUT", f"{_GROUP}/policies/{{policyId}}", {201: None})
async def attach_policy_to_group(call: RestCall) -> Answer:
    """Attach a policy to a group."""
    await call.lake.access.attach_to_group(call.name("policyId"), call.name("groupId"), key=call.key)
    return None


@RESOURCE.operation("DELETE", f"{_GROUP}/policies/{{policyId}}", {204: None})
async def detach_policy_from_group(call: RestCall) -> Answer:
    """Detach a policy from a group."""
    await call.lake.access.detach_from_group(call.name("policyId"), call.name("groupId"), key=call.key)
    return None


async def _policies(call: RestCall, names: Iterable[str]) -> PolicyList:
    wanted = set(names)
    all = [each async for each in call.lake.access.policies() if each.name in wanted]
    ordered = sorted(all, key=lambda each: each.name)
    found, page = await page_by_name(_each(ordered), lambda each: each.name, call.query)
    return PolicyList(pagination=page, results=[WirePolicy.of(each) for each in found])


async def _each(items: Iterable[T]) -> AsyncIterator[T]:
    for item in items:
        yield item


# --- short-lived credentials -----------------------------------------------------------------------------------------
class TokenCreation(WireRequest, frozen=True, kw_only=True):
    duration_seconds: int = 3_600
    limits: tuple[str, ...] = ()  # patterns of resources, outside of which they allow nothing


class TokenCredentials(WireValue, frozen=True, kw_only=True):
    access_key_id: str
    secret_access_key: str
    session_token: str
    expiration: int

    @classmethod
    def of(cls, made: SessionInfo) -> TokenCredentials:
        return cls(
            access_key_id=made.access_key_id,
            secret_access_key=made.secret_access_key,
            session_token=made.session_token,
            expiration=seconds(made.expires),
        )


@RESOURCE.operation("POST", "/auth/tokens", {201: TokenCredentials}, body=TokenCreation)
async def create_token(call: RestCall) -> Answer:
    """Create short-lived credentials of the access key that signs this request: for S3, or as a Bearer token.

    They allow no more than the key, and end with it. A session cannot make another one.
    """
    if call.context.is_session:
        raise HttpError(403, "a session cannot make credentials: use the access key itself")
    wanted: TokenCreation = call.body
    made = await call.api.lake.access.create_token(
        call.context.access_key, limits=wanted.limits, lasts_s=wanted.duration_seconds
    )
    return TokenCredentials.of(made)
