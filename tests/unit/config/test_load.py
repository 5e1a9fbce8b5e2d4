"""What a configuration accepts, what it refuses, and the error messages."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from lochan.config.load import Config, ConfigLayer, Flag, load
from lochan.config.settings import OTHER_VARIABLES, SETTINGS, ConfigSettings, variable
from lochan.errors import Invalid, LochanError, NotFound, Refused

HOME = Path("/home/ada")
CWD = Path("/work")

# A configuration of the kind people bring along, with the older names of the settings.
OLDER_NAMES = """\
---
logging:
  format: text # or json
  level: DEBUG # or INFO, WARN, ERROR, NONE
  output: "-" # for stdout, or a path to a log file

metadata:
  db:
    type: badger # currently the only supported DB is an embedded badger using a local directory
    badger:
      path: "~/lakefs/metadata"\x20

blockstore:
  type: s3 # or "local"
  s3:
    region: us-east-1\x20
    profile: default # optional, implies using a credentials file
    credentials_file: /path/to/.aws/credentials # optional, will use the default AWS path if not specified
    credentials: # optional, will use these hard coded credentials if supplied
      access_key_id: "AKIA..."
      access_secret_key: "..."
      session_token: "..."
\x20\x20
  # if instead of S3 you'd like to write the data itself locally
  local:
    path: ~/lakefs/data

gateways:
  s3:
    listen_address: "0.0.0.0:8000"
    domain_name: s3.example.com
    region: us-east-1

api:
  listen_address: "0.0.0.0:8001"

