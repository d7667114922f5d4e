"""The broker as clients meet it: started on demand, shared, outliving them, killed, refused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from kernels import ENDLESS, TinyKernel, tiny_kernel, with_known_peaks
from tiers import further
from typer.testing import CliRunner

from kernelwright.runners.errors import AccessError, HandleUnknown, KernelwrightError
from kernelwright.server import cli
from kernelwright.server.broker.messages import identity, received, send
from kernelwright.server.broker.place import Place
from kernelwright.server.broker.remote_desk import RemoteDesk, asked_of_broker
from kernelwright.server.broker.serving import VERBS_BY_NAME
from kernelwright.store.job_rows import job_record, job_records
from kernelwright.store.store import STATE_FILE, Store

SECONDS = 60.0


class Clients:
    """Desks of one project, as servers have them."""

    def __init__(self, kernel: TinyKernel, outdir: Path) -> None:
        self.kernel, self.outdir = kernel, outdir

    def desk(self, *roots: Path) -> RemoteDesk:
        return RemoteDesk(self.outdir, roots or [self.kernel.folder], ())

    def status(self) -> dict[str, Any]:
        told = asked_of_broker(self.outdir, "status")
        assert told is not None
        return told

    def broker(self) -> psutil.Process:
        return psutil.Process(self.status()["pid"])


@pytest.fixture
def clients(tmp_path: Path) -> Generator[Clients]:
    found = Clients(tiny_kernel(tmp_path), with_known_peaks(tmp_path / "state"))
    yield found
    told = asked_of_broker(found.outdir, "status")
    if told is not None:
        process = psutil.Process(told["pid"])
        asked_of_broker(found.outdir, "stop")
        process.wait(SECONDS)


def call(desk: RemoteDesk, verb: str, **arguments: Any) -> dict[str, Any]:
    tool = VERBS_BY_NAME[verb]
    return desk.perform(tool, tool.arguments(**arguments)).model_dump(mode="json")


def result(desk: RemoteDesk, verb: str, **arguments: Any) -> dict[str, Any]:
    reply = call(desk, verb, **arguments, wait_s=45)
    while reply["status"] in ("queued", "running"):
        reply = call(desk, "job", job_id=reply["job_id"], wait_s=45)
    assert reply["status"] == "done", reply
    return reply["result"]


def endless(desk: RemoteDesk, mark: str) -> str:
    """A variant that runs into its time limit."""
    opened = result(desk, "open_kernel", spec_path="spec.json")
    source = f"{ENDLESS}// {mark}\n"
    built = result(desk, "compile_variant", kernel_id=opened["kernel_id"], source=source)
    return str(built["variant_id"])


def test_work_goes_on_when_its_client_ends_and_another_one_meets_it(clients: Clients) -> None:
    first = clients.desk()
    reply = call(first, "time_variant", variant_id=endless(first, "a"), wait_s=0)
    assert clients.status()["jobs"] == 1
    first.close()
    second = clients.desk()
    job = call(second, "job", job_id=reply["job_id"], wait_s=45)
    assert job["status"] == "done" and job["result"]["ending"] == "timed_out"
    done = CliRunner().invoke(cli.app, ["broker", "status", "--outdir", str(clients.outdir)])
    assert done.exit_code == 0 and "jobs unfinished: 0" in done.output


def test_stop_returns_when_the_broker_and_its_children_have_ended_also_amid_a_call(
    clients: Clients,
) -> None:
    desk = clients.desk()
    job_id = call(desk, "time_variant", variant_id=endless(desk, "s"), wait_s=0)["job_id"]
    while (job := call(desk, "job", job_id=job_id, wait_s=0.02))["status"] == "queued":
        pass
    broker = clients.broker()
    children = broker.children(recursive=True)
    done = CliRunner().invoke(cli.app, ["broker", "stop", "--outdir", str(clients.outdir)])
    with Store.open(clients.outdir / STATE_FILE) as store:
        ended = job_record(store, job_id).ended  # on a busy machine, before `stop` was heard
    assert done.exit_code == 0 and (ended or "goes on with: 1" in done.output), (done.output, job)
    assert not broker.is_running()
    assert asked_of_broker(clients.outdir, "status") is None
    assert children and not psutil.wait_procs(children, timeout=10)[1]


def test_calls_amid_a_stop_are_answered_by_the_next_broker(clients: Clients) -> None:
    desk, told = clients.desk(), list[dict[str, Any]]()
    variant_id = endless(desk, "stopped")

    def timed() -> None:
        told.append(call(desk, "time_variant", variant_id=variant_id, wait_s=45))

    waiting = threading.Thread(target=timed)
    waiting.start()
    while not clients.status()["jobs"]:
        pass
    first = clients.broker()
    asked_of_broker(clients.outdir, "stop")
    assert call(desk, "inspect", what="kernels")["entries"], "asked while the first one ends"
    waiting.join(SECONDS)
    assert told[0]["status"] == "done" and told[0]["result"]["ending"] == "timed_out"
    assert clients.broker() != first


def test_a_broker_that_is_killed_in_the_middle_of_a_call_loses_nothing(clients: Clients) -> None:
    desk = clients.desk()
    variant_id = endless(desk, "b")
    replies = list[dict[str, Any]]()

    def ask() -> None:
        replies.append(call(desk, "time_variant", variant_id=variant_id, wait_s=45))

    asking = threading.Thread(target=ask)
    asking.start()
    broker = clients.broker()
    while clients.status()["jobs"] == 0:
        pass
    children = broker.children(recursive=True)
    broker.kill()
    broker.wait(SECONDS)
    asking.join(SECONDS)
    (reply,) = replies
    while reply["status"] in ("queued", "running"):
        reply = call(desk, "job", job_id=reply["job_id"], wait_s=45)
    assert reply["result"]["ending"] == "timed_out"
    assert clients.broker().pid != broker.pid
    assert not psutil.wait_procs(children, timeout=10)[1]
    with Store.open(clients.outdir / STATE_FILE) as store:
        tools = [job.tool for job in job_records(store).values()]
    assert tools.count("time_variant") == 1, "sent again, it met its job"


def test_the_same_request_sent_again_meets_its_job_also_after_its_end(clients: Clients) -> None:
    desk = clients.desk()
    result(desk, "open_kernel", spec_path="spec.json")
    place, told = Place(clients.outdir), list[str]()
    message = {
        "identity": identity(clients.outdir, [clients.kernel.folder], ()),
        "verb": "open_kernel",
        "request": "the same",
        "arguments": {"spec_path": "spec.json", "wait_s": 45},
    }
    for _ in range(2):
        connection = place.connected()
        assert connection is not None
        with connection, connection.makefile("rb") as stream:
            send(connection, message)
            told += [each["job"] for each in received(stream) if "job" in each]
    assert len(told) == 2 and told[0] == told[1]


def test_errors_come_back_in_words_and_a_broken_message_harms_nobody(clients: Clients) -> None:
    desk = clients.desk()
    with pytest.raises(KernelwrightError, match="Next: call `open_kernel`"):
        call(desk, "propose_moves", kernel_id="bump-00000000")
    assert HandleUnknown.__mro__[1] is KernelwrightError
    for line in (b"no JSON\n", b"[]\n", b"{}\n", b"\n", b'{"ask": 3}\n', b"half"):
        connection = Place(clients.outdir).connected()
        assert connection is not None
        with connection:
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert call(desk, "inspect", what="kernels")["total"] == 0


def test_a_server_with_other_roots_works_beside_the_broker(
    clients: Clients, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    call(clients.desk(), "inspect", what="kernels")
    other = tmp_path / "other"
    other.mkdir()
    desk = clients.desk(other)
    host = call(desk, "inspect", what="host")
    assert host["facts"]["roots"] == [str(other)]
    assert "has other roots" in caplog.text
    desk.close()


def test_an_idle_broker_ends_and_leaves_no_socket(clients: Clients) -> None:
    script = """
