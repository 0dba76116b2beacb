#!/usr/bin/env python3
"""Makes the event logs of tests/screens/logs.

    tests/screens/record.py BUILD

smoke.jsonl is what `BUILD/proctor run docs/examples/smoke/smoke.round.json --yes` logs; the others are composed here, of
the same types. Whatever differs from run to run (clocks, pids, the machine's words) is made constant, and the chain of
digests is made anew, so that each is a log like any other: `proctor watch PATH` shows it. Lines of progress and tail are
not of a log; they stand in NAME.live, and are folded after it.
"""
import hashlib, json, os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LOGS = os.path.join(HERE, "logs")
EPOCH_MS, MONO_NS = 1767322800000, 1000000000000  # 2026-01-02 03:00:00 UTC
DIRECTORY = "/var/lib/proctor/rounds/"


class Log:
    def __init__(self, name):
        self.name, self.lines, self.live, self.clock = name, [], [], 0

    def event(self, type, after_ms=40, **members):
        self.clock += after_ms
        self.lines.append({"type": type, **members})
        self.lines[-1]["_clock"] = self.clock

    def write(self):
        previous = "0" * 64
        with open(os.path.join(LOGS, self.name + ".jsonl"), "w") as file:
            for seq, members in enumerate(self.lines, 1):
                clock = members.pop("_clock")
                if members["type"] == "round.finished":
                    members["head"] = previous
                event = {"seq": seq, "prev": previous, "at": EPOCH_MS + clock, "mono": MONO_NS + clock * 1000000, **members}
                line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
                previous = hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()
                file.write(line + "\n")
        if self.live:
            with open(os.path.join(LOGS, self.name + ".live"), "w") as file:
                for members in self.live:
                    file.write(json.dumps(members, ensure_ascii=False, separators=(",", ":")) + "\n")


