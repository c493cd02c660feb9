"""The program around the page: its addresses, its browser, its end, and what it leaves."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cellveil.app.served import FIRST, Served, send, serving, told

pytest.importorskip("shiny", reason="shiny is not installed")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")

SOON = 15.0
"""Seconds in which a program has to end on a machine with much to do."""


def ended(served: Served) -> str:
    """End the program by SIGTERM; what it said."""
    served.process.terminate()
    _, said = served.process.communicate(timeout=SOON)
    assert served.process.returncode == 0, said
    assert list(served.place.iterdir()) == []
    assert "Traceback" not in said
    return said


def fake_browser(place: Path, then: str = "") -> Path:
    """Command that writes down the address that it gets."""
    found = place / "browser"
    found.write_text(f'#!/bin/sh\numask >"{place}/mask"\necho "$1" >"{place}/asked.new"\n'
                     f'mv "{place}/asked.new" "{place}/asked"\n{then}\n')  # fmt: skip
    found.chmod(0o700)
    return found


def wait_for(path: Path) -> str:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    return path.read_text().strip()


# ---- addresses -----------------------------------------------------------------------------------


def test_the_printed_address_opens_the_page_once(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert served.get("/?token=guess")[0] == 403
        path = f"/?token={served.ticket}"
        assert served.get(path, host="evil.example")[0] == 403
        assert served.get(path)[0] == 200
        assert served.get(path)[0] == 200  # the same browser
        cookie, served.cookie = served.cookie, ""
        status, text = served.get(path)
        assert status == 403
        assert "spent" in text
        assert "start it again" in text
        served.cookie = cookie
        assert served.get()[0] == 200
        ended(served)


@posix
def test_enter_prints_another_address(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        with serving(tmp_path, stdin=theirs) as served:
            served.enter()
            os.write(ours, b"\n")
            another = served.process.stdout.readline().strip()
            assert another.partition("token=")[2] != served.ticket
            served.cookie = ""
            status, text = served.get(f"/?token={served.ticket}")
            assert status == 403
            assert "Press Enter" in text
            assert served.get(f"/?token={another.partition('token=')[2]}")[0] == 200
            assert "Enter prints another" in ended(served)
    finally:
        os.close(ours)
        os.close(theirs)


@posix
def test_what_the_browser_got_is_void_for_others(tmp_path: Path) -> None:
    env = {"BROWSER": f"{fake_browser(tmp_path)} %s"}
    with serving(tmp_path, "--browser", environment=env) as served:
        got = wait_for(tmp_path / "asked").partition("token=")[2]
        mask = os.umask(0o077)
        os.umask(mask)
        assert int((tmp_path / "mask").read_text(), 8) == mask  # what it saves is not our affair
        assert got != served.ticket
        assert served.get(f"/?token={got}")[0] == 200
        served.cookie = ""
        assert served.get(f"/?token={got}")[0] == 403
        assert served.get(f"/?token={served.ticket}")[0] == 200
        ended(served)


@posix
def test_a_browser_that_stays_holds_up_neither_the_page_nor_the_end(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    env = {"BROWSER": f"{fake_browser(tmp_path, f'echo $$ >{pid}; exec sleep 120')} %s"}
    with serving(tmp_path, "--browser", environment=env) as served:
        wait_for(tmp_path / "asked")
        served.enter()
        served.process.terminate()
        assert served.process.wait(SOON) == 0
        assert list(served.place.iterdir()) == []
        subprocess.run(["kill", wait_for(pid)], check=True)


@posix
def test_a_browser_that_is_not_there_is_said(tmp_path: Path) -> None:
    with serving(tmp_path, "--browser", environment={"BROWSER": "/no/such/browser %s"}) as served:
        served.enter()
        end = time.monotonic() + SOON
        said = ""
        while "could not be opened" not in said and time.monotonic() < end:
            said += served.process.stderr.readline()
        assert "could not be opened" in said
        ended(served)


# ---- the end -------------------------------------------------------------------------------------


@posix
def test_the_end_comes_while_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text("a\nx\n")
    with serving(tmp_path, "survey.csv", act="hang") as served:
        served.enter()
        with served.page() as page:
            send(page, FIRST)
            told(page, "hanging")
            began = time.monotonic()
            assert served.get(timeout=SOON)[0] == 200  # other pages are answered meanwhile
            assert time.monotonic() - began < SOON / 3
            ended(served)


@posix
def test_the_end_comes_while_a_file_is_sent(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.enter()
        with served.page() as page:
            send(page, FIRST)
            file = {"name": "survey.csv", "size": 1000, "type": "text/csv"}
            send(page, {"method": "uploadInit", "args": [[file]], "tag": 7})
            to = json.loads(told(page, '"tag": 7'))["response"]["value"]["uploadUrl"]
            host, port = served.host.split(":")
            with socket.create_connection((host, int(port))) as stuck:
                stuck.sendall(
                    f"POST /{to} HTTP/1.1\r\nHost: {served.host}\r\nCookie: {served.cookie}\r\n"
                    "Content-Length: 1000\r\n\r\nabc".encode()
                )
                ended(served)


def test_reading_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text("a\nx\n")
    with serving(tmp_path, "survey.csv", act="hang") as served:
        served.enter()
        with served.page() as page:
            send(page, FIRST)
            told(page, "hanging")
            send(page, {"method": "update", "data": {"stop_reading:shiny.action": 1}})
            assert "hanging" not in told(page, "Stopped.")


def test_ways_to_publish_are_compared_on_the_page(tmp_path: Path) -> None:
    from cellveil.app.page import INPUTS

    rows = [f"{r},{c}" for r, c, n in (("N", "a", 7), ("N", "b", 2), ("S", "a", 9), ("S", "b", 8))
            for _ in range(n)]  # fmt: skip
    (tmp_path / "survey.csv").write_text("\n".join(["r,c", *rows, ""]))
    plain = {"text": ("", ""), "flag": ("", False), "number": (":shiny.number", 3),
             "texts": ("", []), "click": (":shiny.action", 0)}  # fmt: skip
    given = {
        name + plain[kind][0]: plain[kind][1] for name, kind in INPUTS.items() if kind in plain
    }
    given |= {
        "kind": "records", "few": True, "cost": "unit", "margins": "publish", "negative": "error",
        "time_limit:shiny.number": 60, "ways": "suppress, round:7",
        **{f".clientdata_output_{name}_hidden": False for name in ("columns", "compared")},
    }  # fmt: skip
    with serving(tmp_path, "survey.csv") as served:
        served.enter()
        with served.page() as page:
            send(page, {"method": "init", "data": given})
            told(page, "2 columns: r, c.")
            send(page, {"method": "update", "data": {"by": ["r", "c"]}})
            send(page, {"method": "update", "data": {"compare:shiny.action": 1}})
            shown = told(page, "Side by side")
    assert "9 cells, published in 2 ways" in shown
    assert "round:7" in shown
    assert "must not leave the office" in shown


def test_what_a_page_had_goes_with_it(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text("a\nx\n")
    with serving(tmp_path, "survey.csv", act="hang") as served:
        served.enter()
        with served.page() as page:
            send(page, FIRST)
            told(page, "hanging")
            assert list(served.place.glob("*/page-*"))
        end = time.monotonic() + SOON
        while list(served.place.glob("*/page-*")):
            assert time.monotonic() < end
            time.sleep(0.05)
        ended(served)


@posix
def test_a_later_start_clears_what_a_killed_one_left(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text("a\nx\n")
    with serving(tmp_path, "survey.csv") as served:
        served.enter()
        with served.page() as page:
            send(page, FIRST)
            told(page, "1 columns: a")
            left = set(served.place.iterdir())
            assert len(left) == 1
            for path in served.place.rglob("*"):
                assert path.is_symlink() or not stat.S_IMODE(path.stat().st_mode) & 0o077
            served.process.kill()
            served.process.wait()
            assert set(served.place.iterdir()) == left
    with serving(tmp_path) as served:
        served.enter()
        assert len(set(served.place.iterdir())) == 1
        assert not left & set(served.place.iterdir())
        ended(served)
    assert (tmp_path / "survey.csv").read_text() == "a\nx\n"


# ---- what a page may send ------------------------------------------------------------------------


def test_what_no_page_sends_ends_its_connection_without_a_word(tmp_path: Path) -> None:
    from websockets.exceptions import ConnectionClosed

    wrong = [
        "null", "[" * 5000, "1" * 100_000, "{}", '{"method": "update", "data": {"by": 5}}',
        '{"method": ["x"], "tag": 1, "args": []}', json.dumps(FIRST), b"\x00\xff", "x" * 2**21,
    ]  # fmt: skip
    with serving(tmp_path) as served:
        served.enter()
        for text in wrong:
            with served.page() as page:
                send(page, FIRST)
                told(page, "config")
                with pytest.raises(ConnectionClosed):  # noqa: PT012
                    send(page, text)
                    told(page, "no such words")
        with served.page() as page:
            send(page, FIRST)
            send(page, {"method": "uploadEnd", "args": ["none", "data"], "tag": 3})
            told(page, '"tag": 3')
        for host in ("[::1", "evil.com@127.0.0.1", "127.0.0.1/evil.com", "127.0.0.1:x"):
            assert served.get(host=host)[0] == 403
        assert served.get()[0] == 200
        assert ended(served).count("\n") == 1  # how to open the page


def test_a_file_that_is_too_large_is_refused_with_a_way(tmp_path: Path) -> None:
    with serving(tmp_path, most=1000) as served:
        served.enter()
        with served.page() as page:
            send(page, FIRST)
            file = {"name": "survey.csv", "size": 2_000_000, "type": "text/csv"}
            send(page, {"method": "uploadInit", "args": [[file]], "tag": 7})
            assert "too large" in told(page, '"tag": 7')
            assert "cellveil protect FILE" in told(page, "Error: survey.csv has 2 MB")
            # Neither can it be sent under a smaller size.
            small = {"name": "survey.csv", "size": 10, "type": "text/csv"}
            send(page, {"method": "uploadInit", "args": [[small]], "tag": 8})
            to = json.loads(told(page, '"tag": 8'))["response"]["value"]["uploadUrl"]
            status, _ = served.get(f"/{to}", method="POST", **{"content-length": "2000"})
            assert status == 413
            ended(served)


def test_another_address_answers_only_who_calls_it_by_this_machines_name(tmp_path: Path) -> None:
    """As in a container, whose port is published to 127.0.0.1: here another loopback address."""
    with serving(tmp_path, "--address", "127.0.0.2") as served:
        port = int(served.host.split(":")[1])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
        token = served.address.split("/", 3)[3]
        for host, wanted in ((f"127.0.0.2:{port}", 403), (f"127.0.0.1:{port}", 200)):
            line = http.client.HTTPConnection("127.0.0.2", port, timeout=20)
            line.request("GET", f"/{token}", headers={"Host": host})
            answer = line.getresponse()
            answer.read()
            assert answer.status == wanted
            line.close()


@pytest.mark.parametrize("address", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_of_another_machine_is_refused(address: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "cellveil", "app", "--address", address, "--no-browser"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert f"--address {address}: this machine does not have it; leave it out" in ran.stderr
