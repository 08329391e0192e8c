#!/usr/bin/env python3
"""Make builds and run their Meson tests in one pool, longest first.

usage: tests/runner.py [-k PATTERN] [-l SECONDS] [-e] "DIR SUITES [OPTION...]"...

Each build has its directory, the suites to run (a,b; "-" for none) and the
options of `meson setup`; NAME=VALUE before the first "-" option is its environment.
Builds are made in turn, and the tests of one run while the next is made.
  -k PATTERN  only tests whose name matches, and only their programs are built
  -l SECONDS  time limit of each test
  -e          end at the first test that fails

A test prints "ok - CASE", "not ok - CASE" and "skip - CASE", or is a Check
program. A case is the first word of the test's name and the name of the
case, without its number and its layout. It counts once, whatever builds and
layouts it runs in, and as failed if it failed in one.
DIR/test-durations keeps the duration of each test; without it the priority is
used. DIR/test-logs has the output of the tests.
"""
import argparse
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
# Additional options of builds with these names. No test of the usual build needs
# debugging information. Tiny limits, and a first operation number just before the
# wrap, make rare cases common. Reports of the sanitizers need lines only, and -g1
# compiles faster.
OPTIONS = {"build": ["-Ddebug=false"],
           "build-sanitize": ["-Dsanitize=true", "-Doptimization=1",
                              "-Ddebug=false", "-Dc_args=-g1",
                              "-Dtiny=true", "-Dfirst_sequence=4294967270"]}
# Distinct cases of tests/run at 97ce4b0, counted as here.
AT_97CE4B0 = 4127


class Build:
    """A build directory; the job makes the build."""

    def __init__(self, text):
        words = shlex.split(text)
        self.dir = SOURCE / words[0]
        self.dir.mkdir(exist_ok=True)
        self.suites = set(words[1].split(","))
        self.env = dict(w.split("=", 1) for w in words[2:] if w[0] != "-")
        self.options = ["-Dtests=true", "-Dwerror=true",
                        *OPTIONS.get(words[0], []),
                        *(w for w in words[2:] if w[0] == "-")]
        self.title = f"build {words[0]}"
        self.limit = 3600
        self.kept = self.dir / "test-durations"
        self.path = os.environ["PATH"]
        # Where python3 is a script that selects one, tests start that one.
        self.bin = self.dir / "test-bin"
        self.bin.mkdir(exist_ok=True)
        python = self.bin / "python3"
        python.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} \"$@\"\n")
        python.chmod(0o755)

    def command(self, jobs, pattern):
        setup = ["meson", "setup", str(self.dir), str(SOURCE), *self.options]
        make = ["ninja", "-C", str(self.dir), "--quiet", "-j", str(jobs)]
        if "-Dsanitize=true" in self.options and not pattern:
            make.append("test-programs")
        elif "full" in self.suites and not pattern:
            make += ["all", "full-programs"]
        if not (self.dir / "build.ninja").exists():
            return ["sh", "-c", f"{shlex.join(setup)} && {shlex.join(make)}"]
        # A build made with other options gets these.
        options = ["meson", "configure", str(self.dir), *self.options]
        make = shlex.join(make + self.needed(pattern))
        return ["sh", "-c", f"{shlex.join(options)} && {make}"]

    def needed(self, pattern):
        """The programs of the tests; an empty list: all."""
        words = {str(self.dir / w) for t in self.tests(pattern)
                 for w in t.cmd if pattern}
        return [] if str(self.dir) in words else [
            os.path.relpath(w, self.dir) for w in words
            if re.match(f"{self.dir}/(tests|tools)/", w)]

    def durations(self):
        lines = self.kept.read_text().splitlines() if self.kept.exists() else []
        return {name: float(s) for s, name in (l.split(" ", 1) for l in lines)}

    def tests(self, pattern):
        text = (self.dir / "meson-info/intro-tests.json").read_text()
        kept = self.durations()
        found = [Test(self, t, kept) for t in json.loads(text)
                 if self.suites & {s.split(":")[-1] for s in t["suite"]}]
        return [t for t in found if re.search(pattern, t.name)]

    def keep(self, tests):
        """Keep the durations of passed tests."""
        kept = self.durations()
        kept.update({t.name: t.took for t in tests if not t.failed})
        self.kept.write_text("".join(
            f"{s:.2f} {n}\n" for n, s in sorted(kept.items(),
                                                key=lambda item: -item[1])))


