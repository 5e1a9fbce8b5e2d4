"""How the files of bodies are named and marked: settings of the lake's configuration, the same for all who write."""

from typing import NamedTuple

from lochan.versioning.bodies.address import Style


class BodySettings(NamedTuple):
    address_style: Style = "id"
    tag_paths: bool = False  # each file is tagged with its logical path, on stores that have tags


STANDARD = BodySettings()
