"""`hermes chat`: on a terminal, and in a pipe."""

import signal

import pytest

from tests.cli.command import Hermes, call, say, texts, until
from tests.cli.terminal import terminal


def test_pipe_each_line_is_a_message(hermes: Hermes) -> None:
    model = hermes.script(say("first"), say("second"))
    done = hermes.run("chat", "-m", model, stdin=b"one\n\ntwo \\\nlines\n/plan\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "first\nsecond\n", "no turn is under way\n")
    events = hermes.json("sessions", "show", "last")["events"]
    assert texts(events, "user_message") == ["one", "two \nlines"]
    assert len(hermes.json("sessions", "list")) == 1


def test_pipe_commands_errors_and_code(hermes: Hermes) -> None:
    model = hermes.script(say("a"), {"failure": "auth"})
    lines = b"one\n/new\n/etc/hosts is a path\n/bogus\n/switch zzzz\n/exit\nnever\n"
    done = hermes.run("chat", "-m", model, stdin=lines)
    assert (done.returncode, done.stdout) == (0, "a\na\n")
    assert "there is no command /bogus" in done.stderr and "there is no session 'zzzz'" in done.stderr
    assert len(hermes.json("sessions", "list")) == 2
    assert hermes.run("chat", "-m", hermes.script({"failure": "auth"}), stdin=b"x\n").returncode == 1


def test_no_model_is_said_at_once(hermes: Hermes) -> None:
    done = hermes.run("chat", stdin=b"x\n")
    assert done.returncode == 2 and "no model is configured" in done.stderr


def test_looking_around_leaves_no_session(hermes: Hermes) -> None:
    hermes.run("chat", "-m", hermes.script(say("a")), stdin=b"/sessions\n/tools\n/help\n")
    assert hermes.json("sessions", "list") == []


def test_streams_shows_calls_asks_and_leaves(hermes: Hermes) -> None:
    hermes.run("config", "set", "permissions.shell", "ask")
    model = hermes.script(
        {"text": "let me look\n", "calls": [{"name": "terminal", "arguments": {"command": "touch made"}}]},
        say("All **done**.\nIn two lines."),
    )
    with terminal(hermes, "chat", "-m", model) as screen:
        screen.expect("/help, Ctrl-D leaves")
        screen.enter("please do it")
        screen.expect("let me look")
        screen.expect("→ terminal(command=touch made)")
        screen.expect("terminal needs shell. May it run")
        screen.enter("what?")
        screen.expect("please answer y, n or s")
        screen.enter("y")
        screen.expect("✓ terminal(command=touch made)")
        screen.expect("All **done**.")
        screen.expect("In two lines.")
        assert screen.leave() == 0
    assert (hermes.workspace / "made").exists()


@pytest.mark.slow
def test_clarify_takes_a_number_and_gives_back_what_was_typed(hermes: Hermes) -> None:
    model = hermes.script(
        call("clarify", seconds=1.5, question="Which?", choices=["red", "blue"]), say("ok"), say("next")
    )
    with terminal(hermes, "chat", "-m", model) as screen:
        screen.expect("Ctrl-D leaves")
        screen.enter("choose")
        screen.expect("working")
        screen.type("half a mess")
        screen.expect("1. red")
        screen.enter("2")
        screen.expect("✓ clarify")
        screen.expect("ok")
        screen.enter("age")
        screen.expect("next")
        screen.leave()
    events = hermes.json("sessions", "show", "last")["events"]
    assert texts(events, "user_message") == ["choose", "half a message"]
    assert [entry["event"]["text"] for entry in events if entry["event"]["kind"] == "call_finished"] == ["blue"]


def test_queue_steer_and_interrupt_while_a_turn_runs(hermes: Hermes) -> None:
    gate = hermes.workspace / "gate"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    model = hermes.script(
        call("terminal", command=wait), say("steered"), call("terminal", command="sleep 60"), say("b"), say("c")
    )
    with terminal(hermes, "chat", "--yes", "-m", model) as screen:
        screen.expect("Ctrl-D leaves")
        screen.enter("begin")
        screen.expect("→ terminal")
        screen.enter("later")
        screen.expect("queued; /steer joins the turn")
        screen.enter("/steer look left")
        screen.enter("/plan")
        screen.expect("step 1, pending: terminal, retries left: 4")
        gate.touch()
        screen.expect("↳ joined this turn: look left")
        screen.expect("steered")
        screen.expect("→ terminal(command=sleep 60)")
        screen.enter("last of all")
        screen.expect("queued")
        screen.enter("/interrupt this first")
        screen.expect("interrupted: interrupted by the user")
        screen.expect("b")
        screen.expect("c")
        screen.expect("/help, Ctrl-D leaves")
        assert screen.leave() == 0
    events = hermes.json("sessions", "show", "last")["events"]
    assert texts(events, "user_message") == ["begin", "look left", "later", "this first", "last of all"]


def test_ctrl_c_stops_the_turn_and_the_chat_goes_on(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    model = hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say("still here"))
    with terminal(hermes, "chat", "--yes", "-m", model) as screen:
        screen.expect("Ctrl-D leaves")
        screen.enter("long work")
        until(marker.exists)
        screen.type("\x03")
        screen.expect("stopping; press Ctrl-C again")
        screen.expect("interrupted: interrupted by the user")
        screen.expect("/help, Ctrl-D leaves")
        screen.type("typed by mistake\x03")
        screen.enter("and now?")
        screen.expect("still here")
        screen.enter("/exit")
        assert screen.wait() == 0
    events = hermes.json("sessions", "show", "last")["events"]
    assert texts(events, "user_message") == ["long work", "and now?"]


@pytest.mark.req("R2")
def test_second_ctrl_c_leaves_and_the_next_chat_goes_on(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    stubborn = f"trap '' TERM INT; touch {marker}; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done"
    model = hermes.script(call("terminal", command=stubborn), say("went on"), say("and further"))
    with terminal(hermes, "chat", "--yes", "-m", model) as screen:
        screen.expect("Ctrl-D leaves")
        screen.enter("long work")
        until(marker.exists)
        screen.type("\x03")
        screen.expect("stopping")
        screen.type("\x03")
        screen.expect("the next start goes on with the turn")
        assert screen.wait() == 130
    with terminal(hermes, "chat", "-s", "last", "-m", model) as screen:
        screen.expect("you: long work")
        screen.expect("which was interrupted")
        screen.expect("resumed after a crash: 0 calls run again, 1 in doubt")
        screen.expect("went on")
        screen.enter("more")
        screen.expect("and further")
        assert screen.leave() == 0


def test_leaving_in_the_middle_is_asked_once(hermes: Hermes) -> None:
    model = hermes.script(say("late", seconds=30))
    with terminal(hermes, "chat", "-m", model) as screen:
        screen.expect("Ctrl-D leaves")
        screen.enter("slow")
        screen.expect("working")
        screen.type("\x04")
        screen.expect("once more leaves it to the next start")
        screen.enter("/exit")
        assert screen.wait() == 0
    assert len(hermes.json("resume", "--list")) == 1


def test_several_lines_and_paste_are_one_message(hermes: Hermes) -> None:
    with terminal(hermes, "chat", "-m", hermes.script(say("one"), say("two"), say("three"))) as screen:
        screen.expect("Ctrl-D leaves")
        screen.type("first\\")
        screen.enter("")
        screen.enter("second")
        screen.expect("one")
        screen.type("a\x1b\rb")
        screen.enter("")
        screen.expect("two")
        screen.type("\x1b[200~pasted\nlines\n\x1b[201~")
        screen.enter("end")
        screen.expect("three")
        screen.leave()
    events = hermes.json("sessions", "show", "last")["events"]
    assert texts(events, "user_message") == ["first\nsecond", "a\nb", "pasted\nlines\nend"]


@pytest.mark.slow
def test_history_comes_from_the_store_and_goes_with_the_session(hermes: Hermes) -> None:
    hermes.run("run", "remember the zebrafinch", "-m", hermes.script(say("ok")))
    with terminal(hermes, "chat", "-m", hermes.script(say("again"))) as screen:
        screen.expect("Ctrl-D leaves")
        screen.type("\x1b[A")
        screen.expect("remember the zebrafinch")
        screen.type("\r")
        screen.expect("again")
        screen.leave()
    ids = [one["id"] for one in hermes.json("sessions", "list")]
    hermes.run("sessions", "delete", *ids, "--yes")
    with terminal(hermes, "chat", "-m", hermes.script(say("a"))) as screen:
        screen.expect("Ctrl-D leaves")
        screen.type("\x1b[A")
        screen.enter("fresh")
        screen.expect("a")
        screen.leave()
        assert "zebrafinch" not in screen.shown
    stored = b"".join(path.read_bytes() for path in hermes.home.rglob("*") if path.is_file())
    assert b"zebrafinch" not in stored


def test_slash_commands_and_completion(hermes: Hermes) -> None:
    first = hermes.json("run", "the first", "-m", hermes.script(say("x")))["session"]
    model = hermes.script(say("hello"), say("hello again"))
    with terminal(hermes, "chat", "-m", model) as screen:
        screen.expect("Ctrl-D leaves")
        screen.type("/sta")
        screen.expect("what is running, waiting, interrupted")
        screen.type("\x15")
        screen.enter("/help")
        screen.expect("Esc Enter")
        screen.enter("hi")
        screen.expect("hello")
        screen.enter("/retry")
        screen.expect("again: hi")
        screen.expect("hello again")
        screen.enter("/sessions")
        screen.expect(first)
        screen.enter(f"/switch {first[-6:]}")
        screen.expect(f"session {first}: the first")
        screen.enter("/tools")
        screen.expect("read_file")
        screen.enter("/model nowhere:x")
        screen.expect("there is no provider 'nowhere'")
        screen.enter("/status")
        screen.expect("database sqlite")
        screen.enter("/show")
        screen.expect("you: the first")
        screen.enter("/new")
        screen.expect("a new session begins")
        screen.enter("/exit")
        assert screen.wait() == 0


@pytest.mark.slow
@pytest.mark.req("R14")
def test_two_terminals_on_one_session(hermes: Hermes) -> None:
    model = hermes.script(say("zero"), say("one", seconds=3), say("two"), say("three"))
    session = hermes.json("run", "begin", "-m", model)["session"]
    with terminal(hermes, "chat", "-s", session, "-m", model) as left:
        left.expect("Ctrl-D leaves")
        with terminal(hermes, "chat", "-s", session, "-m", model) as right:
            right.expect("Ctrl-D leaves")
            left.enter("from the left")
            until(lambda: hermes.json("status")["open_runs"])
            right.enter("from the right")
            right.expect("another terminal is driving this session")
            left.expect("one")
            right.expect("two")
            assert right.leave() == 0
        assert left.leave() == 0
    events = hermes.json("sessions", "show", session)["events"]
    assert texts(events, "user_message") == ["begin", "from the left", "from the right"]
    assert texts(events, "assistant_message") == ["zero", "one", "two"]


def test_interrupted_run_elsewhere_is_resumed_on_the_side(hermes: Hermes) -> None:
    marker = hermes.workspace / "began"
    hermes.killed_in_tool(
        hermes.script(call("terminal", command=f"touch {marker}; sleep 60"), say("side answer")), marker
    )
    with terminal(hermes, "chat", "-m", hermes.script(say("hello"))) as screen:
        screen.expect("which was interrupted")
        screen.expect("was resumed and is done")
        screen.enter("hi")
        screen.expect("hello")
        assert screen.leave() == 0
        assert "side answer" not in screen.shown


def test_hostile_answer_cannot_move_the_cursor(hermes: Hermes) -> None:
    with terminal(hermes, "chat", "-m", hermes.script(say("safe\x1b]0;owned\x07\n"))) as screen:
        screen.expect("Ctrl-D leaves")
        screen.enter("x")
        screen.expect("safe")
        screen.leave()
        assert b"\x1b]0;owned" not in screen.raw


def test_terminated_chat_leaves_a_run_that_can_be_resumed(hermes: Hermes) -> None:
    with terminal(hermes, "chat", "-m", hermes.script(say("x", seconds=30))) as screen:
        screen.expect("Ctrl-D leaves")
        screen.enter("slow")
        until(lambda: hermes.json("status")["open_runs"])
        screen.process.send_signal(signal.SIGTERM)
        screen.wait()
    assert len(hermes.json("resume", "--list")) == 1


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {}])
def test_colours_on_a_terminal_unless_refused(hermes: Hermes, variable: dict[str, str]) -> None:
    model = hermes.script(call("list_files"), say("plain"))
    with terminal(hermes, "run", "x", "-m", model, **variable) as screen:
        screen.expect("plain")
        screen.wait()
        assert (b"\x1b[" in screen.raw) == (not variable)


