"""Topics of Kafka into a pool, in this process."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lochan.cli.error_boundary import about_repository
from lochan.cli.ingest.stream_request import BatchReporter, StreamRequest


def follow(request: StreamRequest) -> None:
    from lochan.cli.session import actor, configuration, open_engine_lake, run
    from lochan.jobs.record import recorded
    from lochan.jobs.streams.kafka import TopicOptions as Wanted
    from lochan.jobs.streams.kafka import Topics
    from lochan.jobs.streams.topics import FollowOptions, FollowTarget
    from lochan.jobs.streams.topics import follow as follow_topics
    from lochan.jobs.target import pool_target

    config = configuration()
    compact, size_bytes = request.compaction(config)
    how = FollowOptions(
        request.every_s, request.once, request.on_error, request.said, request.memory_bytes, compact, size_bytes
    )
    wanted = Wanted(tuple(dict.fromkeys(request.topics)), request.latest, request.go_on)
    settings = request.client

    async def work() -> None:
        async with open_engine_lake(config) as lake:
            repository = await lake.open_repository(request.uri.repository)
            about_repository(request.uri.repository)
            try:
                uri = request.uri._replace(ref=request.uri.ref or repository.repository.default_branch)
                await pool_target(repository, lake.place, uri.ref)  # before a broker is asked
                into = FollowTarget(lake.queries(), lake.place, repository, uri.ref, actor(config), lake.clock)
                with (
                    recorded(lake, "ingest", str(uri), actor=into.actor, where=request.brokers or "") as job,
                    stopping() as stop,
                    await asyncio.to_thread(Topics, request.brokers or "", wanted, settings) as topics,
                ):
                    shown = BatchReporter(request, uri, job)
                    await follow_topics(topics, into, how, stop, shown)
                    shown.end()
            finally:
                await repository.close()

    try:
        run(config, work())
    except asyncio.CancelledError:  # who has asked twice
        raise KeyboardInterrupt from None


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Set when the user wants it to stop; who asks twice does not want to wait."""
    stop = threading.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def asked() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, asked)
    try:
        yield stop
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