class Test:
    def __init__(self, build, described, kept):
        self.build = build
        self.name = described["name"]
        self.title = f"{build.dir.name}: {self.name}"
        self.cmd = described["cmd"]
        self.env = described["env"]
        self.dir = described["workdir"] or build.dir
        self.path = f"{build.bin}:{build.path}"
        self.limit = described["timeout"]
        suites = {s.split(":")[-1] for s in described["suite"]}
        self.width = 0.5 if "waits" in suites else 1
        self.expected = kept.get(self.name, described["priority"])
        self.passed, self.failed, self.skipped = [], [], []

    def command(self, *_):
        return self.cmd

    def case(self, name):
        """The name of a case without its number and its layout."""
        name = re.sub(r"^#\d+ ", "", name.strip())
        name = re.sub(r", \d+ ranks on \d+ nodes\b", "", name)
        return f"{self.name.split()[0]}: {name}"

    def count(self, status, log, checks):
        """Read the cases from the test's output."""
        for line in log.splitlines():
            for start, cases in (("ok - ", self.passed),
                                 ("not ok - ", self.failed),
                                 ("skip - ", self.skipped)):
                if line.startswith(start):
                    cases.append(self.case(line[len(start):]))
        times = {}
        for line in checks.splitlines():
            found = re.match(r"(ok|not ok) \d+ - .*?([^:/]+:[^:]+): ", line)
            if found:  # a case that loops counts each time
                good, name = found.groups()
                times[name] = times.get(name, 0) + 1
                (self.passed if good == "ok" else self.failed).append(
                    self.case(f"{name} {times[name]}"))
        if not self.failed and (status != 0 or
                                not self.passed and not self.skipped):
            self.failed.append(self.case(f"status {status}"))

    def repeat(self, case):
        """The command that runs this case, or the whole test."""
        name = case.split(": ", 1)[1]
        env, cmd = dict(self.env), list(self.cmd)
        check = re.fullmatch(r"(\w+):\w+ \d+", name)
        if check:
            env["CK_RUN_CASE"] = check[1]
        elif cmd[-1] != name and not name.startswith("status ") and any(
                word.endswith("/ranks/ranks") for word in cmd):
            cmd += ["--only", name]
        env = [f"{k}={v}" for k, v in env.items()]
        return f"cd {self.dir} && " + shlex.join(["env", *env, *cmd])


