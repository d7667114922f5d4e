"""Work that tools of the MCP application do: jobs that outlive a call, searches, cancelling."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import psutil
from kernels import ENDLESS, FASTER
from mcp import Client
from server_talk import Place, ask, call, ended, jobs_of, refused, result_of

from kernelwright.search.stored.search_lock import SearchLock
from kernelwright.store.job_rows import put_job
from kernelwright.store.jobs import JobRecord, Owner
from kernelwright.store.store import STATE_FILE, Store
from kernelwright.tools.parts.jobs import this_process


def test_work_that_outlives_its_call_is_finished_and_told_by_job(place: Place) -> None:
    async def body(client: Client) -> None:
        reply = await call(
            client, "compile_variant", kernel_id=place.kernel_id, options=FASTER, wait_s=0
        )
        assert reply["status"] in ("queued", "running")
        assert reply["job_id"] in reply["next"][0]
        job = await ended(client, reply["job_id"])
        assert job["status"] == "done" and job["result"]["ok"]
        newest = (await jobs_of(client))[0]
        assert newest["job_id"] == reply["job_id"] and "result" not in newest
        assert newest["kernel_id"] == place.kernel_id and newest["tool"] == "compile_variant"

    ask(place, body)


def test_the_same_call_while_its_work_is_unfinished_meets_the_same_job(place: Place) -> None:
    async def body(client: Client) -> None:
        built = await result_of(
            client, "compile_variant", kernel_id=place.kernel_id, source=ENDLESS + "// again\n"
        )
        replies = [
            await call(client, "time_variant", variant_id=built["variant_id"], wait_s=0)
            for _ in range(2)
        ]
        assert replies[0]["job_id"] == replies[1]["job_id"]
        job_id = replies[0]["job_id"]
        reply = await call(
            client, "compile_variant", kernel_id=place.kernel_id, options=FASTER, wait_s=0
        )
        assert reply["status"] == "queued" and reply["ahead"] == 1
        dropped = await call(client, "cancel_job", job_id=reply["job_id"])
        assert dropped["status"] == "cancelled" and dropped["kept"].startswith("nothing of it")
        job = await ended(client, job_id)
        assert job["result"]["ending"] == "timed_out"
        assert "ended before" in await refused(client, "cancel_job", job_id=job_id)

    ask(place, body)


def test_a_request_that_is_cancelled_loses_no_result_and_hears_progress_before(
    place: Place,
) -> None:
    heard = list[str]()

    async def body(client: Client) -> None:
        with anyio.CancelScope() as scope:

            async def heard_some(progress: float, total: float | None, message: str | None) -> None:
                heard.append(message or "")
                scope.cancel()

            await client.call_tool(
                "compile_variant",
                {"kernel_id": place.kernel_id, "options": {"flags": ["-O2", "-std=c++17"]}},
                progress_callback=heard_some,
            )
        assert scope.cancelled_caught
        newest = (await jobs_of(client))[0]
        job = await ended(client, newest["job_id"])
        assert job["status"] == "done" and job["result"]["changed"]

    ask(place, body)
    assert heard[0] in ("queued", "running")


def test_a_search_by_rules_runs_to_its_stop_verdict(place: Place) -> None:
    async def body(client: Client) -> None:
        started = await result_of(
            client,
            "search_step",
            kernel_id=place.kernel_id,
            settings={"budget_builds": 2, "min_pred_gain": 0.0},
            steps=1,
        )
        assert len(started["steps"]) == 1
        search_id = started["search_id"]
        going_on = {"search_id": search_id, "steps": 50}
        told = await call(client, "search_step", **going_on, wait_s=0)
        assert (told["kernel_id"], told["search_id"]) == (place.kernel_id, search_id)
        ended = await result_of(client, "search_step", **going_on)
        assert ended["stopped"]["reason"] == "budget"
        facts = (await call(client, "inspect", what="search", id=search_id))["facts"]
        assert facts["stopped"] == "budget" and facts["settings"]["budget_builds"] == 2
        history = await call(client, "inspect", what="search", id=search_id, part="history")
        assert history["total"] >= ended["status"]["evaluations"]

    ask(place, body)


def test_candidates_of_a_ticket_are_all_evaluated_or_said_to_wait(place: Place) -> None:
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-no line of it {}\n+y\n"
    sent = [{"method": f"idea {n}", "diff": diff.format(n)} for n in range(7)]

    async def body(client: Client) -> None:
        asked = await result_of(client, "search_step", kernel_id=place.kernel_id, planner="client")
        answer = {
            "search_id": asked["search_id"],
            "ticket": asked["needs_candidates"]["ticket"],
            "candidates": sent,
        }
        begun = await result_of(client, "search_step", **answer, steps=3)
        tried = [step["method"] for step in begun["steps"]]
        waiting = [text.split(":")[0] for text in begun["waiting"]]
        assert sorted(tried + waiting) == [f"idea_{n}" for n in range(7)] and len(tried) == 3

        other = await result_of(client, "search_step", kernel_id=place.kernel_id, planner="client")
        answer |= {
            "search_id": other["search_id"],
            "ticket": other["needs_candidates"]["ticket"],
        }
        whole = await result_of(client, "search_step", **answer)
        assert len(whole["steps"]) == 7 and whole["waiting"] == []

    ask(place, body)


def test_a_cancelled_search_ends_in_the_middle_of_an_evaluation_and_can_go_on(place: Place) -> None:
    async def body(client: Client) -> None:
        asked = await result_of(client, "search_step", kernel_id=place.kernel_id, planner="client")
        endless = [  # machine code of their own: what became of known code is known at once
            {"method": "by hand", "source": ENDLESS.replace("q = 0; q == 0", f"q = {n}; q == {n}")}
            for n in (5, 6)
        ]
        ticket = asked["needs_candidates"]["ticket"]
        reply = await call(
            client,
            "search_step",
            search_id=asked["search_id"],
            ticket=ticket,
            candidates=endless,
            steps=2,
            wait_s=0.3,
        )
        assert reply["status"] == "running"
        assert (reply["kernel_id"], reply["search_id"]) == (place.kernel_id, asked["search_id"])
        assert reply["left"]["steps"] == 2
        job = await call(client, "cancel_job", job_id=reply["job_id"], wait_s=45)
        assert job["status"] == "cancelled" and job["result"]["steps"] == []
        assert job["kept"].startswith("the 0 steps of its result")
        going_on = {"search_id": asked["search_id"], "steps": 2}
        assert job["next"] == [f"search_step {json.dumps(going_on)}"]
        history = await call(
            client, "inspect", what="search", id=asked["search_id"], part="history"
        )
        assert {each["state"] for each in history["entries"]} == {"open"}
        text = await refused(
            client, "search_step", search_id=asked["search_id"], ticket=ticket, candidates=[]
        )
        assert "answered already" in text

    ask(place, body)


MANY_TEMPLATES = """
template <int N, int M> struct Tree {
    static constexpr int value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value;
};
template <int M> struct Tree<0, M> { static constexpr int value = M; };
static_assert(Tree<28, 0>::value != 1);
"""
"""268 million instances: minutes and all memory, if nobody ends it"""


def test_cancelling_ends_a_compiler_and_the_next_work_is_done_as_ever(place: Place) -> None:
    async def body(client: Client) -> None:
        source = place.kernel.source.read_text("utf-8") + MANY_TEMPLATES
        reply = await call(
            client, "compile_variant", kernel_id=place.kernel_id, source=source, wait_s=0.5
        )
        assert reply["status"] == "running"
        job = await call(client, "cancel_job", job_id=reply["job_id"], wait_s=45)
        assert job["status"] == "cancelled" and "error" not in job
        names = [child.name() for child in psutil.Process().children(recursive=True)]
        assert "cc1plus" not in names
        built = await result_of(
            client, "compile_variant", kernel_id=place.kernel_id, options={"flags": ["-O0"]}
        )
        timed = await result_of(client, "time_variant", variant_id=built["variant_id"])
        assert timed["ending"] in ("faster", "slower", "tie", "unstable")

    ask(place, body)


def dead_job(job_id: str, tool: str, attempts: int, **arguments: Any) -> JobRecord:
    """A job that was running when its process died."""
    return JobRecord(
        job_id=job_id,
        tool=tool,
        arguments=arguments,
        state="running",
        attempts=attempts,
        owner=Owner(pid=1, started=1),
        submitted_at="2026-01-01T00:00:00+00:00",
    )


def test_what_a_dead_server_left_is_run_again_unless_it_writes_files_or_keeps_killing(
    place: Place, tmp_path: Path
) -> None:
    place = replace(place, outdir=shutil.copytree(place.outdir, tmp_path / "state", symlinks=True))
    left = (
        dead_job("j901", "compile_variant", 1, kernel_id=place.kernel_id, options=FASTER),
        dead_job("j902", "export_variant", 1, variant_id="v0"),
        dead_job("j903", "compile_variant", 2, kernel_id=place.kernel_id, options=FASTER),
    )
    with Store.open(place.outdir / STATE_FILE) as store, store.transaction() as writer:
        for record in left:
            writer.put_record("jobs", record.job_id, record)

    async def body(client: Client) -> None:
        jobs = {record.job_id: await ended(client, record.job_id) for record in left}
        assert jobs["j901"]["status"] == "done" and jobs["j901"]["result"]["ok"]
        for job_id in ("j902", "j903"):
            assert jobs[job_id]["status"] == "interrupted"
        assert jobs["j902"]["next"] == ['export_variant {"variant_id": "v0"}']

    ask(place, body)


def test_who_waits_for_the_search_of_a_server_that_died_gets_all_its_steps(
    place: Place, tmp_path: Path
) -> None:
    place = replace(place, outdir=shutil.copytree(place.outdir, tmp_path / "state", symlinks=True))

    async def body(client: Client) -> None:
        asked = await result_of(client, "search_step", kernel_id=place.kernel_id, planner="client")
        search_id = asked["search_id"]
        answered = await result_of(
            client,
            "search_step",
            search_id=search_id,
            ticket=asked["needs_candidates"]["ticket"],
            candidates=[{"method": "by hand", "options": FASTER}],
            steps=1,
        )
        left = dead_job("j901", "search_step", 1, search_id=search_id, steps=1)
        with Store.open(place.outdir / STATE_FILE) as store, store.transaction() as writer:
            record = left.model_copy(update={"so_far": answered})
            writer.put_record("jobs", record.job_id, record)
        job = await ended(client, "j901")
        assert job["status"] == "done" and job["result"]["steps"] == answered["steps"]
        assert job["result"]["needs_candidates"] and job["spent"]["steps"] == 1

    ask(place, body)


def test_a_file_and_a_sentence_start_a_search_and_what_they_leave_open_is_asked(
    place: Place,
) -> None:
    source = "void scale(const float* x, float* y, float a, int n) {\n"
    source += "    for (int i = 0; i < n; ++i) y[i] = a * x[i] / (1.0f + x[i] * x[i]);\n}\n"
    (place.kernel.folder / "scale.cpp").write_text(source, "utf-8")

    async def body(client: Client) -> None:
        asked = {"source_path": "scale.cpp", "planner": "client", "wait_s": 45}
        text = await refused(client, "search_step", **asked, goal="make it faster")
        assert "`n = NUMBER, a = NUMBER`" in text
        started = await result_of(
            client, "search_step", **asked, goal="make it faster for n = 4,096 and a = 2"
        )
        assert started["needs_candidates"]["source"] == source
        assert started["search_id"]

    ask(place, body)


def test_who_meets_a_search_that_another_process_steps_is_told_the_job_to_wait_for(
    place: Place, tmp_path: Path
) -> None:
    own = replace(place, outdir=shutil.copytree(place.outdir, tmp_path / "state", symlinks=True))
    elsewhere = psutil.Process().parent()
    assert elsewhere is not None
    stat = Path(f"/proc/{elsewhere.pid}/stat").read_text(encoding="utf-8")
    started = int(stat.rpartition(")")[2].split()[19])

    async def body(client: Client) -> None:
        asked = await result_of(client, "search_step", kernel_id=place.kernel_id, planner="client")
        running = JobRecord(
            job_id="j900",
            tool="search_step",
            arguments={"search_id": asked["search_id"], "steps": 3},
            state="running",
            owner=Owner(pid=elsewhere.pid, started=started),
            submitted_at="2026-01-01T00:00:00+00:00",
        )
        with Store.open(own.outdir / STATE_FILE) as store, store.transaction() as writer:
            put_job(writer, running)
        lock = SearchLock(own.outdir, asked["search_id"])
        lock.take()
        text = await refused(client, "search_step", search_id=asked["search_id"], wait_s=45)
        lock.release()
        assert "is under way" in text and 'job {"job_id": "j900", "wait_s": 45}' in text

    ask(own, body)


WAITERS = 80
"""twice as many as a pool of threads has by default"""


def test_many_calls_that_wait_block_nobody(place: Place) -> None:
    running = JobRecord(
        job_id="j900",
        tool="time_variant",
        arguments={},
        state="running",
        owner=this_process(),
        submitted_at="2026-01-01T00:00:00+00:00",
    )

    async def body(client: Client) -> None:
        ends = list[str]()

        async def wait() -> None:
            ends.append((await ended(client, "j900", wait_s=45))["status"])

        async with anyio.create_task_group() as tasks:
            for _ in range(WAITERS):
                tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert (await call(client, "inspect", what="kernels"))["entries"] and not ends
            write(running.model_copy(update={"state": "done", "result": {}}))
        assert ends == ["done"] * WAITERS

    def write(job: JobRecord) -> None:
        with Store.open(place.outdir / STATE_FILE) as store, store.transaction() as writer:
            put_job(writer, job)

    write(running)
    ask(place, body)