"""


def config(
    text: str | None = None,
    *,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> Config:
    file = None
    if text is not None:
        assert folder is not None
        (folder / "lochan.yaml").write_text(text)
        file = Path("lochan.yaml")
    given = [Flag(f"--set {name}", name, value) for name, value in (flags or {}).items()]
    return load(file=file, env=env or {}, flags=given, cwd=folder or CWD, home=HOME)


def refusal(text: str, folder: Path) -> str:
    with pytest.raises(LochanError) as caught:
        config(text, folder=folder)
    return str(caught.value)


def test_defaults_are_what_the_table_says() -> None:
    defaults = config()
    assert defaults["logging.level"] == "INFO"
    assert defaults.settings == ConfigSettings()
    assert defaults.settings.spark.threshold == 256_000_000
    assert defaults.settings.api.listen == "127.0.0.1:8001"
    assert defaults.settings.journal.hold_ms == 0
    assert defaults.settings.lake is None
    assert defaults.source("lake").text == "default"
    assert list(defaults) == [setting.key for setting in SETTINGS]


def test_the_later_wins(tmp_path: Path) -> None:
    text = "logging:\n  level: WARN\n  format: json\napi:\n  listen: 127.0.0.1:1\n"
    env = {"LOCHAN_LOGGING__LEVEL": "ERROR", "LOCHAN_API__LISTEN": "127.0.0.1:2"}
    merged = config(text, folder=tmp_path, env=env, flags={"api.listen": "127.0.0.1:3"})
    assert [merged[key] for key in ("logging.format", "logging.level", "api.listen")] == [
        "json",
        "ERROR",
        "127.0.0.1:3",
    ]
    assert merged.source("logging.format").text == "lochan.yaml, line 3"
    assert merged.source("logging.level").text == "LOCHAN_LOGGING__LEVEL"
    assert merged.source("api.listen").text == "--set api.listen"
    assert merged.source("api.listen").layer is ConfigLayer.FLAG
    assert merged.is_set("logging.level")
    assert not merged.is_set("logging.output")


def test_the_older_names_are_accepted(tmp_path: Path) -> None:
    read = config(OLDER_NAMES, folder=tmp_path)
    assert read["logging.level"] == "DEBUG"
    assert read["journal.type"] == "store"
    assert read["cache.path"] == "/home/ada/lakefs/metadata"
    assert read["blockstore.type"] == "s3"
    assert read["blockstore.local.path"] == "/home/ada/lakefs/data"
    assert read["blockstore.s3.credentials.access_secret_key"] == "..."
    assert read["gateways.s3.listen"] == "0.0.0.0:8000"
    assert read["gateways.s3.domain"] == "s3.example.com"
    assert read["api.listen"] == "0.0.0.0:8001"
    assert read.source("api.listen").text == "lochan.yaml, line 35"


@pytest.mark.parametrize(
    "text, key, value",
    [
        pytest.param("journal: postgres", "journal.type", "postgres", id="the short form of journal.type"),
        pytest.param("metadata: {db: {type: postgres}}", "journal.type", "postgres", id="the database was the journal"),
        pytest.param("metadata: {db: {type: store}}", "journal.type", "store", id="or the store"),
        pytest.param("metadata: {badger: {path: /m}}", "cache.path", "/m", id="both spellings of the badger path"),
        pytest.param(
            "blockstore: {s3: {credentials: {secret_access_key: x}}}",
            "blockstore.s3.credentials.access_secret_key",
            "x",
            id="Amazon's own word order",
        ),
        pytest.param(
            "blockstore: {s3: {credentials: {access_key_id: 0123}}}",
            "blockstore.s3.credentials.access_key_id",
            "0123",
            id="digits stay text",
        ),
        pytest.param("logging: {level: none}", "logging.level", "NONE", id="words in any case"),
        pytest.param("user: yes", "user", "yes", id="yes is a word, not a truth"),
        pytest.param("cache: {size: 1.5 GiB}", "cache.size", 1_610_612_736, id="sizes with binary units"),
        pytest.param("cache: {size: 4096}", "cache.size", 4096, id="sizes without a unit are bytes"),
        pytest.param("blockstore: {tag_paths: Yes}", "blockstore.tag_paths", True, id="yes is true"),
        pytest.param("blockstore: {tag_paths: off}", "blockstore.tag_paths", False, id="off is false"),
        pytest.param("blockstore: {address_style: plain}", "blockstore.address_style", "id", id="plain means id"),
        pytest.param("journal: {hold_ms: 2.5}", "journal.hold_ms", 2.5, id="parts of a millisecond"),
        pytest.param("gateways: {s3: {listen: '[::1]:80'}}", "gateways.s3.listen", "[::1]:80", id="IPv6"),
        pytest.param("gateways: {s3: {flat_listen: ':80'}}", "gateways.s3.flat_listen", ":80", id="every interface"),
        pytest.param("lake: s3://bucket/a", "lake", "s3://bucket/a", id="a lake on S3"),
        pytest.param("lake: S3://bucket/a", "lake", "s3://bucket/a", id="a scheme in capitals"),
        pytest.param("lake: file:///x%20y/../z", "lake", "/z", id="a folder as a URL"),
        pytest.param("lake: memory://", "lake", "memory://", id="a lake in memory"),
        pytest.param("logging:\nlake: /x", "lake", "/x", id="an empty section"),
        pytest.param("lake:", "lake", None, id="a key without a value"),
        pytest.param("", "lake", None, id="an empty file"),
        pytest.param("# only a comment", "lake", None, id="a comment"),
    ],
)
def test_a_file_says(text: str, key: str, value: object, tmp_path: Path) -> None:
    assert config(text, folder=tmp_path)[key] == value


def test_a_relative_path_starts_where_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "l.yaml").write_text("lake: data\nlogging: {output: log.txt}\n")
    read = load(file=Path("etc/l.yaml"), env={"LOCHAN_CACHE__PATH": "cache"}, cwd=tmp_path, home=HOME)
    assert read["lake"] == str(tmp_path / "etc" / "data")
    assert read["logging.output"] == str(tmp_path / "etc" / "log.txt")
    assert read["cache.path"] == str(tmp_path / "cache")


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param(
            "logging:\n  levl: INFO",
            "lochan.yaml, line 2: there is no setting 'logging.levl'; did you mean 'logging.level'?",
            id="a typo in a key",
        ),
        pytest.param(
            "gatewys:\n  s3: {}", "line 1: there is no setting 'gatewys'; did you mean 'gateways'?", id="in a section"
        ),
        pytest.param("hold_ms: 3", "did you mean 'journal.hold_ms'?", id="a key outside its section"),
        pytest.param("zzzz: 3", "lochan.yaml, line 1: there is no setting 'zzzz' (", id="nothing near"),
        pytest.param(
            "logging:\n\n  level: LOUD",
            "lochan.yaml, line 3: logging.level is 'LOUD', which is not one of DEBUG, INFO, WARN, ERROR, NONE",
            id="a word that is not a choice",
        ),
        pytest.param("cache: {size: 10XB}", "cache.size is '10XB', which is not a size, such as", id="a unit"),
        pytest.param("cache: {size: -1}", "is not a size", id="a negative size"),
        pytest.param("blockstore: {tag_paths: 2}", "is not true or false", id="neither true nor false"),
        pytest.param("cache: {size: 99999999999PB}", "is not a size", id="a size beyond any disk"),
        pytest.param("journal: {hold_ms: soon}", "is not a number of milliseconds", id="a number"),
        pytest.param("journal: {hold_ms: nan}", "is not a number of milliseconds", id="not a number"),
        pytest.param("journal: {hold_ms: -1}", "is not a number of milliseconds", id="a negative time"),
        pytest.param("api: {listen: 8001}", "is not host:port", id="a port alone"),
        pytest.param("api: {listen: 'a:70000'}", "is not host:port", id="a port too large"),
        pytest.param("api: {listen: '::1:80'}", "is not host:port", id="IPv6 without brackets"),
        pytest.param("lake: ftp://x", "lake is 'ftp://x', which is not a folder or a URL", id="a scheme"),
        pytest.param("lake: file://x/y", "is not a folder or a URL", id="a folder on another host"),
        pytest.param("lake: 's3://'", "is not a folder or a URL", id="no bucket"),
        pytest.param("cache: {path: ~bob/x}", "is not a path", id="another user's home"),
        pytest.param("lake: [a, b]", "line 1: lake is a list, but should be a folder", id="a list"),
        pytest.param("lake: {a: b}", "line 1: lake is a section, but should be a folder", id="a section"),
        pytest.param("gateways: 8000", "line 1: gateways is a section; its settings go", id="a value for a section"),
        pytest.param("gateways: [s3]", "gateways is a list, but should be a section", id="a list for a section"),
        pytest.param("{a: b}: c", "line 1: a section cannot be a key", id="a section as a key"),
        pytest.param("- a\n- b", "line 1: a configuration is made of `key: value` lines, not of a list", id="a list"),
        pytest.param("hello", "not of a single value", id="a word"),
        pytest.param("lake: /a\nuser: x\nlake: /b", "line 3: lake was already given in line 1", id="a key twice"),
        pytest.param(
            "api:\n  listen: a:1\n  listen_address: a:2",
            "line 3: api.listen was already given (lochan.yaml, line 2); api.listen and api.listen_address are two",
            id="a key under two names",
        ),
        pytest.param("logging:\n\tlevel: INFO", "line 2: a tab, where YAML takes only spaces", id="a tab"),
        pytest.param("lake: [", "lochan.yaml, line 1: not YAML", id="not YAML"),
        pytest.param("lake: a\n---\nlake: b", "line 2: not YAML", id="two documents"),
        pytest.param("lake: \x00", "lochan.yaml: not YAML", id="a NUL"),
        pytest.param('lake: "a\\0b"', "is not a folder", id="a NUL in a path"),
        pytest.param("[" * 500, "nested too deeply", id="deep nesting"),
        pytest.param("a: &a {b: *a}", "there is no setting 'a'", id="a knot"),
        pytest.param("logging: &l {<<: *l}", "there is no setting 'logging.<<'", id="a merge key"),
    ],
)
def test_a_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    said = refusal(text, tmp_path)
    assert message in said
    assert "\n" not in said


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there/l\.yaml: there is no such configuration file"):
        load(file=Path("there/l.yaml"), env={}, cwd=tmp_path, home=HOME)
    with pytest.raises(Invalid, match="this is a folder"):
        load(file=tmp_path, env={}, cwd=tmp_path, home=HOME)
    (tmp_path / "latin").write_bytes(b"user: ok\nlake: caf\xe9\n")
    with pytest.raises(Invalid, match="latin, line 2: not UTF-8"):
        load(file=Path("latin"), env={}, cwd=tmp_path, home=HOME)
    (tmp_path / "large").write_bytes(b"#" * (2 << 20))
    with pytest.raises(Invalid, match="large: larger than"):
        load(file=Path("large"), env={}, cwd=tmp_path, home=HOME)
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfuser: ada\n")
    assert load(file=Path("bom"), env={}, cwd=tmp_path, home=HOME)["user"] == "ada"


def test_a_file_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "l.yaml").write_text("")
    monkeypatch.setattr(Path, "open", forbidden)  # root may read anything, so the mode alone would not do
    with pytest.raises(Refused, match=r"l\.yaml: the configuration file may not be read"):
        load(file=Path("l.yaml"), env={}, cwd=tmp_path, home=HOME)


@pytest.mark.parametrize(
    "name, message",
    [
        pytest.param(
            "LOCHAN_LAEK", "LOCHAN_LAEK in the environment is not a setting; did you mean 'LOCHAN_LAKE'?", id="typo"
        ),
        pytest.param("LOCHAN_API_LISTEN", "did you mean 'LOCHAN_API__LISTEN'?", id="one underscore"),
        pytest.param("LOCHAN_lake", "LOCHAN_lake in the environment is not a setting", id="small letters"),
    ],
)
def test_a_variable_is_refused(name: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        config(env={name: "x"})
    assert message in str(caught.value)


def test_variables_that_are_not_ours_or_not_set() -> None:
    others = dict.fromkeys([*OTHER_VARIABLES, "PATH", "MYLOCHAN_X"], "x")
    assert config(env={**others, "LOCHAN_LAKE": ""})["lake"] is None


def test_a_wrong_value_names_its_variable_or_flag() -> None:
    with pytest.raises(Invalid, match=r"^LOCHAN_CACHE__SIZE: cache\.size is 'big', which is not a size"):
        config(env={"LOCHAN_CACHE__SIZE": "big"})
    with pytest.raises(Invalid, match=r"^--set cache\.size: cache\.size is ''"):
        config(flags={"cache.size": ""})
    with pytest.raises(
        Invalid, match=r"--set api\.lisen: there is no setting 'api\.lisen'; did you mean 'api\.listen'"
    ):
        config(flags={"api.lisen": "x"})


def test_an_empty_value_takes_back_an_earlier_one(tmp_path: Path) -> None:
    assert config("lake: /x", folder=tmp_path, flags={"lake": ""})["lake"] is None


def test_every_setting_can_come_from_the_environment() -> None:
    examples = {
        "lake": "/x",
        "companion": "0",
        "journal.postgres.url": "postgres://u@h/d",
        "blockstore.s3.endpoint": "http://h",
        "blockstore.gs.endpoint": "http://h",
        "blockstore.azure.endpoint": "http://h",
        "gateways.s3.flat_listen": "h:1",
        "upkeep.compact": "1h",
        "login.oidc.issuer": "https://h",
        "login.oidc.groups": "a -> b",
        "login.oidc.callback_url": "https://h/c",
        "login.ldap.url": "ldaps://h",
        "login.ldap.groups": "a -> b",
        "spark.remote": "sc://h",
        "spark.local_threshold": "1GB",
        "spark.task_memory": "1GB",
    }
    env = {variable(each.key): each.default_text or examples.get(each.key, "/x") for each in SETTINGS}
    read = config(env=env)
    assert all(read.source(each.key).text == variable(each.key) for each in SETTINGS)


SECRETS = {
    "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": "hunter2",
    "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__SESSION_TOKEN": "hunter2",
    "LOCHAN_BLOCKSTORE__AZURE__KEY": "hunter2",
    "LOCHAN_BLOCKSTORE__AZURE__SAS_TOKEN": "hunter2",
    "LOCHAN_BLOCKSTORE__GS__TOKEN": "hunter2",
    "LOCHAN_JOURNAL__POSTGRES__URL": "postgres://ada:hunter2@db/lake?sslpassword=hunter2&x=1",
    "LOCHAN_BLOCKSTORE__S3__ENDPOINT": "https://ada:hunter2@minio:9000",
}


def test_secrets_are_never_shown() -> None:
    read = config(env=SECRETS)
    shown = {key: read.shown(key) for key in read}
    assert "hunter2" not in str(shown)
    assert shown["journal.postgres.url"] == "postgres://ada:********@db/lake?sslpassword=********&x=1"
    assert shown["blockstore.s3.endpoint"] == "https://ada:********@minio:9000"
    assert read["blockstore.azure.key"] == "hunter2"


@pytest.mark.parametrize("name, value", list(SECRETS.items()))
def test_a_wrong_secret_is_not_shown_either(name: str, value: str) -> None:
    with pytest.raises(Invalid) as caught:
        config(env={name: f"ftp://ada:hunter2@x\n{value}"})
    assert "hunter2" not in str(caught.value)