class Pool:
    """Runs jobs concurrently: one per core, or two of the tests that wait."""

    def __init__(self, work, pattern):
        self.work, self.pattern = work, pattern
        self.cores = len(os.sched_getaffinity(0))
        # Tests wait now and then, so one that waits mostly runs beside others.
        self.free = self.cores + 0.5
        self.running = []
        self.started = 0

    def start(self, job):
        self.started += 1
        job.tmp = Path(self.work, str(self.started))
        job.tmp.mkdir()
        job.log = job.tmp / "log"
        job.tap = job.tmp / "tap"
        tmp = job.tmp / "t"
        tmp.mkdir()
        env = {**os.environ, "PATH": job.path, **job.env, "TMPDIR": str(tmp),
               "CK_TAP_LOG_FILE_NAME": str(job.tap)}
        with open(job.log, "w") as out:
            job.process = subprocess.Popen(
                job.command(job.width, self.pattern), cwd=job.dir, env=env,
                stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True)
        job.ends = os.pidfd_open(job.process.pid)
        job.began = time.monotonic()
        self.free -= job.width
        self.running.append(job)

    def stop(self, job):
        """End the job and its processes, launchers first: they clean up."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(job.process.pid, sign)
                job.process.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def next_end(self):
        """Wait until a job ends or exceeds its limit."""
        while True:
            for job in self.running:
                job.took = time.monotonic() - job.began
                pid, status, used = os.wait4(job.process.pid, os.WNOHANG)
                job.cpu = used.ru_utime + used.ru_stime
                status = os.waitstatus_to_exitcode(status) if pid else None
                if status is None and job.took > job.limit:
                    self.stop(job)
                    status = f"timeout after {job.took:.0f} s"
                if status is not None:
                    self.running.remove(job)
                    os.close(job.ends)
                    self.free += job.width
                    return job, status
            select.select([job.ends for job in self.running], [], [], 1)


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def finish_test(test, status):
    log = read(test.log)
    test.count(status, log, read(test.tap))
    logs = test.build.dir / "test-logs"
    logs.mkdir(exist_ok=True)
    name = re.sub(r"[^\w.+-]+", "_", test.name)
    (logs / name).write_text(log + read(test.tap))
    shutil.rmtree(test.tmp, ignore_errors=True)
    if test.failed:
        print(f"FAILED {test.title} ({test.took:.1f} s)")
        bad = [line for line in log.splitlines()
               if not re.match(r"ok - |skip - ", line)]
        print("\n".join(bad[-40:]))
        for case in sorted(set(test.failed))[:10]:
            print(f"  {case}\n    {test.repeat(case)}")
        print(flush=True)


def finish_build(build, status):
    if status != 0:
        print("\n".join(read(build.log).splitlines()[-40:]))
        print(f"{build.title} failed: {status}\n0 passed, 1 failed")
        sys.exit(1)
    print(f"{build.title}: {build.took:.1f} s", flush=True)


def run(pool, builds, options):
    to_make, waiting, done = list(builds), [], []
    while to_make or waiting or pool.running:
        making = any(isinstance(job, Build) for job in pool.running)
        while True:
            if to_make and not making and pool.free >= 1:
                # The first build has all cores; beside tests, half of them.
                half = max(1, pool.cores // 2) if done or waiting else pool.cores
                to_make[0].width = min(half, int(pool.free))
                pool.start(to_make.pop(0))
                making = True
                continue
            fitting = [test for test in waiting if test.width <= pool.free]
            if not fitting:
                break
            waiting.remove(fitting[0])
            pool.start(fitting[0])
        job, status = pool.next_end()
        if isinstance(job, Build):
            finish_build(job, status)
            waiting += job.tests(options.pattern)
            for test in waiting:
                test.limit = min(test.limit, options.limit)
            waiting.sort(key=lambda test: -test.expected)
        else:
            done.append(job)
            finish_test(job, status)
            if job.failed and options.end:
                break
    return done


def summary(tests, builds, seconds):
    """Count distinct cases; print the summary line."""
    print("longest: seconds, of cores, test")
    for test in sorted(tests, key=lambda t: -t.took)[:20]:
        print(f"{test.took:8.1f} {test.cpu:8.1f}  {test.title}")
    failed = {case for test in tests for case in test.failed}
    passed = {case for test in tests for case in test.passed} - failed
    skipped = {case for test in tests for case in test.skipped} - passed - failed
    runs = sum(len(test.passed) + len(test.failed) for test in tests)
    cpu = sum(job.cpu for job in tests + builds)
    print(f"{seconds:.0f} s, {cpu:.0f} s of cores, {len(tests)} tests; {runs} "
          f"runs of {len(passed | failed)} distinct cases "
          f"({AT_97CE4B0} at 97ce4b0)")
    print(f"{len(passed)} passed, {len(failed)} failed" +
          (f", {len(skipped)} skipped" if skipped else ""))
    return not failed and bool(passed)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-k", dest="pattern", default="")
    parser.add_argument("-l", dest="limit", type=float, default=1e9)
    parser.add_argument("-e", dest="end", action="store_true")
    parser.add_argument("builds", nargs="+", type=Build)
    options = parser.parse_args()
    began = time.monotonic()
    # Signals ignored by nohup, or a shell without a terminal, are restored.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    for sign in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(sign, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="ctn") as work:
        pool = Pool(work, options.pattern)
        try:
            tests = run(pool, options.builds, options)
        finally:
            for job in pool.running:
                pool.stop(job)
    for build in options.builds:
        build.keep([test for test in tests if test.build is build])
    sys.exit(0 if summary(tests, options.builds,
                        time.monotonic() - began) else 1)


if __name__ == "__main__":
    main()
