"""The published client's AuthApi, unmodified: run by its Python, not by ours.

python run_lakefs_auth.py URL KEY SECRET FOLDER
"""

import sys

import lakefs_sdk
from lakefs_sdk import models
from lakefs_sdk.client import LakeFSClient
from lakefs_sdk.exceptions import ApiException, NotFoundException


def main(url: str, key: str, secret: str) -> None:
    with_key = lakefs_sdk.Configuration(host=f"{url}/api/v1", username=key, password=secret)
    auth = LakeFSClient(with_key).auth_api
    assert auth.get_current_user().user.id == "admin"
    users(auth)
    groups(auth)
    policies(auth)
    credentials(auth, url)
    print("done")


def users(auth: lakefs_sdk.AuthApi) -> None:
    for name in ("ada", "bob", "cy"):
        assert auth.create_user(user_creation=models.UserCreation(id=name)).id == name
    refused(409, lambda: auth.create_user(user_creation=models.UserCreation(id="ada")))
    assert auth.get_user("ada").id == "ada"
    page = auth.list_users(amount=2)
    assert ([each.id for each in page.results], page.pagination.has_more) == (["ada", "admin"], True)
    rest = auth.list_users(after=page.pagination.next_offset)
    assert [each.id for each in rest.results] == ["bob", "cy"]
    auth.delete_user("cy")
    missing(lambda: auth.get_user("cy"))


def groups(auth: lakefs_sdk.AuthApi) -> None:
    auth.create_group(group_creation=models.GroupCreation(id="team"))
    auth.add_group_membership("team", "ada")
    assert [each.id for each in auth.list_group_members("team").results] == ["ada"]
    assert [each.id for each in auth.list_user_groups("ada").results] == ["team"]
    assert [each.id for each in auth.list_groups().results] == ["team"]
    assert auth.get_group("team").id == "team"
    missing(lambda: auth.add_group_membership("team", "nobody"))


def policies(auth: lakefs_sdk.AuthApi) -> None:
    statement = models.Statement(
        effect="allow", resource="arn:lakefs:fs:::repository/shop/object/public/*", action=["fs:ReadObject"]
    )
    made = auth.create_policy(policy=models.Policy(id="public", statement=[statement]))
    assert made.statement[0].resource == "repository/shop/object/public/*"
    refused(409, lambda: auth.create_policy(policy=models.Policy(id="public", statement=[statement])))
    wider = models.Statement(effect="allow", resource='["repository/shop", "repository/shop/*"]', action=["fs:Read*"])
    auth.update_policy("public", policy=models.Policy(id="public", statement=[wider]))
    assert auth.get_policy("public").statement[0].resource == '["repository/shop","repository/shop/*"]'
    auth.attach_policy_to_user("bob", "public")
    auth.attach_policy_to_group("team", "public")
    assert [each.id for each in auth.list_user_policies("bob").results] == ["public"]
    assert [each.id for each in auth.list_group_policies("team").results] == ["public"]
    assert auth.list_user_policies("ada").results == []
    assert [each.id for each in auth.list_user_policies("ada", effective=True).results] == ["public"]
    refused(400, lambda: auth.delete_policy("public"))  # they have it
    auth.detach_policy_from_user("bob", "public")
    auth.detach_policy_from_group("team", "public")
    auth.delete_policy("public")
    assert [each.id for each in auth.list_policies().results] == ["Admin", "Analyst", "Developer"]
    bad = models.Statement(effect="allow", resource="*", action=["fs:Fly"])
    refused(400, lambda: auth.create_policy(policy=models.Policy(id="bad", statement=[bad])))
    odd = models.Statement(effect="allow", resource="*", action=["*"], condition={"Moon": {"Phase": ["full"]}})
    if odd.condition:  # clients that are older than conditions leave it out
        refused(400, lambda: auth.create_policy(policy=models.Policy(id="odd", statement=[odd])))


def credentials(auth: lakefs_sdk.AuthApi, url: str) -> None:
    made = auth.create_credentials("bob")
    assert auth.get_credentials("bob", made.access_key_id).access_key_id == made.access_key_id
    assert [each.access_key_id for each in auth.list_user_credentials("bob").results] == [made.access_key_id]
    own = lakefs_sdk.Configuration(host=f"{url}/api/v1", username=made.access_key_id, password=made.secret_access_key)
    bob = LakeFSClient(own).auth_api
    assert bob.get_current_user().user.id == "bob"
    assert bob.list_users().results == []  # what one may not read is left out
    refused(401, lambda: bob.create_user(user_creation=models.UserCreation(id="eve")))
    refused(401, lambda: bob.get_user("ada"))
    refused(401, lambda: bob.get_user("nobody"))  # no different
    refused(401, lambda: bob.attach_policy_to_user("bob", "Admin"))
    refused(401, lambda: bob.add_group_membership("team", "bob"))
    refused(401, lambda: bob.create_credentials("admin"))
    missing(lambda: auth.delete_credentials("ada", made.access_key_id))
    auth.delete_credentials("bob", made.access_key_id)
    refused(401, lambda: bob.get_current_user())
    auth.delete_group_membership("team", "ada")
    auth.delete_group("team")


def refused(status: int, call: object) -> None:
    try:
        call()  # type: ignore[operator]
    except ApiException as error:
        assert error.status == status, (error.status, error.body)
    else:
        raise AssertionError("it was not refused")


def missing(call: object) -> None:
    try:
        call()  # type: ignore[operator]
    except NotFoundException:
        return
    raise AssertionError("it was found")


if __name__ == "__main__":
    main(*sys.argv[1:4])
