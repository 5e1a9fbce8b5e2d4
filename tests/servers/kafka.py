"""A real Kafka for tests: one broker that is its own controller, on free ports with a temporary folder.

    with kafka() as broker:
        broker.create("orders", parts=2)
        broker.send("orders", [b'{"k":1}'])

Its jars come from Maven Central by Spark's own resolver, and are kept in `.cache/kafka`.
"""

import fcntl
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.spark.s3a import environment

PACKAGE = "org.apache.kafka:kafka_2.13:4.3.1"
_FOLDER = Path(__file__).parents[2] / ".cache" / "kafka"
_RESOLVE_SECONDS = 280
_START_SECONDS = 120
_JAVA = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # a broker of a few messages
_CLUSTER = "bG9jaGFuLWthZmthLTAwMQ"  # 16 bytes in base64
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


@dataclass(frozen=True)
class Broker:
    address: str

    def create(self, topic: str, parts: int = 1) -> None:
        """When it returns, the topic exists and each partition has a leader."""
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.create_topics([NewTopic(topic, num_partitions=parts, replication_factor=1)])[topic].result(60)
        deadline = time.monotonic() + 60
        while (found := admin.list_topics(timeout=60).topics.get(topic)) is None or len(found.partitions) < parts:
            assert time.monotonic() < deadline, "the topic is not there yet"
            time.sleep(0.05)

    def delete(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.delete_topics([topic])[topic].result(60)

    def send(self, topic: str, values: Iterable[bytes | None], part: int | None = None) -> None:
        """Acknowledged when it returns."""
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 20})
        for value in values:
            if part is None:
                producer.produce(topic, value)
            else:
                producer.produce(topic, value, partition=part)
            producer.poll(0)
        assert producer.flush(120) == 0


@contextmanager
def kafka() -> Iterator[Broker]:
    classes = ["-cp", f"{jars()}/*:{_scala()}"]
    with tempfile.TemporaryDirectory(prefix="lochan-kafka-", ignore_cleanup_errors=True) as folder:
        port, controller = _free_ports(2)
        properties = Path(folder) / "server.properties"
        properties.write_text(_PROPERTIES.format(port=port, controller=controller, folder=folder))
        log = Path(folder) / "log"
        with log.open("wb") as output:
            format = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties)]
            subprocess.run(
                [*_JAVA, *classes, *format], stdout=output, stderr=subprocess.STDOUT, check=True, timeout=_START_SECONDS
            )
            process = subprocess.Popen(
                [*_JAVA, *classes, "kafka.Kafka", properties], stdout=output, stderr=subprocess.STDOUT
            )
        try:
            broker = Broker(f"127.0.0.1:{port}")
            _wait_until_up(broker, process, log)
            yield broker
        finally:
            process.kill()  # nobody misses its data
            process.wait(20)


def jars() -> Path:
    """The folder of them, made once."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = _FOLDER / "ready"
        if not ready.exists() or ready.read_text() != PACKAGE:
            _resolve()
            ready.write_text(PACKAGE)
    return _FOLDER / "jars"


def _resolve() -> None:
    shutil.rmtree(_FOLDER / "jars", ignore_errors=True)
    nothing = _FOLDER / "nothing.py"
    nothing.write_text("")
    done = subprocess.run(
        [_pyspark() / "bin" / "spark-submit", "--packages", PACKAGE, "--conf", f"spark.jars.ivy={_FOLDER}", nothing],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=_RESOLVE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    shutil.rmtree(_FOLDER / "cache")  # the same files once more


def _scala() -> Path:
    """Spark has it already, and so its resolver leaves it out."""
    return next((_pyspark() / "jars").glob("scala-library-*.jar"))


def _pyspark() -> Path:
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def _wait_until_up(broker: Broker, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    host, _, port = broker.address.partition(":")
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError, KafkaException), socket.create_connection((host, int(port)), 1):
            if AdminClient({"bootstrap.servers": broker.address}).list_topics(timeout=5).brokers:
                return
        time.sleep(0.1)
    raise RuntimeError(f"Kafka did not start:\n{log.read_text()[-4_000:]}")


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
