"""Sessions that Lochan starts have its part in the JVM, beside the jars that were asked for."""

from pathlib import Path

import pytest

from lochan.engines.spark import session


def test_the_jar_comes_to_those_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "lochan.jar"
    monkeypatch.setattr(session, "_JAR", jar)
    assert session._with_jar({"spark.jars": "a.jar"}) == {"spark.jars": "a.jar"}  # it was not built
    jar.touch()
    assert session._with_jar({}) == {"spark.jars": str(jar)}
    assert session._with_jar({"spark.jars": f"a.jar,{jar}", "x": "1"}) == {"spark.jars": f"a.jar,{jar}", "x": "1"}