def open_round(log, name, tasks, parallel, gate="--yes"):
    log.event("round.opened", round=name + "-20260102-030000", name=name, kind="smoke", dir=DIRECTORY + name + "-20260102-030000",
              version="0.1.0", tasks=[{"task": task, "source": "repos/calc"} for task in tasks], parallel=parallel, agent="fix",
              profile="residency.confined-local.v1", wall_clock_ms=600000, tests_wall_clock_ms=120000,
              longest_ms=840000 * -(-len(tasks) // parallel), resumed=False)
    log.event("preflight.check", id="kernel", state="ok", tried="6.1.0: clone3, pidfd, cgroup.kill; Landlock ABI 2", remedy=None)
    log.event("preflight.check", id="kill boundary", state="ok", tried="born, killed, empty, removed in 1.1 ms", remedy=None)
    log.event("preflight.check", id="limits", state="warn", tried="memory, pids, cpu: by cgroup v1 (hybrid host)", remedy=None)
    log.event("preflight.verdict", ok=2, warn=1, fail=0, unknown=0)
    if gate:
        log.event("round.gate", state="open", by=gate)
        log.event("round.started")
    else:
        log.event("round.gate", state="waiting", by=None)


PHASES = ["prepare", "agent", "collect", "baseline", "patched"]
WALL = {"prepare": 4, "agent": 62000, "collect": 35, "baseline": 900, "patched": 1100}


def run(log, task, until):
    """Phases of a task, up to and with the start of `until`."""
    for phase in PHASES:
        log.event("task.phase", task=task, phase=phase, state="started")
        if phase == until:
            return
        ended(log, task, phase)


def ended(log, task, phase, termination="exited", exit_code=0):
    if phase in ("prepare", "collect"):
        termination, exit_code = None, None
    log.event("task.phase", after_ms=WALL[phase], task=task, phase=phase, state="ended", wall_ms=WALL[phase],
              termination=termination, exit_code=exit_code)


CONTAINMENT = {"profile": "residency.confined-local.v1", "enforced": True, "remaining_processes": 0, "kill_boundary_enforced": True,
               "control_plane_isolated": True, "resource_controllers_enforced": True, "cleanup_closed": True, "certifiable": True,
               "uncertifiable_reasons": []}


def close(log, task, phase, killed=0):
    log.event("boundary.closed", task=task, phase=phase, run=7, killed=killed, remaining=0, removed=True, nested=0, ms=1.4,
              cleanup="ok", process_containment=CONTAINMENT)


VERDICTS = {
    "pass": ("ok", "valid", 1.0, "none", "nobody", ""),
    "fail": ("ok", "valid", 0.0, "tests", "candidate", "sh test/check.sh exited with 1, expected 0"),
    "invalid": ("invalid", "invalid", 0.0, "violation", "candidate", "left a symlink: out -> /etc (workspace)"),
    "error": ("error", "invalid", None, "fixture", "fixture", "baseline test over its output cap"),
    "stopped": ("stopped", "invalid", None, "owner", "owner", "stopped by its owner"),
}


def verdict(log, task, verdict, refusals=0, wall_ms=64000, reason=None):
    status, validity, reward, cause, charged_to, words = VERDICTS[verdict]
    log.event("task.verdict", task=task, status=status, verdict=verdict, validity=validity, reward=reward, cause=cause,
              charged_to=charged_to, reason=words if reason is None else reason,
              violations=["out"] if verdict == "invalid" else [], episode="episode-" + hashlib.sha256(task.encode()).hexdigest(),
              refusals=refusals, wall_ms=wall_ms, spend_usd_micro=0, process_containment=CONTAINMENT)


def whole(log, task, outcome, **more):
    run(log, task, None)
    close(log, task, "patched")
    verdict(log, task, outcome, **more)


def refusal(log, task, layer, what, object, errno, count, certainty="recorded"):
    log.event("refusal", task=task, phase="agent", layer=layer, what=what, object=object, program="python3", ancestry="sh > python3",
              errno=errno, count=count, first_ms=2000, last_ms=9000, certainty=certainty)


def control(log, verb, **more):
    log.event("control", verb=verb, who={"uid": 0, "pid": 4711}, **{"task": None, **more})


def progress(log, frozen, *tasks):
    log.live.append({"type": "progress", "frozen": frozen, "tasks": [
        {"task": task, "phase": phase, "wall_ms": wall, "limit_ms": limit, "processes": 4, "memory_bytes": 41943040,
         "output_bytes": 18234, "idle_ms": idle} for task, phase, wall, limit, idle in tasks]})


EVIDENCE = ["fix", "no-fix", "leak", "exit-three"]


def constant(value):
    """The same with every duration and digest made constant."""
    if isinstance(value, dict):
        return {key: 40 if key in ("wall_ms", "ms") else constant(one) for key, one in value.items()}
    return [constant(one) for one in value] if isinstance(value, list) else value


def keep_evidence(source, target):
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for name in sorted(os.listdir(source)):
        with open(os.path.join(source, name)) as file:
            text = file.read()
        if name == "result.json":
            text = json.dumps(constant(json.loads(text)), indent=2) + "\n"
        with open(os.path.join(target, name), "w") as file:
            file.write(text)


def smoke(build):
    log = Log("smoke")
    with tempfile.TemporaryDirectory(prefix="pr-") as root:
        os.mkdir(root + "/run", 0o700)
        environment = {**os.environ, "XDG_STATE_HOME": root + "/state", "XDG_RUNTIME_DIR": root + "/run", "HOME": root}
        example = os.path.join(HERE, "../../docs/examples/smoke/smoke.round.json")
        said = subprocess.run([build + "/proctor", "run", example, "--yes", "--display", "json"], env=environment, check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.decode()
        opened = json.loads(said.splitlines()[0])
        for task in EVIDENCE:
            keep_evidence(opened["dir"] + "/tasks/" + task, os.path.join(LOGS, "tasks", task))
    for line in said.splitlines():
        event = json.loads(line)
        if "seq" not in event:
            continue
        kind = event.pop("type")
        for clock in ("seq", "prev", "at", "mono"):
            event.pop(clock)
        if kind == "round.opened":
            event["round"] = "smoke-20260102-030000"
            event["dir"] = DIRECTORY + event["round"]
        if kind == "preflight.check":
            event["tried"] = "tried, and seen"
        if kind == "task.phase" and event["state"] == "ended":
            event["wall_ms"] = 2000 if event["task"] == "sleeper" and event["phase"] == "agent" else WALL[event["phase"]] // 10
        if kind == "task.verdict":
            event["wall_ms"] = 2300
            event["process_containment"] = CONTAINMENT
        if kind == "boundary.closed":
            event.update(ms=1.4, killed=1 if event["killed"] else 0)
            event["process_containment"] = CONTAINMENT
        if kind == "round.finished":
            event["wall_ms"] = 4200
        log.event(kind, **event)
    log.write()


def running():
    log = Log("running")
    open_round(log, "smoke", ["calc-precedence", "json-unicode", "clamp", "date-parse", "regex-group", "yaml-anchor", "fold-left",
                              "csv-quotes"], 2)
    whole(log, "date-parse", "pass")
    run(log, "regex-group", "agent")
    refusal(log, "regex-group", "network", "connect", "203.0.113.7:443", "ENETUNREACH", 6)
    refusal(log, "regex-group", "limits", "fork", "processes", "EAGAIN", 3)
    for phase in PHASES[1:]:
        if phase != "agent":
            log.event("task.phase", task="regex-group", phase=phase, state="started")
        ended(log, "regex-group", phase)
    close(log, "regex-group", "patched", killed=3)
    verdict(log, "regex-group", "invalid", refusals=9, wall_ms=44000)
    whole(log, "yaml-anchor", "error", wall_ms=120000)
    whole(log, "fold-left", "pass", wall_ms=31000)
    whole(log, "csv-quotes", "fail", wall_ms=98000)
    run(log, "calc-precedence", "agent")
    refusal(log, "calc-precedence", "limits", "fork", "processes", "EAGAIN", 3)
    run(log, "json-unicode", "patched")
    progress(log, False, ("calc-precedence", "agent", 252000, 600000, 3000), ("json-unicode", "patched", 110000, 120000, 0))
    log.live.append({"type": "tail", "task": "calc-precedence", "phase": "agent", "stream": "stdout",
                     "text": "reading src/parse.c\nthe unary minus binds too loosely\nediting"})
    return log


def long():
    log = Log("long")
    tasks = ["sweep-%02d" % (i + 1) for i in range(64)]
    open_round(log, "sweep", tasks, 4)
    for i, task in enumerate(tasks[:22]):
        whole(log, task, ["pass", "pass", "pass", "fail", "pass", "invalid", "pass", "pass", "error"][i % 9], refusals=i % 4)
    for task in tasks[22:26]:
        run(log, task, "agent")
    progress(log, False, *[(task, "agent", 60000 + 90000 * i, 600000, 1000 * i) for i, task in enumerate(tasks[22:26])])
    return log


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(LOGS, exist_ok=True)
    smoke(os.path.abspath(sys.argv[1]))
    running().write()
    long().write()

    log = running()
    log.name = "frozen"
    control(log, "freeze", ms=3.1, processes=41, runs=2)
    progress(log, True, ("calc-precedence", "agent", 252000, 600000, 3000), ("json-unicode", "patched", 110000, 120000, 0))
    log.write()

    log = running()
    log.name, log.live = "stopped", []
    control(log, "freeze", ms=3.1, processes=41, runs=2)
    control(log, "stop", ms=9.2, killed=41, remaining=0, removed=2)
    for task, phase in (("calc-precedence", "agent"), ("json-unicode", "patched")):
        ended(log, task, phase, "killed", None)
        close(log, task, phase, killed=20)
        verdict(log, task, "stopped")
    verdict(log, "clamp", "stopped", wall_ms=0, reason="not started: the round was stopped")
    log.event("round.finished", state="stopped", tasks=8, **{"pass": 2}, fail=1, invalid=1, error=1, stopped=3, spend_usd_micro=0,
              wall_ms=700000, head="")
    log.write()

    log = Log("held")
    tasks = ["night-%03d" % (i + 1) for i in range(240)]
    open_round(log, "night", tasks, 8)
    for task in tasks[:5]:
        whole(log, task, "error", reason="the provider answered 529 to 6 requests in a row", wall_ms=9000)
    control(log, "hold", reason="5 errors in a row that are the provider's: the provider answered 529")
    log.event("fault", what="hold", message="5 errors in a row that are the provider's: the provider answered 529",
              charged_to="provider")
    log.write()

    log = Log("gate")
    open_round(log, "smoke", ["calc-precedence", "json-unicode", "clamp"], 2, gate=None)
    log.write()


if __name__ == "__main__":
    main()