def test_the_calls_of_one_step_are_asked_about_together(hermes: Hermes) -> None:
    hermes.run("config", "set", "permissions.shell", "ask")
    calls = [{"name": "terminal", "arguments": {"command": f"touch {name}"}} for name in ("one", "two", "three")]
    model = hermes.script({"text": "", "calls": calls}, say("done"))
    with terminal(hermes, "run", "x", "-m", model) as screen:
        screen.expect("3 calls wait for your answer:")
        screen.expect("[y]es to all  [n]o to all  [s]ession  [o]ne by one: ")
        screen.type("what?\n")
        screen.expect("please answer y, n, s or o")
        screen.type("o\n")
        for answer in ("y", "n", "y"):
            screen.expect("[y]es  [n]o  [s]ession: ")
            screen.type(f"{answer}\n")
        screen.expect("done")
        assert screen.wait() == 0
    assert sorted(path.name for path in hermes.workspace.iterdir()) == ["one", "three"]


def test_run_asks_at_the_terminal(hermes: Hermes) -> None:
    hermes.run("config", "set", "permissions.shell", "ask")
    model = hermes.script(call("terminal", command="touch made"), say("done"))
    with terminal(hermes, "run", "x", "-m", model) as screen:
        screen.expect("[y]es  [n]o  [s]ession: ")
        screen.type("y\n")
        screen.expect("done")
        assert screen.wait() == 0
    assert (hermes.workspace / "made").exists()