import sys
from pathlib import Path
from kernelwright.server.broker.place import Place
from kernelwright.server.broker.serving import Broker
outdir, root = map(Path, sys.argv[1:])
Broker(Place(outdir).taken(), outdir, [root], (), idle_s=0.0).serve()
"""
    command = [sys.executable, "-c", script, str(clients.outdir), str(clients.kernel.folder)]
    assert subprocess.run(command, timeout=SECONDS, check=False).returncode == 0
    assert not Place(clients.outdir).socket.exists()


def test_there_is_one_broker_however_many_are_started(clients: Clients) -> None:
    call(clients.desk(), "inspect", what="kernels")
    assert Place(clients.outdir).taken() is None
    command = [sys.executable, "-m", "kernelwright.server", "broker", "--outdir"]
    assert subprocess.run([*command, clients.outdir], timeout=SECONDS, check=False).returncode == 0
    assert clients.status()["pid"] != os.getpid()


@further(
    "tests/server/broker/test_broker.py::"
    "test_stop_returns_when_the_broker_and_its_children_have_ended_also_amid_a_call",
    why="a signal where a call stops it",
)
def test_a_signal_ends_the_broker_with_all_that_it_started(clients: Clients) -> None:
    desk = clients.desk()
    call(desk, "time_variant", variant_id=endless(desk, "c"), wait_s=0.3)
    broker = clients.broker()
    children = broker.children(recursive=True)
    broker.send_signal(signal.SIGTERM)
    broker.wait(SECONDS)
    assert not psutil.wait_procs(children, timeout=10)[1]
    assert asked_of_broker(clients.outdir, "status") is None


@contextmanager
def listening_as(user: int, place: Place) -> Generator[None]:
    made = place.listening()
    with made:
        os.chown(place.socket, user, -1)
        yield


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a socket to another user")
def test_the_socket_of_another_user_is_refused(tmp_path: Path) -> None:
    with listening_as(65534, Place(tmp_path)):
        with pytest.raises(AccessError, match="belongs to user 65534"):
            asked_of_broker(tmp_path, "status")
        desk = RemoteDesk(tmp_path, [tmp_path], ())
        with pytest.raises(AccessError, match="belongs to user 65534"):
            call(desk, "inspect", what="kernels")


def test_a_path_too_long_for_a_socket_is_no_hindrance(tmp_path: Path) -> None:
    outdir = tmp_path / ("long" * 50)
    outdir.mkdir()
    with Place(outdir).listening():
        connection = Place(outdir).connected()
        assert connection is not None
        connection.close()
        assert Place(outdir).socket.stat().st_mode & 0o077 == 0
    assert Place(outdir).connected() is None, "nobody listens there any more"
